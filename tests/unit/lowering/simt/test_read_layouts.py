"""read_layouts: hints for layouts leave the code; a layout that a buffer cannot have is left out with a reason."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.testing.kernel_text import lines

from ..one_pass import after_pass, around_pass, before_and_after
from .kit import lowered, same_results

PASS = "read_layouts"


def transposing(annotate, shape=(8, 32), scope="shared"):
    """annotate: what is called with the tile through which a matrix is copied."""

    @T.prim_func
    def kernel(X: T.Tensor(shape, "float32"), Y: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=32):
            alloc = {"shared": T.alloc_shared, "fragment": T.alloc_fragment, "local": T.alloc_local}[scope]
            tile = alloc(shape, "float32")
            annotate(tile)
            for i, j in T.Parallel(*shape):
                tile[i, j] = X[i, j]
            for i, j in T.Parallel(*shape):
                Y[i, j] = tile[i, j]

    return kernel


def notes(kernel):
    """What ``kernel.explain()`` says of the layouts that the pass did not take."""
    _, _, env = around_pass(kernel, PASS)
    return {row["buffer"]: row["layout"] for row in env.report.get("layouts", [])}


def check(kernel, shape=(8, 32)):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(same_results(kernel, x, np.zeros_like(x))[1], x)


def test_the_hints_leave_the_code():
    @T.prim_func
    def kernel(X: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=32):
            a, b = T.alloc_shared((8, 8), "float32"), T.alloc_shared((8, 8), "float32")
            T.annotate_padding({a: 4})
            T.annotate_layout({b: T.Layout((8, 8), lambda i, j: (j, i))})
            T.copy(X, a)
            T.copy(X, b)

    before, after = before_and_after(kernel, PASS)
    assert before.count("tile.annotate") == 2
    assert after == lines(
        """
        a = T.alloc_buffer((8, 8), scope="shared.dyn", layout=None)
        b = T.alloc_buffer((8, 8), scope="shared.dyn", layout=None)
        T.tile.copy(X[0:8, 0:8], a[0:8, 0:8])
        T.tile.copy(X[0:8, 0:8], b[0:8, 0:8])
        """
    )


@pytest.mark.parametrize(
    ("annotate", "shape"),
    [
        (lambda tile: T.annotate_padding({tile: 4}), "(8, 36)"),
        (lambda tile: T.annotate_layout({tile: T.Layout((8, 32), lambda i, j: (j, i))}), "(32, 8)"),
        (lambda tile: T.annotate_layout({tile: T.Layout((8, 32), lambda i, j: i * 40 + j)}), "(312,)"),
    ],
    ids=["padding", "axes exchanged", "rows apart"],
)
def test_later_passes_give_the_buffer_its_layout(annotate, shape):
    kernel = transposing(annotate)
    assert not notes(kernel)
    assert f"tile = T.alloc_buffer({shape}" in after_pass(kernel, "apply_layouts")
    check(kernel)


def test_the_layout_of_a_fragment_is_that_of_its_loops():
    layout = T.Fragment((8, 32), lambda i, j: (i * 4 + j // 8, j % 8))
    kernel = transposing(lambda tile: T.annotate_layout({tile: layout}), scope="fragment")
    _, env = lowered(kernel, "infer_layouts")
    (row,) = env.report["layouts"]
    assert (row["thread"], row["register"]) == ("i * 4 + j / 8", "j % 8")
    check(kernel)


NOT_TAKEN = {
    "memory of a thread": (
        "local",
        lambda tile: T.annotate_layout({tile: T.Layout((8, 32), lambda i, j: (j, i))}),
        "only shared memory and fragments have layouts",
    ),
    "a fragment's layout of shared memory": (
        "shared",
        lambda tile: T.annotate_layout({tile: T.Fragment((8, 32), lambda i, j: (j, i))}),
        "a T.Fragment is a layout of fragments, and the buffer is in shared memory",
    ),
    "other threads than the block has": (
        "fragment",
        lambda tile: T.annotate_layout({tile: T.Fragment((8, 32), lambda i, j: (i * 32 + j, 0))}),
        "the layout does not partition its axes over 32 threads",
    ),
    "a memory layout of a fragment": (
        "fragment",
        lambda tile: T.annotate_layout({tile: T.Layout((8, 32), lambda i, j: (j, i))}),
        "the layout does not partition its axes over 32 threads",
    ),
}


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_a_layout_that_a_buffer_cannot_have_is_no_error(name):
    scope, annotate, reason = NOT_TAKEN[name]
    kernel = transposing(annotate, scope=scope)
    assert notes(kernel) == {"tile": f"not as annotated: {reason}"}
    assert "annotate" not in after_pass(kernel, PASS)


def test_memory_with_views_keeps_its_layout():
    @T.prim_func
    def kernel(X: T.Tensor((8, 8), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((8, 8), "float32")
            flat = T.view(tile, (64,))
            T.annotate_padding({tile: 4})
            T.copy(X, tile)
            T.copy(flat, Y)

    assert notes(kernel) == {"tile": "not as annotated: the buffer is a view or has views"}


def test_two_elements_in_one_place_are_an_error_at_the_hint():
    with pytest.raises(LanguageError, match="tile") as caught:
        transposing(lambda tile: T.annotate_layout({tile: T.Layout((8, 32), lambda i, j: [i, j // 2])}))
    assert caught.value.location is not None


def test_other_hints_stay():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(4, threads=32):
            T.use_swizzle(2)
            T.copy(X, Y)

    before, after = before_and_after(kernel, PASS)
    assert before == after
    assert "annotate" in after
