"""The tiles of the next iteration are loaded to registers; threadgroup memory has one stage, whatever num_stages is."""

from __future__ import annotations

import re

import pytest

import tilecore
import tilecore.language as T


def product(stages: int):
    @T.prim_func
    def kernel(
        A: T.Tensor((128, 256), "float16"), B: T.Tensor((256, 128), "float16"), C: T.Tensor((128, 128), "float16")
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            sums = T.alloc_fragment((64, 64), "float32")
            T.clear(sums)
            for k in T.Pipelined(8, num_stages=stages):
                T.copy(A[by * 64, k * 32], a)
                T.copy(B[k * 32, bx * 64], b)
                T.gemm(a, b, sums)
            T.copy(sums, C[by * 64, bx * 64])

    return kernel


def source_of(stages: int, family: str = "apple7") -> str:
    target = f"metal -family={family}"
    return tilecore.compile(product(stages), target=target, execution_backend="sim").get_kernel_source()


@pytest.mark.parametrize("stages", [2, 3])
def test_tiles_are_prefetched_to_registers(stages):
    source = source_of(stages)
    assert {"a_next", "b_next"} <= set(re.findall(r"\w+_next", source))
    assert f"shared[{2 * 64 * 32 * 2}]" in source, "one stage of both tiles"


def test_without_stages_nothing_is_prefetched():
    assert "_next" not in source_of(0)


def test_tiles_that_are_not_copied_need_no_prefetch():
    source = source_of(2, "apple9")
    assert "threadgroup" not in source.replace("threadgroup_position_in_grid", "").replace(
        "per_threadgroup", ""
    ).replace("position_in_threadgroup", "")
