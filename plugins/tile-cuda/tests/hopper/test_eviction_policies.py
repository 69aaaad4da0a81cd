"""T.copy(eviction_policy=): what L2 is told about the lines that TMA loads of a pipelined loop bring."""

from __future__ import annotations

import pytest
from simulated_kit import needs_compiler

import tilecore.language as T

from .kit import CONFIGS, as_interpreted, built, small

pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]


def product(policy):
    """C = A @ B, where the copies of A have the policy."""

    @T.prim_func
    def product(
        A: T.Tensor((256, 192), "float16"), B: T.Tensor((192, 64), "float16"), C: T.Tensor((256, 64), "float32")
    ):
        with T.Kernel(4, threads=128) as bx:
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[bx * 64, k * 64], a, eviction_policy=policy)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[bx * 64, 0])

    return product


@pytest.mark.parametrize(
    ("policy", "function"),
    [("evict_first", "tc_evict_first()"), ("evict_last", "tc_evict_last()"), ("evict_normal", ""), (None, "")],
)
def test_the_loads_of_one_tile_have_the_policy(policy, function):
    func = product(policy)
    kernel = built(func)
    source = kernel.get_kernel_source()
    loads = [line for line in source.splitlines() if "tc_tensor_load" in line]
    assert any("&B_map" in line for line in loads)
    for line in loads:
        assert ("tc_tensor_load_hinted(" in line) == (bool(function) and "&A_map" in line), line
        assert not function or (function in line) == ("&A_map" in line), line
    as_interpreted(
        func, kernel, small("float16", (256, 192)), small("float16", (192, 64), 1), small("float32", (256, 64))
    )


def test_loads_for_both_blocks_of_a_cluster_have_it():
    @T.prim_func
    def in_pairs(
        A: T.Tensor((512, 192), "float16"), B: T.Tensor((192, 64), "float16"), C: T.Tensor((512, 64), "float32")
    ):
        with T.Kernel(8, threads=128) as bx:
            a, b = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[bx * 64, k * 64], a)
                T.copy(B[k * 64, 0], b, eviction_policy="evict_last")
                T.gemm(a, b, c)
            T.copy(c, C[bx * 64, 0])

    kernel = built(in_pairs, target="cuda -arch=sm_90a -multiprocessors=4", configs={CONFIGS.TL_BLOCK_PAIRS: True})
    source = kernel.get_kernel_source()
    assert source.count("tc_tensor_load_multicast_hinted(") == source.count("tc_tensor_load_multicast") > 0
    assert "3, tc_evict_last(), " in source
    args = small("float16", (512, 192)), small("float16", (192, 64), 1), small("float32", (512, 64))
    as_interpreted(in_pairs, kernel, *args)


def test_other_architectures_ignore_it():
    source = built(product("evict_first"), target="cuda -arch=sm_80").get_kernel_source()
    assert "evict_first" not in source
