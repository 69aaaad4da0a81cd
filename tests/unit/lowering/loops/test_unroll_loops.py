"""unroll_loops: T.unroll of a known, moderate length is written out; everything else stays a loop."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.ir.nodes import BufferStore, For
from tilecore.ir.visit import collect
from tilecore.lowering.loops.unroll_loops import LIMIT

from ..kit import agrees, lowered


def unrolled(count, inner=1):
    @T.prim_func
    def kernel(A: T.Tensor((1024,), "int32"), n: T.int32):
        with T.Kernel(1):
            for i in T.unroll(count if count else n):
                for j in T.unroll(inner):
                    A[i * inner + j] = i + j

    return kernel


def shape_of(kernel):
    """(loops left, stores) of the function."""
    func, _ = lowered(kernel, "unroll_loops")
    return len(collect(func.body, For)), len(collect(func.body, BufferStore))


@pytest.mark.parametrize(
    ("count", "inner", "left"),
    [
        (4, 1, (0, 4)),
        (4, 3, (0, 12)),
        (LIMIT, 1, (0, LIMIT)),
        (LIMIT + 1, 1, (1, 1)),
        (LIMIT + 1, 2, (1, 2)),
        (0, 2, (1, 2)),
    ],
)
def test_what_is_written_out(count, inner, left):
    assert shape_of(unrolled(count, inner)) == left
    agrees(unrolled(count, inner), np.zeros(1024, np.int32), 5)


def test_a_loop_that_is_left_early_stays():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1):
            for i in T.unroll(8):
                if i == n:
                    break
                A[i] = i + 1

    assert shape_of(kernel) == (1, 1)
    agrees(kernel, np.zeros(8, np.int32), 3)


def test_other_loops_stay():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            for i in T.serial(8):
                A[i] = i + 1

    assert shape_of(kernel) == (1, 1)
