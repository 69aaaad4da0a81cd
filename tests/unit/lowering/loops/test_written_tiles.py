"""Tiles that are written early although a call may pass one tensor for two parameters: only where no such call has a
defined result, or where the order of the kernel's reads and writes gives the same one."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T

from .cpu_kit import copies, whole_numbers

SIZE = 64


def product(columns, rows=SIZE, deep=SIZE, loops=1, kinds=("float32",) * 3):
    @T.prim_func
    def kernel(
        A: T.Tensor((SIZE, SIZE), kinds[0]), B: T.Tensor((SIZE, SIZE), kinds[1]), C: T.Tensor((SIZE, SIZE), kinds[2])
    ):
        with T.Kernel(SIZE // columns, SIZE // rows) as (bx, by):
            a, b = T.alloc_shared((rows, deep), kinds[0]), T.alloc_shared((deep, columns), kinds[1])
            c = T.alloc_fragment((rows, columns), kinds[2])
            T.clear(c)
            for k in T.serial(loops):
                T.copy(A[by * rows, k * deep], a)
                T.copy(B[k * deep, bx * columns], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * rows, bx * columns])

    return kernel


def in_place(func):
    return copies(func, "accumulated in place") == ["C"]


def test_what_other_blocks_read():
    assert in_place(product(columns=32)), "two blocks read all of A, and each its columns of B alone"
    assert not in_place(product(columns=SIZE)), "one block reads A and writes C"
    assert not in_place(product(columns=32, deep=32, loops=2)), "rows of B are read after C is written"
    assert in_place(product(columns=32, rows=32)), "two blocks read each tile of A, and two each of B"
    assert not in_place(product(columns=SIZE, rows=32)), "each block reads the rows of A that it writes"


def test_a_part_of_k():
    """Columns of A behind the first 32 are read by no block: one tensor for A and C is allowed for those."""

    @T.prim_func
    def kernel(
        A: T.Tensor((SIZE, SIZE), "float32"), B: T.Tensor((32, SIZE), "float32"), C: T.Tensor((SIZE, SIZE), "float32")
    ):
        with T.Kernel(2) as bx:
            a, b = T.alloc_shared((SIZE, 32), "float32"), T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((SIZE, 32), "float32")
            T.copy(A[0, 0], a)
            T.copy(B[0, bx * 32], b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[0, bx * 32])

    assert not in_place(kernel)


@pytest.mark.parametrize("columns", [32, SIZE])
@pytest.mark.parametrize("loops", [1, 2])
def test_one_tensor_for_b_and_c(columns, loops):
    """Each block reads the columns of B that it writes, and no others: the result is defined."""
    rng = np.random.default_rng(0)
    a, b = whole_numbers(rng, (SIZE, SIZE), "float32"), whole_numbers(rng, (SIZE, SIZE), "float32")
    expected = a @ b
    tilecore.compile(product(columns, deep=SIZE // loops, loops=loops), target="cpu")(a, b, b)
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize("rows", [32, SIZE])
@pytest.mark.parametrize("loops", [1, 2])
def test_one_tensor_for_a_and_c(rows, loops):
    """Each block reads the rows of A that it writes, and no others."""
    rng = np.random.default_rng(1)
    a, b = whole_numbers(rng, (SIZE, SIZE), "float32"), whole_numbers(rng, (SIZE, SIZE), "float32")
    expected = a @ b
    tilecore.compile(product(SIZE, rows, SIZE // loops, loops), target="cpu")(a, b, a)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("kind", ["float64", "int32", "float16"])
def test_another_form(kind):
    """A tensor of another size cannot be C; one with elements of another size is no operand of this rule."""
    kinds = ("float16", "float16", "float32") if kind == "float16" else (kind,) * 3
    func = product(columns=32, kinds=kinds)
    rng = np.random.default_rng(2)
    a, b = whole_numbers(rng, (SIZE, SIZE), kinds[0]), whole_numbers(rng, (SIZE, SIZE), kinds[1])
    c = np.zeros((SIZE, SIZE), kinds[2])
    tilecore.compile(func, target="cpu")(a, b, c)
    np.testing.assert_array_equal(c, a.astype(kinds[2]) @ b.astype(kinds[2]))


def several(body):
    """Two accumulators of 32 columns for each of two blocks; ``body`` fills them."""

    @T.prim_func
    def kernel(
        A: T.Tensor((SIZE, SIZE), "float32"),
        B: T.Tensor((SIZE, SIZE), "float32"),
        E: T.Tensor((SIZE, SIZE), "float32"),
        C: T.Tensor((SIZE, SIZE), "float32"),
        D: T.Tensor((SIZE, SIZE), "float32"),
        count: T.int32,
    ):
        with T.Kernel(2) as bx:
            a, b = T.alloc_shared((SIZE, SIZE), "float32"), T.alloc_shared((SIZE, 32), "float32")
            a2, b2 = T.alloc_shared((SIZE, SIZE), "float32"), T.alloc_shared((SIZE, 32), "float32")
            other = T.alloc_shared((SIZE, SIZE), "float32")
            c, d = T.alloc_fragment((SIZE, 32), "float32"), T.alloc_fragment((SIZE, 32), "float32")
            body(A, B, E, C, D, count, bx, a, b, a2, b2, other, c, d)

    return kernel


@T.macro
def later_gemm_reads_b(A, B, E, C, D, count, bx, a, b, a2, b2, other, c, d):
    """C is written in place by its gemm before the one of D reads B."""
    T.copy(E, a)
    T.copy(A[0, bx * 32], b)
    T.gemm(a, b, c, clear_accum=True)
    T.copy(A, a2)
    T.copy(B[0, bx * 32], b2)
    T.gemm(a2, b2, d, clear_accum=True)
    T.copy(c, C[0, bx * 32])
    T.copy(d, D[0, bx * 32])


@T.macro
def unused_copy_of_b(A, B, E, C, D, count, bx, a, b, a2, b2, other, c, d):
    """Both blocks read all of B, and use none of it."""
    T.copy(B, other)
    T.copy(A, a)
    T.copy(E[0, bx * 32], b)
    T.gemm(a, b, c, clear_accum=True)
    T.copy(B[0, bx * 32], b2)
    T.gemm(a, b2, c)
    T.copy(c, C[0, bx * 32])


@T.macro
def unused_product_of_b(A, B, E, C, D, count, bx, a, b, a2, b2, other, c, d):
    """Both blocks multiply all of B, and store no such product."""
    T.copy(E, a)
    T.copy(A[0, bx * 32], b)
    T.gemm(a, b, c, clear_accum=True)
    T.copy(B[0, bx * 32], b2)
    T.gemm(a, b2, c)
    T.copy(B, other)
    T.gemm(other, b, d, clear_accum=True)
    T.copy(c, C[0, bx * 32])


@T.macro
def product_that_does_not_run(A, B, E, C, D, count, bx, a, b, a2, b2, other, c, d):
    """Both blocks read all of B in a loop of no iterations."""
    T.clear(d)
    for _ in T.serial(count):
        T.copy(B, other)
        T.copy(E[0, bx * 32], a2[0:SIZE, 0:32])
        T.gemm(other, a2[0:SIZE, 0:32], d)
    T.copy(A, a)
    T.copy(E[0, bx * 32], b)
    T.gemm(a, b, c, clear_accum=True)
    T.copy(B[0, bx * 32], b2)
    T.gemm(a, b2, c)
    T.copy(c, C[0, bx * 32])
    T.copy(d, D[0, bx * 32])


@T.macro
def cleared_in_front_of_a_condition(A, B, E, C, D, count, bx, a, b, a2, b2, other, c, d):
    """The clear would write C."""
    T.copy(A, a)
    T.copy(B[0, bx * 32], b)
    T.clear(c)
    if count == 0:
        T.gemm(a, b, c)
    T.copy(c, C[0, bx * 32])


@T.macro
def another_gemm_is_first(A, B, E, C, D, count, bx, a, b, a2, b2, other, c, d):
    T.copy(A, a)
    T.copy(B[0, bx * 32], b)
    T.fill(b2, 1)
    T.gemm(a, b2, c, clear_accum=True)
    T.gemm(a, b, c)
    T.copy(c, C[0, bx * 32])


@pytest.mark.parametrize(
    "body",
    [
        cleared_in_front_of_a_condition,
        another_gemm_is_first,
        later_gemm_reads_b,
        unused_copy_of_b,
        unused_product_of_b,
        product_that_does_not_run,
    ],
    ids=lambda body: body.__name__,
)
def test_one_tensor_for_b_and_c_of_which_each_block_uses_its_columns(body):
    kernel = tilecore.compile(several(body), target="cpu")
    rng = np.random.default_rng(3)
    a, b, e = (whole_numbers(rng, (SIZE, SIZE), "float32") for _ in range(3))
    c, d, d_of_both = (np.zeros((SIZE, SIZE), np.float32) for _ in range(3))
    kernel(a, b, e, c, d, 0)
    both = b.copy()
    kernel(a, both, e, both, d_of_both, 0)
    np.testing.assert_array_equal(both, c)
    np.testing.assert_array_equal(d_of_both, d)


@pytest.mark.parametrize("loop", [lambda n, by: T.serial(n), lambda n, by: T.serial(by * 0)], ids=["argument", "zero"])
def test_readers_in_loops_of_no_iterations(loop):
    """Each block reads the rows of A that it writes; the reader of all rows does not run."""

    @T.prim_func
    def kernel(
        A: T.Tensor((SIZE, SIZE), "float32"),
        B: T.Tensor((SIZE, SIZE), "float32"),
        C: T.Tensor((SIZE, SIZE), "float32"),
        n: T.int32,
    ):
        with T.Kernel(2) as by:
            whole = T.alloc_shared((SIZE, SIZE), "float32")
            a, b = T.alloc_shared((32, 16), "float32"), T.alloc_shared((16, SIZE), "float32")
            c = T.alloc_fragment((32, SIZE), "float32")
            T.clear(c)
            for _ in loop(n, by):
                T.copy(A, whole)
                T.gemm(whole[0:32, :], whole, c)
            for k in T.serial(4):
                T.copy(A[by * 32, k * 16], a)
                T.copy(B[k * 16, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 32, 0])

    rng = np.random.default_rng(4)
    a, b = whole_numbers(rng, (SIZE, SIZE), "float32"), whole_numbers(rng, (SIZE, SIZE), "float32")
    both = a.copy()
    tilecore.compile(kernel, target="cpu")(both, b, both, 0)
    np.testing.assert_array_equal(both, a @ b)
