"""Operands of tile operations: which region a buffer, a slice or an element stands for."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect, substitute


def regions(body):
    """(starts, extents) of source and destination of the copy that ``body(X, tile, row, i)`` makes."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 16, 32), "float32")):
        with T.Kernel(4) as i:
            tile = T.alloc_shared((8, 16), "float32")
            row = T.alloc_fragment((16,), "float32")
            body(X, tile, row, i)

    from tilecore.ir.nodes import Evaluate

    (call,) = [c for c in map(as_tile_call, collect(kernel.ir.body, Evaluate)) if c is not None]
    return [
        ([str(r.min) for r in region.region], [str(r.extent) for r in region.region]) for region in (call.src, call.dst)
    ]


@pytest.mark.parametrize(
    ("body", "source", "target"),
    [
        (lambda X, t, r, i: T.copy(X[i, 8, 0], t), (["i", "8", "0"], ["1", "8", "16"]), (["0", "0"], ["8", "16"])),
        (lambda X, t, r, i: T.copy(t, X[i, 0, 4]), (["0", "0"], ["8", "16"]), (["i", "0", "4"], ["1", "8", "16"])),
        (lambda X, t, r, i: T.copy(X[i, 3, 16:], r), (["i", "3", "16"], ["1", "1", "16"]), (["0"], ["16"])),
        (lambda X, t, r, i: T.copy(r, t[i, :]), (["0"], ["16"]), (["i", "0"], ["1", "16"])),
        (lambda X, t, r, i: T.copy(X[0, ..., 5], r), (["0", "0", "5"], ["1", "16", "1"]), (["0"], ["16"])),
        (lambda X, t, r, i: T.copy(X[-1, -16:, 0:1], r), (["3", "0", "0"], ["1", "16", "1"]), (["0"], ["16"])),
        (lambda X, t, r, i: T.copy(X[i, 2:10, i : i + 16], t), ([*"i2i"], ["1", "8", "16"]), (["0", "0"], ["8", "16"])),
        (lambda X, t, r, i: T.copy(t[i, 2], r[3]), (["i", "2"], ["1", "1"]), (["3"], ["1"])),
        (lambda X, t, r, i: T.copy(X[1, 0:8, 0:16], t), (["1", "0", "0"], ["1", "8", "16"]), (["0", "0"], ["8", "16"])),
    ],
)  # fmt: skip
def test_regions(body, source, target):
    assert regions(body) == [source, target]


def test_tiles_with_more_axes_than_the_buffer():
    with pytest.raises(LanguageError, match="a tile of 3 axes does not fit a buffer of 1"):
        regions(lambda X, t, r, i: T.copy(X[0:2, 0:4, 0:2], r[0]))


def test_layouts_by_hand():
    layout = T.Layout((8, 16), lambda i, j: (j, i))
    assert layout.map_forward_index([2, 3]) == [3, 2]
    assert repr(layout) == "T.Layout((8, 16))"
    fragment = T.Fragment((8, 16), forward_thread_fn=lambda i, j: i * 4 + j // 4, forward_index_fn=lambda i, j: j % 4)
    assert fragment.map_forward_index([1, 6]) == [2]
    assert fragment.forward_thread_fn(1, 6) == 5


def test_every_public_name_loads():
    """The names that the language declares are there."""
    for name in dir(T):
        assert getattr(T, name) is not None


def test_expressions_of_layouts():
    layout = T.Layout((8, 16), lambda i, j: [j, i // 2, i % 2])
    i, j = layout.get_forward_vars()
    number = layout.get_linearized_forward_index()
    assert [str(index) for index in layout.get_forward_index()] == [str(index) for index in layout(i, j)]
    places = {
        tuple(index): int(
            Analyzer().simplify(substitute(number, {i: T.IntImm("int32", index[0]), j: T.IntImm("int32", index[1])}))
        )
        for index in np.ndindex(8, 16)
    }
    assert places == {(a, b): b * 8 + a for a, b in np.ndindex(8, 16)}
    same = T.Layout((8, 16), lambda i, j: j * 8 + i)
    assert Analyzer().can_prove(layout.get_linearized_forward_index() == same.get_linearized_forward_index())


def test_further_axes_of_a_layout():
    layout = T.Layout((4, 6), lambda i, j: i * 6 + j)
    assert layout.expand([]) is layout
    expanded = layout.expand([2, 3])
    assert expanded.is_equal(T.Layout((2, 3, 4, 6), lambda a, b, i, j: [a, b, i * 6 + j]))
    assert layout.expand(2).get_output_shape() == [2, 24]
    for wrong in (0, [-1], "4"):
        with pytest.raises(LanguageError):
            layout.expand(wrong)
    with pytest.raises(LanguageError, match="repeat"):
        T.Fragment((4, 6), lambda i, j: [i, j]).expand(2)
