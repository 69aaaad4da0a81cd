"""order_tma_copies: a T.tma_copy waits for those threads of its role that read the tile before."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_kit import needs_compiler
from test_expert_pieces import check, numbers

import tilecore.language as T

from .one_pass import around_pass, changes, text

PASS = "order_tma_copies"
pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]


def test_a_copy_by_one_thread_of_a_role_waits_for_the_readers_of_its_role():
    """Both warpgroups multiply and copy the next tile for themselves; the conditions on threads are roles, also where
    the code inside is of single threads."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 256), "float16"), B: T.Tensor((128, 64), "float16"), C: T.Tensor((2, 64, 64), "float32")
    ):
        with T.Kernel(1, threads=384):
            tx = T.get_thread_binding()
            a, b = T.alloc_shared((2, 64, 64), "float16"), T.alloc_shared((2, 64, 64), "float16")
            landed, filled = T.alloc_barrier([128, 128]), T.alloc_barrier(128)
            c, d = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            if tx < 128:
                T.clear(c)
                T.mbarrier_wait_parity(filled, 0)
                for k in range(2):
                    T.tma_copy(A[0, k * 64], a[0, :, :], barrier=landed[0])
                    T.mbarrier_arrive(landed[0])
                    T.mbarrier_wait_parity(landed[0], k % 2)
                    T.wgmma_gemm(a[0, :, :], b[0, :, :], c)
                    T.wait_wgmma(0)
                T.copy(c, C[0, :, :])
            elif tx < 256:
                T.clear(d)
                T.mbarrier_wait_parity(filled, 0)
                for k in range(2):
                    T.tma_copy(A[0, 128 + k * 64], a[1, :, :], barrier=landed[1])
                    T.mbarrier_arrive(landed[1])
                    T.mbarrier_wait_parity(landed[1], k % 2)
                    T.wgmma_gemm(a[1, :, :], b[1, :, :], d)
                    T.wait_wgmma(0)
                T.copy(d, C[1, :, :])
            elif tx >= 256:
                for r in T.serial(8):
                    row, column = r * 16 + (tx - 256) // 8, (tx - 256) % 8 * 8
                    T.ptx_cp_async(
                        T.access_ptr(b[row // 64, row % 64, column], "w", 8), T.access_ptr(B[row, column], "r", 8), 8
                    )
                T.cp_async_barrier_noinc(filled)

    a, b = numbers((64, 256)), numbers((128, 64), seed=1)
    x, y = a.astype(np.float32), b.astype(np.float32)
    first = x[:, :64] @ y[:64] + x[:, 64:128] @ y[:64]
    second = x[:, 128:192] @ y[64:] + x[:, 192:] @ y[64:]
    check(kernel, a, b, expected=np.stack([first, second]))


@pytest.mark.parametrize(("tile", "synchronized", "barriers"), [("a", False, 1), ("c", False, 0), ("a", True, 0)])
def test_a_copy_waits_where_its_tile_was_read_and_no_barrier_came_since(tile, synchronized, barriers):
    @T.prim_func
    def kernel(A: T.Tensor((2, 64), "float16"), B: T.Tensor((64,), "float16")):
        with T.Kernel(1, threads=128):
            tiles = {"a": T.alloc_shared((64,), "float16"), "c": T.alloc_shared((64,), "float16")}
            landed = T.alloc_barrier(128)
            T.tma_copy(A[0, :], tiles["a"], barrier=landed)
            T.barrier_arrive(landed)
            T.barrier_wait(landed, 0)
            T.copy(tiles["a"], B)
            if synchronized:
                T.sync_threads()
            T.tma_copy(A[1, :], tiles[tile], barrier=landed)
            T.barrier_arrive(landed)

    before, after, _ = around_pass(kernel, PASS)
    assert changes(before, after).splitlines() == ["+ T.tile.sync_threads()"] * barriers
    lines = [line.strip() for line in text(after).splitlines()]
    if barriers:
        assert "tma_copy" in lines[lines.index("T.tile.sync_threads()") + 1]
