"""The functions T.<name> that the tile language has for this target only (``TargetSpec.language``).

A module is imported when a kernel uses one of its names. docs/hopper.md describes each function.
"""

from __future__ import annotations

from tile_cuda.language.refused_names import REFUSED

_NAMES_BY_MODULE = {
    "barriers": "alloc_barrier alloc_cluster_barrier mbarrier_wait_parity barrier_wait mbarrier_arrive barrier_arrive "
    "named_barrier_arrive "
    "mbarrier_expect_tx mbarrier_arrive_expect_tx cp_async_barrier_noinc fence_proxy_async ptx_arrive_barrier "
    "ptx_arrive_barrier_expect_tx ptx_arrive_cluster_barrier ptx_fence_barrier_init",
    "copies": "tma_copy tma_store_arrive tma_store_wait",
    "wgmma": "wgmma_gemm wait_wgmma warpgroup_arrive warpgroup_commit_batch warpgroup_wait warpgroup_fence_operand",
    "roles": "ws WarpSpecialize=ws shuffle_elect",
    "cluster_copies": "copy_cluster cluster_store_async",
    "clusters": "cluster_sync cluster_arrive cluster_arrive_relaxed cluster_wait block_rank_in_cluster",
    "source_kernel": "CUDASourceCodeKernel",
    "refused": " ".join(REFUSED),
}

NAMES: dict[str, str] = {}  # the place of each name, "module:attribute"
for _module, _names in _NAMES_BY_MODULE.items():
    for _name in _names.split():
        _public, _, _private = _name.partition("=")
        NAMES[_public] = f"tile_cuda.language.{_module}:{_private or _public}"
