"""The functions T.<name> that the tile language has for this target only (``TargetSpec.language``).

A module is imported when a kernel uses one of its names. docs/hopper.md describes each function.
"""

from __future__ import annotations

_NAMES_BY_MODULE = {
    "barriers": "alloc_barrier alloc_cluster_barrier mbarrier_wait_parity barrier_wait mbarrier_arrive barrier_arrive "
    "mbarrier_expect_tx mbarrier_arrive_expect_tx cp_async_barrier_noinc fence_proxy_async",
    "copies": "tma_copy tma_store_arrive tma_store_wait",
    "wgmma": "wgmma_gemm wait_wgmma warpgroup_arrive warpgroup_commit_batch warpgroup_wait warpgroup_fence_operand",
    "roles": "ws shuffle_elect",
    "clusters": "cluster_sync cluster_arrive cluster_wait block_rank_in_cluster",
}

NAMES: dict[str, str] = {
    name: f"tile_cuda.language.{module}:{name}" for module, names in _NAMES_BY_MODULE.items() for name in names.split()
}
