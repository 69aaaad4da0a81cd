"""An explicit persistent GEMM: phases continue over the tiles of a block, and TMA stores write the results."""

from __future__ import annotations

import numpy as np
import pytest
from expert_kernels import compiled
from simulated_kit import needs_compiler

import tilecore.language as T

pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]
BM, BN, BK, STAGES, BLOCKS = 64, 64, 64, 3, 3


@T.macro
def multiply(C, a, b, o, full, empty, block, group, m, n, k):
    """One of two warpgroups: its 64 rows of each tile."""
    across = T.ceildiv(n, BN)
    tiles = T.ceildiv(m, 2 * BM) * across
    c = T.alloc_fragment((BM, BN), "float32")
    iteration = T.alloc_var("int32", init=0)
    for wave in T.serial(T.ceildiv(tiles, BLOCKS)):
        tile = wave * BLOCKS + block
        if tile < tiles:
            for i in range(T.ceildiv(k, BK)):
                s = iteration % STAGES
                T.mbarrier_wait_parity(full[s], iteration // STAGES % 2)
                T.wgmma_gemm(
                    a[s, group * BM : group * BM + BM, :], b[s, :, :], c, transpose_B=True, clear_accum=i == 0
                )  # fmt: skip
                T.wait_wgmma(0)
                T.sync_threads()
                if T.shuffle_elect(128):
                    T.mbarrier_arrive(empty[s])
                iteration = iteration + 1
            T.tma_store_wait(0)
            T.sync_threads()
            T.copy(c, o[group, :, :])
            T.tma_copy(o[group, :, :], C[tile // across * 2 * BM + group * BM, tile % across * BN])
    T.tma_store_wait(0)


def persistent(m: int, n: int, k: int):
    @T.prim_func
    def persistent(A: T.Tensor((m, k), "float16"), B: T.Tensor((n, k), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(BLOCKS, threads=384) as block:
            a = T.alloc_shared((STAGES, 2 * BM, BK), "float16")
            b = T.alloc_shared((STAGES, BN, BK), "float16")
            o = T.alloc_shared((2, BM, BN), "float16")
            full, empty = T.alloc_barrier([1] * STAGES), T.alloc_barrier([2] * STAGES)
            with T.ws(0):
                multiply(C, a, b, o, full, empty, block, 0, m, n, k)
            with T.ws(1):
                multiply(C, a, b, o, full, empty, block, 1, m, n, k)
            with T.ws(2):
                across = T.ceildiv(n, BN)
                tiles = T.ceildiv(m, 2 * BM) * across
                iteration = T.alloc_var("int32", init=0)
                for wave in T.serial(T.ceildiv(tiles, BLOCKS)):
                    tile = wave * BLOCKS + block
                    if tile < tiles:
                        for i in range(T.ceildiv(k, BK)):
                            s = iteration % STAGES
                            T.mbarrier_wait_parity(empty[s], iteration // STAGES % 2 ^ 1)
                            T.tma_copy(A[tile // across * 2 * BM, i * BK], a[s, :, :], barrier=full[s])
                            T.tma_copy(
                                B[tile % across * BN, i * BK], b[s, :, :], barrier=full[s],
                                annotations={"emit_arrive": 1},
                            )  # fmt: skip
                            iteration = iteration + 1

    return persistent


@pytest.mark.parametrize(("m", "n", "k"), [(300, 200, 136), (128, 64, 64), (40, 520, 328)])
def test_right(m, n, k):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((m, k), (n, k)))
    c = np.zeros((m, n), np.float16)
    compiled(persistent(m, n, k))(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
