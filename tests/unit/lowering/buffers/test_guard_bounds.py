"""guard_bounds: no condition where an access is known to be inside, the least one where it is not."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, IfThenElse
from tilecore.ir.visit import collect

from ..kit import NARROW, agrees, lowered

N = T.dynamic("n")


def guards(func):
    """The conditions of reads and of writes that the pass put in, as text."""
    before, _ = lowered(func, "guard_bounds", before=True)
    after, _ = lowered(func, "guard_bounds")

    def conditions(func):
        reads = [c.args[0] for c in collect(func.body, Call) if op_name(c) == "if_then_else"]
        return [str(c) for c in reads], [str(node.condition) for node in collect(func.body, IfThenElse)]

    old, new = conditions(before), conditions(after)
    return tuple([c for c in n if c not in o] for o, n in zip(old, new, strict=True))


def blocks(size, block, shape=None):
    """B = A + 1, in blocks that may reach past the end."""
    shape = size if shape is None else shape

    @T.prim_func
    def kernel(A: T.Tensor((shape,), "int32"), B: T.Tensor((shape,), "int32")):
        with T.Kernel(T.ceildiv(shape, block)) as b:
            for i in T.Parallel(block):
                B[b * block + i] = A[b * block + i] + 1

    return kernel


@pytest.mark.parametrize(("size", "block", "guarded"), [(64, 16, 0), (16, 16, 0), (60, 16, 1), (3, 16, 1), (64, 1, 0)])
def test_only_what_does_not_divide_is_guarded(size, block, guarded):
    reads, writes = guards(blocks(size, block))
    assert (len(reads), len(writes)) == (guarded, guarded)
    agrees(blocks(size, block), np.arange(size, dtype=np.int32), np.zeros(size, np.int32))


def test_sizes_of_the_call():
    reads, writes = guards(blocks(N, 16, N))
    assert (len(reads), len(writes)) == (1, 1)
    assert all(">=" not in condition and "<=" not in condition for condition in writes), "never below the first"
    for size in (1, 16, 17):
        agrees(blocks(N, 16, N), np.arange(size, dtype=np.int32), np.zeros(size, np.int32))


def test_a_condition_of_the_user_is_enough():
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32")):
        with T.Kernel(T.ceildiv(N, 16)) as b:
            for i in T.Parallel(16):
                if b * 16 + i < N:
                    B[b * 16 + i] = A[b * 16 + i]

    assert guards(kernel) == ([], [])
    agrees(kernel, np.arange(20, dtype=np.int32), np.zeros(20, np.int32))


def test_a_choice_of_the_user_is_enough():
    @T.prim_func
    def kernel(A: T.Tensor((10,), "int32"), B: T.Tensor((16,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(16):
                B[i] = T.if_then_else(i < 10, A[i], -1)

    assert guards(kernel) == ([], [])
    assert agrees(kernel, np.arange(10, dtype=np.int32), np.zeros(16, np.int32))[1].tolist()[9:] == [9] + [-1] * 6


def test_an_assumption_is_enough_until_what_it_reads_changes():
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), low: T.int32, changed: T.int32):
        with T.Kernel(1):
            x = T.alloc_var("int32", init=low)
            for i in T.serial(4):
                T.assume(low + i >= 0 and low + i < N)
                B[low + i] = A[low + i] + 1
            T.assume(x >= 0 and x < N)
            B[x] = A[x] + 2
            if changed > 0:
                T.assume(x >= 0 and x < N)
                x = changed
                B[x] = A[0] + 3

    reads, writes = guards(kernel)
    assert len(reads) == 1, reads  # of A[0]
    assert len(writes) == 1, writes  # of B[x] behind the change of x
    assert "x[0]" in writes[0]
    b = agrees(kernel, np.arange(8, dtype=np.int32), np.zeros(8, np.int32), 2, 7)[1]
    assert b.tolist() == [0, 0, 4, 4, 5, 6, 0, 3]


def test_a_condition_on_a_variable_is_enough():
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), B: T.Tensor((N,), "int32"), at: T.int32):
        with T.Kernel(1):
            x = T.alloc_var("int32", init=at)
            if x >= 0 and x < N:
                B[x] = A[x] + 1

    assert guards(kernel) == ([], [])
    for at in (3, -1, 8):
        agrees(kernel, np.arange(8, dtype=np.int32), np.zeros(8, np.int32), at)


def test_both_ends_are_guarded_where_both_may_be_passed():
    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), B: T.Tensor((16,), "int32"), shift: T.int32):
        with T.Kernel(1):
            for i in T.Parallel(16):
                B[i] = A[i + shift]

    (read,), writes = guards(kernel)
    assert "0" in read
    assert "16" in read
    assert writes == []
    for shift in (-20, -3, 0, 5, 40):
        agrees(kernel, np.arange(1, 17, dtype=np.int32), np.zeros(16, np.int32), shift)


def test_memory_on_chip_is_not_guarded():
    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), n: T.int32):
        with T.Kernel(1):
            t = T.alloc_shared((16,), "int32")
            T.copy(A, t)
            A[0] = t[n]

    assert guards(kernel) == ([], [])


def test_only_the_axis_that_may_be_passed_is_guarded():
    @T.prim_func
    def kernel(A: T.Tensor((10, 8), "int32"), B: T.Tensor((10, 8), "int32")):
        with T.Kernel(2, 3) as (bx, by):
            for i, j in T.Parallel(4, 4):
                B[by * 4 + i, bx * 4 + j] = A[by * 4 + i, bx * 4 + j]

    reads, writes = guards(kernel)
    assert len(reads) == len(writes) == 1
    assert "10" in writes[0]
    assert "8" not in writes[0].replace("int32", "")
    agrees(kernel, np.arange(80, dtype=np.int32).reshape(10, 8), np.zeros((10, 8), np.int32))


def test_values_outside_are_the_safe_value():
    @T.prim_func
    def kernel(A: T.Tensor((5,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            T.annotate_safe_value({A: -2.0})
            t = T.alloc_shared((8,), "float32")
            T.copy(A[0:8], t)
            T.copy(t, B)

    out = agrees(kernel, np.arange(5, dtype=np.float32), np.zeros(8, np.float32))[1]
    assert out.tolist() == [0, 1, 2, 3, 4, -2, -2, -2]


def test_atomics_outside_are_left_out():
    @T.prim_func
    def kernel(A: T.Tensor((5,), "int32"), n: T.int32):
        with T.Kernel(1):
            for i in T.serial(8):
                T.atomic_add(A[i + n], 1)

    _, writes = guards(kernel)
    assert len(writes) == 1
    array = np.zeros(7, np.int32)
    tilecore.compile(kernel, target=NARROW)(array[1:6], -1)
    assert array.tolist() == [0, *[1] * 5, 0]
