"""drop_dead_stores: what a block stores and never reads again is not stored, and results stay."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.ir.nodes import BufferStore
from tilecore.ir.visit import collect

from ..kit import agrees, lowered


def stores(func, name):
    """Stores to the buffers of this name, before the pass and after it."""

    def count(ir):
        return sum(str(node.buffer.name) == name for node in collect(ir.body, BufferStore))

    before, _ = lowered(func, "drop_dead_stores", before=True)
    after, _ = lowered(func, "drop_dead_stores")
    return count(before), count(after)


def rows(last, dtype="float32"):
    """Sums of rows, then ``last(row[i, j], total)`` into the row, which is copied to the output."""

    @T.prim_func
    def kernel(A: T.Tensor((6, 24), dtype), B: T.Tensor((6, 24), dtype)):
        with T.Kernel(3) as bx:
            row, total = T.alloc_fragment((2, 24), dtype), T.alloc_fragment((2,), dtype)
            T.copy(A[bx * 2, 0], row)
            T.reduce_sum(row, total, dim=1)
            for i, j in T.Parallel(2, 24):
                row[i, j] = last(row[i, j], total[i])
            T.copy(row, B[bx * 2, 0])

    return kernel


def values(shape, dtype="float32"):
    return np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_a_row_that_is_only_copied_afterwards(dtype):
    func = rows(lambda x, total: x * 2 - total, dtype)
    assert stores(func, "row") == (2, 1), "the copy of the input is read, the last one is not"
    agrees(func, values((6, 24), dtype), values((6, 24), dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
def test_narrow_elements_are_stored_as_that_rounds_them(dtype):
    func = rows(lambda x, total: x * T.cast(0.3, dtype) + total, dtype)
    assert stores(func, "row") == (2, 2)
    kind = T.dtype(dtype).as_numpy()
    agrees(func, values((6, 24)).astype(kind), values((6, 24)).astype(kind), rtol=0.02)


def elementwise(body):
    """t = 2 * A; then ``body(t, B, i)`` in a loop; nothing reads t behind it."""

    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32"), C: T.Tensor((32,), "float32")):
        with T.Kernel(1):
            t, s = T.alloc_shared((32,), "float32"), T.alloc_shared((1,), "float32")
            T.copy(A, t)
            s[0] = t[7] + t[20]
            for i in T.serial(32):
                body(t, s, B, C, i)

    return kernel


@T.macro
def read_once(t, s, B, C, i):
    t[i] = t[i] * 2 + s[0]
    B[i] = t[i] + 1


@T.macro
def read_twice(t, s, B, C, i):
    t[i] = t[i] * 2
    B[i] = t[i] * t[i]


@T.macro
def read_by_two_statements(t, s, B, C, i):
    t[i] = t[i] * 2
    B[i] = t[i]
    C[i] = t[i]


@T.macro
def read_later(t, s, B, C, i):
    t[i] = t[i] * 2
    C[i] = 3
    B[i] = t[i]


@T.macro
def another_element(t, s, B, C, i):
    t[i] = t[i] * 2
    B[i] = t[31 - i]


@T.macro
def the_element_before(t, s, B, C, i):
    t[i] = t[T.max(i - 1, 0)] * 2
    B[i] = t[i]


@T.macro
def one_element(t, s, B, C, i):
    t[0] = t[0] + i
    B[i] = t[0]


@T.macro
def under_a_condition(t, s, B, C, i):
    if i > 3:
        t[i] = t[i] * 2
    B[i] = t[i]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (read_once, 1), (read_twice, 2), (read_by_two_statements, 2), (read_later, 2), (another_element, 2),
        (the_element_before, 2), (one_element, 2), (under_a_condition, 2),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)  # fmt: skip
def test_only_stores_that_the_next_statement_alone_reads_go(body, left):
    func = elementwise(body)
    assert stores(func, "t") == (2, left)
    agrees(func, values((32,)), values((32,)), values((32,)))


def test_buffers_that_outlive_the_statement_stay():
    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32"), C: T.Tensor((32,), "float32")):
        with T.Kernel(1):
            t = T.alloc_shared((32,), "float32")
            T.fill(t, 0)
            for _k in T.serial(3):
                for i in T.serial(32):
                    t[i] = t[i] + A[i]
                    B[i] = t[i]
            T.copy(t, C)

    assert stores(kernel, "t") == (2, 2)
    agrees(kernel, values((32,)), values((32,)), values((32,)))


def test_a_loop_that_goes_on_with_what_it_stored():
    """The buffer is allocated outside the loop that stores it last: the next iteration reads it."""

    @T.prim_func
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((3, 32), "float32")):
        with T.Kernel(1):
            t = T.alloc_shared((32,), "float32")
            T.copy(A, t)
            for k in T.serial(3):
                for i in T.serial(32):
                    t[i] = t[i] * 2
                    B[k, i] = t[i]

    assert stores(kernel, "t") == (2, 2)
    agrees(kernel, values((32,)), values((3, 32)))


def test_effects_run_as_often_as_in_the_program():
    """The element is read under a condition; what the store adds is added always."""

    @T.prim_func
    def kernel(A: T.Tensor((32,), "int32"), H: T.Tensor((1,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1):
            t = T.alloc_shared((32,), "int32")
            for i in T.serial(32):
                t[i] = T.atomic_add(H[0], A[i], return_prev=True)
                B[i] = T.if_then_else(i > 3, t[i], -1)

    assert stores(kernel, "t") == (1, 0)
    a, h, b = np.arange(1, 33, dtype=np.int32), np.full(1, 7, np.int32), np.zeros(32, np.int32)
    tilecore.compile(kernel, target="cpu")(a, h, b)
    assert h[0] == 7 + a.sum()
    before = 7 + np.concatenate([[0], a.cumsum()[:-1]])
    np.testing.assert_array_equal(b, np.where(np.arange(32) > 3, before, -1))
