"""reduce_reducers: reducers whose elements the iterations name become fragments and reductions."""

from __future__ import annotations

import pytest

import tilecore.language as T

from ..one_pass import after_pass, before_and_after

PASS = "reduce_reducers"


def summed(index, shape, extents=(16, 32), when=None, threads=64):
    """R[index(i, j)] accumulates A[i, j], where ``when(i, j)`` holds."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 32), "float32"), R: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=threads):
            r = T.alloc_reducer(shape, "float32")
            T.reducer_init(r)
            for i, j in T.Parallel(*extents):
                if when is None or when(i, j):
                    r[index(i, j)] += A[i, j]
            T.finalize_reducer(r)
            T.copy(r, R)

    return kernel


def reductions(text: str) -> list[str]:
    return [line.strip().partition("T.tile.reduce(")[2] for line in text.splitlines() if "T.tile.reduce(" in line]


@pytest.mark.parametrize(
    ("index", "shape", "dims"),
    [
        (lambda i, j: i, (16,), [1]),
        (lambda i, j: j, (32,), [1]),
        (lambda i, j: 0, (1,), [2, 1]),
        (lambda i, j: (0, j), (1, 32), [2]),
    ],
    ids=["rows", "columns", "all", "an axis of one element"],
)
def test_axes_that_the_index_lacks_are_reduced(index, shape, dims):
    before, after = before_and_after(summed(index, shape), PASS)
    assert "finalize_reducer" in before
    assert "finalize_reducer" not in after
    calls = reductions(after)
    assert [int(call.split('"sum", ')[1].split(",")[0]) for call in calls] == dims
    assert calls[-1].split('"sum", ')[1].startswith(f"{dims[-1]}, 0")  # adds to what is there
    assert '"reducer"' not in after


def test_what_a_condition_leaves_out_is_the_identity():
    after = after_pass(summed(lambda i, j: i, (16,), when=lambda i, j: j < 20), PASS)
    assert "r_of[i, j] = T.float32(0" in after
    assert len(reductions(after)) == 1


def test_an_update_of_each_element_by_its_own_iteration_stays():
    after = after_pass(summed(lambda i, j: (j, i), (32, 16)), PASS)
    assert "finalize_reducer" not in after
    assert not reductions(after)
    assert "r[j, i] = " in after


@pytest.mark.parametrize(
    "func",
    [
        summed(lambda i, j: i // 2, (8,)),
        summed(lambda i, j: (i + j) % 16, (16,)),
        summed(lambda i, j: i, (32,)),
        summed(lambda i, j: i, (16,), threads=2),
    ],
    ids=["i // 2", "(i + j) % 16", "a part of the reducer", "too much for a thread"],
)
def test_other_reducers_stay(func):
    before, after = before_and_after(func, PASS)
    assert before == after
