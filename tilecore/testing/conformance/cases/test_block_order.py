"""T.use_swizzle changes the order of blocks, never what they do: all blocks run, once each, on grids of any size."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, compiled, rerun, same, sample, zeros


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize("grid", [(7, 5), (4, 8), (1, 6), (6, 1), (13, 2)], ids=str)
def test_every_block_runs_once(target, grid, order):
    wide, high = grid

    @T.prim_func
    def kernel(Y: T.Tensor((high * 2, wide * 3), "int32"), N: T.Tensor((1,), "int32")):
        with T.Kernel(wide, high, threads=32) as (bx, by):
            T.use_swizzle(panel_size=3, order=order)
            for i, j in T.Parallel(2, 3):
                T.atomic_add(Y[by * 2 + i, bx * 3 + j], (by * 2 + i) * 100 + bx * 3 + j)
            T.atomic_add(N[0], 1)

    y, n = check(kernel, target, zeros("int32", (high * 2, wide * 3)), zeros("int32", 1))
    same(y, (np.arange(high * 2)[:, None] * 100 + np.arange(wide * 3)).astype(np.int32))
    assert n[0] == wide * high


def test_a_product_in_panels_with_tails_and_sizes_of_the_call(target):
    m, n, k = T.dynamic("m n k")

    @T.prim_func
    def matmul(
        A: T.Tensor((m, k), "float32"), B: T.Tensor((k, n), "float32"), C: T.Tensor((m, n), "float32")
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(n, 16), T.ceildiv(m, 16), threads=32) as (bx, by):
            T.use_swizzle(2, "column")
            a, b = T.alloc_shared((16, 8), "float32"), T.alloc_shared((8, 16), "float32")
            c = T.alloc_fragment((16, 16), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, 8), num_stages=2):
                T.copy(A[by * 16, step * 8], a)
                T.copy(B[step * 8, bx * 16], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 16, bx * 16])

    built = compiled(matmul, target)
    for sizes in ((16, 16, 8), (50, 33, 20), (1, 100, 9)):
        a, b = sample("float32", (sizes[0], sizes[2])), sample("float32", (sizes[2], sizes[1]), 1)
        c = zeros("float32", sizes[:2])
        rerun(built, matmul, a, b, c, compare=lambda x, y, label: np.testing.assert_allclose(x, y, atol=1e-4))
