"""Products that read operands from device memory, from apple9 on; and what keeps a tile in threadgroup memory."""

from __future__ import annotations

import numpy as np
import pytest
from test_metal_products import HALVES, check, compiled, product, products_of, values

import tilecore
import tilecore.language as T


def is_staged(kernel) -> bool:
    return "threadgroup uchar shared" in kernel.get_kernel_source()


@pytest.mark.parametrize("transposed", [(False, False), (True, True)])
def test_operands_of_whole_tiles_come_from_device_memory(transposed):
    sizes = (128, 64, 64)
    func = product(sizes, (64, 32, 32), transposed=transposed)
    kernel = compiled(func, "apple9")
    check(kernel, sizes, transposed=transposed)
    assert products_of(kernel)
    assert not is_staged(kernel)
    loop = kernel.get_kernel_source().partition("for (int k = 0")[2].partition("tc_multiply_add")[0]
    assert "barrier" not in loop
    assert "products read device memory" in str(kernel.explain())


def test_older_families_and_the_option_stage_them():
    func = product((64, 32, 32), (64, 32, 32))
    off = {"metal.disable_direct_operands": True}
    assert is_staged(compiled(func, "apple8"))
    assert is_staged(tilecore.compile(func, target="metal -family=apple9", execution_backend="sim", pass_configs=off))


def test_tiles_past_the_end_are_staged():
    for sizes, tiles in (((100, 64, 64), (64, 32, 32)), ((64, 64, 40), (64, 32, 32)), ((32, 30, 32), (32, 32, 32))):
        kernel = compiled(product(sizes, tiles), "apple9")
        check(kernel, sizes)
        assert is_staged(kernel)


def with_statements(change):
    """A product of 32 x 32 x 64 in two tiles; change(A, a, C, k): statements between the copies and the product."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 64), "float16"), B: T.Tensor((64, 32), "float16"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=64):
            a, b = T.alloc_shared((32, 32), "float16"), T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.serial(2):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                change(A, a, C, k)
                T.gemm(a, b, c)
            T.copy(c, C)

    return compiled(kernel, "apple9")


def test_other_uses_of_a_tile_keep_it():
    @T.macro
    def nothing(A, a, C, k):
        T.evaluate(0)

    @T.macro
    def scaled(A, a, C, k):
        for i, j in T.Parallel(32, 32):
            a[i, j] = a[i, j] * 2

    @T.macro
    def overwritten(A, a, C, k):
        for i, j in T.Parallel(32, 32):
            A[i, k * 32 + j] = 0

    a, b = values((32, 64), "float16", 1), values((64, 32), "float16", 2)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    for change, factor, tiles in ((nothing, 1, 0), (scaled, 2, 1), (overwritten, 1, 2)):  # B may be A
        kernel = with_statements(change)
        c = np.zeros((32, 32), np.float32)
        kernel(a.copy(), b, c)
        np.testing.assert_array_equal(c, factor * expected)
        assert kernel.get_kernel_source().count("threadgroup half* ") == tiles


def test_two_products_of_one_tile():
    """Both read device memory; the tile of a type of its own is converted, and stays."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float16"), B: T.Tensor((32, 64), "float32"), C: T.Tensor((2, 32, 32), "float32")):
        with T.Kernel(1, threads=64):
            a, b = T.alloc_shared((32, 32), "float16"), T.alloc_shared((32, 64), "float16")
            c, d = T.alloc_fragment((32, 32), "float32"), T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b[:, 0:32], c, clear_accum=True)
            T.gemm(a, b[:, 32:64], d, clear_accum=True, transpose_A=True)
            T.copy(c, C[0, 0:32, 0:32])
            T.copy(d, C[1, 0:32, 0:32])

    compiled_kernel = compiled(kernel, "apple9")
    a, b, c = values((32, 32), "float16", 1), values((32, 64), "float32", 2), np.zeros((2, 32, 32), np.float32)
    compiled_kernel(a, b, c)
    left = a.astype(np.float64)
    np.testing.assert_array_equal(c, [left @ b[:, :32], left.T @ b[:, 32:]])
    assert "threadgroup half* b" in compiled_kernel.get_kernel_source()
    assert "threadgroup half* a" not in compiled_kernel.get_kernel_source()


def test_operands_that_users_name_in_device_memory():
    """Without a tile of the user's: of any family, guarded past the end."""

    @T.prim_func
    def kernel(A: T.Tensor((40, 24), "float16"), B: T.Tensor((24, 32), "float16"), C: T.Tensor((40, 32), "float32")):
        with T.Kernel(2, threads=32) as bx:
            c = T.alloc_fragment((24, 32), "float32")
            T.gemm(A[bx * 24 : bx * 24 + 24, 0:24], B, c, clear_accum=True)
            T.copy(c, C[bx * 24, 0])

    compiled_kernel = compiled(kernel, "apple7")
    check(compiled_kernel, (40, 32, 24), HALVES)
    assert products_of(compiled_kernel)
    assert not is_staged(compiled_kernel)
