"""Names of TileLang's language for this vendor's chips that kernels cannot use: why, and what to write instead."""

from __future__ import annotations

_SM_100 = "needs the instructions of sm_100 (Blackwell), which are not supported yet"
_SM_120 = "needs the instructions of sm_120 (Blackwell), which are not supported yet"
_BY_HAND = "is a step of what a function of the language does as a whole"

# names: (why, what to write)
_REFUSED: dict[str, tuple[str, str]] = {
    "alloc_tmem deallocate_tmem tcgen05_before_thread_sync tcgen05_after_thread_sync alloc_tcgen05_smem_desc "
    "alloc_tcgen05_instruction_desc alloc_tcgen05_instr_desc initialize_tcgen05_descriptor tcgen05_gemm "
    "tcgen05_mma_arrive tcgen05_cp_warpx4 tcgen05_sf_warp_transpose ptx_tcgen05_mma_ss ptx_tcgen05_mma_ts": (
        _SM_100,
        "T.gemm with an accumulator of T.alloc_fragment runs on every architecture, on sm_90a by wgmma",
    ),
    "tcgen05_gemm_blockscaled ptx_tcgen05_mma_blockscaled_ss": (
        _SM_100,
        "scale the tiles in a T.Parallel loop, then T.gemm",
    ),
    "mma_gemm_blockscaled ptx_mma_block_scale make_blockscaled_gemm_layout": (
        _SM_120,
        "scale the tiles in a T.Parallel loop, then T.gemm",
    ),
    "clc_try_cancel clc_try_cancel_multicast clc_is_canceled clc_get_first_ctaid_x clc_get_first_ctaid_y "
    "clc_get_first_ctaid_z": (_SM_100, "T.PersistentTileScheduler and T.Persistent divide tiles among blocks"),
    "tma_gather4 tma_scatter4": (
        _SM_100,
        "on sm_90a T.tma_copy copies one row: call it once for each row, on one barrier; a T.Parallel loop over the "
        "rows and columns gathers on every target",
    ),
    "tma_load_2sm": (_SM_100, "T.tma_copy(..., cluster_mask=...) copies for several blocks of a cluster"),
    "create_tma_descriptor tma_load": (_BY_HAND, "T.tma_copy(tensor[i, j], tile, barrier=bar) makes the descriptor"),
    "ptx_cp_async_bulk": (_BY_HAND, "T.tma_copy(tensor[i:j], tile, barrier=bar) copies in bulk"),
    "ptx_init_barrier_thread_count create_barriers": (
        _BY_HAND,
        "T.alloc_barrier(count) makes and initializes a barrier",
    ),
    "ptx_wait_barrier": (_BY_HAND, "T.mbarrier_wait_parity(bar, parity) waits for a phase of a barrier"),
    "ptx_wgmma_ss ptx_wgmma_rs wgmma_mma initialize_wgmma_descriptor alloc_wgmma_desc alloc_descriptor "
    "increase_descriptor_offset compute_gmma_descriptor": (
        _BY_HAND,
        "T.wgmma_gemm(A, B, C) starts the product of tiles by wgmma, and T.wait_wgmma waits for it",
    ),
    "wgmma_gemm_sp ptx_mma_sp ptx_wgmma_sp_ss ptx_wgmma_sp_rs": (
        "uses the instructions of sparse matrices, which the compiler does not",
        "T.gemm_sp(A_sparse, E, B, C) multiplies such a matrix on every target",
    ),
    "ptx_mma ptx_ldmatrix mma_fill mma_store": (
        _BY_HAND,
        "T.gemm multiplies tiles; tilecore.cuda.intrinsics.macro.mma_macro_generator.TensorCoreIntrinEmitter emits its "
        "steps for kernels that divide the product themselves, in place of T.gemm",
    ),
    "ptx_mma_sm70": (_BY_HAND, "T.gemm on tiles; it runs on sm_70 by its threads"),
}
REFUSED: dict[str, tuple[str, str]] = {name: reason for names, reason in _REFUSED.items() for name in names.split()}
