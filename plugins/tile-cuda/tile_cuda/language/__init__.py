"""What the tile language has besides for this target: T.<name> of the core is found here (``TargetSpec.language``).

Nothing is imported until a kernel uses a name. docs/hopper.md describes each.
"""

from __future__ import annotations

_PLACES = {
    "barriers": "alloc_barrier alloc_cluster_barrier mbarrier_wait_parity barrier_wait mbarrier_arrive barrier_arrive "
    "mbarrier_expect_tx mbarrier_arrive_expect_tx cp_async_barrier_noinc fence_proxy_async",
    "copies": "tma_copy tma_store_arrive tma_store_wait",
    "products": "wgmma_gemm wait_wgmma warpgroup_arrive warpgroup_commit_batch warpgroup_wait warpgroup_fence_operand",
    "roles": "ws shuffle_elect",
    "clusters": "cluster_sync cluster_arrive cluster_wait block_rank_in_cluster",
}

NAMES: dict[str, str] = {
    name: f"tile_cuda.language.{module}:{name}" for module, names in _PLACES.items() for name in names.split()
}
