"""Releases of slots that threads have read themselves: a proxy fence of each thread stands before the arrival.

The copy engine overwrites a released slot through another proxy, and an arrival at an mbarrier does not wait for loads
that are in flight: nvcc 13 puts it behind the LDSM of a step's last operands and before the instructions that wait for
them. On an H200 such kernels gave wrong products where several blocks share a multiprocessor.
"""

from __future__ import annotations

import re

import pytest

import tilecore
import tilecore.language as T

BEFORE_ARRIVAL = re.compile(
    r"tc_fence_async\(\);\s*tc_warp_barrier\(\);\s*if \(tx % 32 == 0\) \{\s*tc_transaction_arrive\("
)


def product(block_N, block_M=64, threads=128, scaled=False):
    @T.prim_func
    def kernel(
        A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 320), "float16"), C: T.Tensor((256, 320), "float32")
    ):
        with T.Kernel(T.ceildiv(320, block_N), 256 // block_M, threads=threads) as (bx, by):
            a, b = T.alloc_shared((block_M, 64), "float16"), T.alloc_shared((64, block_N), "float16")
            b_scaled = T.alloc_shared((64, block_N), "float16")
            c = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=3):
                T.copy(A[by * block_M, k * 64], a)
                T.copy(B[k * 64, bx * block_N], b)
                if scaled:
                    for i, j in T.Parallel(64, block_N):
                        b_scaled[i, j] = b[i, j] * 2
                    T.gemm(a, b_scaled, c)
                else:
                    T.gemm(a, b, c)
            T.copy(c, C[by * block_M, bx * block_N])

    return tilecore.compile(kernel, target="cuda -arch=sm_90a", execution_backend="sim").get_kernel_source()


@pytest.mark.parametrize(("block_N", "threads"), [(160, 256), (32, 256), (96, 256)])
def test_operands_that_threads_load_are_fenced(block_N, threads):
    source = product(block_N, threads=threads)
    assert "tc_mma_m16n8k16" in source
    assert "tc_tensor_load" in source
    assert len(BEFORE_ARRIVAL.findall(source)) == source.count("tc_transaction_arrive(") == 1


def test_tiles_that_threads_convert_are_fenced_although_wgmma_reads_the_other_one():
    source = product(64, scaled=True)
    assert "tc_wgmma" in source
    assert len(BEFORE_ARRIVAL.findall(source)) >= 1


def test_operands_of_wgmma_need_no_fence():
    source = product(64)
    assert "tc_wgmma" in source
    assert "tc_transaction_arrive(" in source
    assert "tc_fence_async" not in source
