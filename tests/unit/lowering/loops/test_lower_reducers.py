"""lower_reducers: nests that accumulate into a reducer become reductions; others run one iteration after another."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.ir.nodes import For, ForKind
from tilecore.ir.visit import collect

from ..kit import agrees, allocated, loops, lowered, parallel

ROWS = np.arange(48, dtype=np.float32).reshape(6, 8)


def summed(index, op="sum"):
    """R[index(i, j)] joined with A[i, j] over all i, j."""

    @T.prim_func
    def kernel(A: T.Tensor((6, 8), "float32"), R: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            r = T.alloc_reducer((8,), "float32", op=op, replication="all")
            T.fill(r, -5.0 if op == "max" else 0.0)
            for i, j in T.Parallel(6, 8):
                if op == "max":
                    r[index(i, j)] = T.max(r[index(i, j)], A[i, j])
                else:
                    r[index(i, j)] += A[i, j]
            T.finalize_reducer(r)
            T.copy(r, R)

    return kernel


def nest_of_totals(func):
    """(parallel axes, axes that are reduced) of the nest that was lowered."""
    reduced = [node for node in collect(func.body, For) if "tile.reduce" in node.annotations]
    return parallel(func), [(str(n.loop_var.name), int(n.extent)) for n in reduced]


@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize(
    ("index", "outer", "reduced"),
    [
        (lambda i, j: i, [("i", 6)], [("j", 8)]),
        (lambda i, j: j, [("j", 8)], [("i", 6)]),
        (lambda i, j: 7 - j, [("j", 8)], [("i", 6)]),
        (lambda i, j: 3, [], [("j", 8)]),
    ],
)
def test_axes_that_the_index_names_go_outside(index, outer, reduced, op):
    func, _ = lowered(summed(index, op), "lower_reducers")
    assert nest_of_totals(func) == (outer, reduced)
    assert allocated(func)["total"] == [1]
    agrees(summed(index, op), ROWS, np.zeros(8, np.float32))


@pytest.mark.parametrize("index", [lambda i, j: i // 2, lambda i, j: (i + j) % 8], ids=["i // 2", "(i + j) % 8"])
def test_elements_that_several_iterations_share_are_joined_in_sequence(index):
    func, _ = lowered(summed(index), "lower_reducers")
    assert parallel(func) == []
    assert ("i", 6) in loops(func, ForKind.SERIAL)
    agrees(summed(index), ROWS, np.zeros(8, np.float32))


def test_a_nest_that_initialises_runs_in_sequence():
    @T.prim_func
    def kernel(A: T.Tensor((6, 8), "float32"), R: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            r = T.alloc_reducer((8,), "float32", op="sum")
            for i in T.Parallel(8):
                r[i] = A[5, i]
            for i, j in T.Parallel(6, 8):
                r[j] = r[j] + A[i, j] + 1.0
            T.finalize_reducer(r)
            T.copy(r, R)

    func, _ = lowered(kernel, "lower_reducers")
    assert allocated(func)["total"] == [1]
    agrees(kernel, ROWS, np.zeros(8, np.float32))


def test_other_nests_are_left_alone():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                A[i] = A[i] + 1.0

    before, _ = lowered(kernel, "lower_reducers", before=True)
    after, _ = lowered(kernel, "lower_reducers")
    assert after.body.same_as(before.body)
