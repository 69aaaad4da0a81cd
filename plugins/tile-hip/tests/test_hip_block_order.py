"""The order of blocks over the XCDs of gfx942 and gfx950: by default, and turned off."""

from __future__ import annotations

import numpy as np

import tilecore
import tilecore.language as T


def product(wide, high):
    @T.prim_func
    def matmul(
        A: T.Tensor((high * 16, 16), "float32"),
        B: T.Tensor((16, wide * 16), "float32"),
        C: T.Tensor((high * 16, wide * 16), "float32"),
    ):
        with T.Kernel(wide, high, threads=64) as (bx, by):
            a, b = T.alloc_shared((16, 16), "float32"), T.alloc_shared((16, 16), "float32")
            c = T.alloc_fragment((16, 16), "float32")
            T.copy(A[by * 16, 0], a)
            T.copy(B[0, bx * 16], b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[by * 16, bx * 16])

    return matmul


def source_of(arch, **configs):
    """The text, without the hash in the kernel's name, which tells settings apart."""
    target = f"hip -arch={arch}"
    kernel = tilecore.compile(product(7, 5), target=target, execution_backend="sim", pass_configs=configs)
    (entry,) = kernel.artifact.entries
    return kernel.get_kernel_source().replace(entry.symbol, "matmul_kernel")


def test_chips_of_several_dies_get_an_order():
    assert "% 8" in source_of("gfx942")
    assert "% 8" in source_of("gfx950")
    assert source_of("gfx942") != source_of("gfx950"), "the runs and panels of the two differ"
    plain = source_of("gfx90a")
    assert "blockIdx.x" in plain
    assert "block_x" not in plain
    assert source_of("gfx942", **{"hip.disable_xcd_order": True}) == plain


def test_products_are_the_same_in_that_order():
    wide, high = 9, 16
    kernel = tilecore.compile(product(wide, high), target="hip -arch=gfx942", execution_backend="sim")
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (high * 16, 16)).astype(np.float32)
    b = rng.integers(-3, 4, (16, wide * 16)).astype(np.float32)
    c = np.zeros((high * 16, wide * 16), np.float32)
    kernel(a, b, c)
    np.testing.assert_array_equal(c, a @ b)
