"""Names of the wider language that the core does not have: an error that says why, and what to use instead."""

from __future__ import annotations

import difflib

from tilecore.errors import UnsupportedError

# Stems of names that act on one chip's instructions; plugins offer them in their own dialects.
_CHIP = (
    "alloc_barrier alloc_cluster_barrier alloc_tmem alloc_tcgen05 alloc_wgmma barrier_ mbarrier_ tma_ wgmma wait_wgmma "
    "warpgroup_ ptx_ cp_async tcgen05_ cluster_ clc_ pdl_ fence_ ws WS shuffle_elect gemm_sp copy_cluster set_max "
    "ClusterKernel CUDASourceCodeKernel elect_ ldmatrix stmatrix mma_gemm initialize_wgmma create_tma deallocate_tmem "
    "annotate_ws block_rank_in_cluster named_barrier ldg stg lds sts __ldg __ffs __fns fast_rcp"
).split()

# Names that the language has elsewhere, by what they are about: why not here, and what to write.
_ELSEWHERE: dict[str, tuple[str, str]] = {
    "float32x2 float32x4 float32x8 float16x2 bfloat16x2 float8_e4m3fnx8 add2 sub2 mul2 fma2 max2 min2 abs2 "
    "extract_lane Shuffle": (
        "works on packed vectors of elements, which are no values here",
        "write it for one element: T.Parallel and T.vectorized loops become vectors",
    ),
    "float4_e2m1fnx2 float4_e2m1_unpacked float8_e8m0fnu float8_e4m3fnuz float8_e5m2fnuz": (
        "is an element type that is not supported yet",
        "hold its bits in T.uint8 and decode them with shifts and T.reinterpret",
    ),
    "tvm_warp_shuffle match_any_sync match_all_sync activemask": (
        "moves values between the threads of a warp by hand",
        "use T.shfl_sync and the like, T.ballot, T.warp_reduce_sum, or shared memory",
    ),
    "make_tensor_from_addr tvm_access_ptr": (
        "works on raw pointers, which are not supported yet",
        "pass the tensor as a parameter; operations take buffers and slices",
    ),
    "tvm_storage_sync": ("is TVM's name for a barrier", "use T.sync_threads()"),
    "launch_thread": ("is TVM's way to open a kernel", "use `with T.Kernel(...)`"),
    "match_buffer decl_buffer sblock_alloc_buffer": (
        "is TVM's way to declare a buffer",
        "annotate parameters with T.Tensor; T.alloc_* makes memory and T.view another shape of it",
    ),
    "If Then Else": ("is TVM's way to write a condition", "use the statement `if`"),
    "PersistentTileScheduler": ("is not in the core", "use T.Persistent"),
    "thread_return": ("ends one thread early", "put what follows into `if`"),
    "target": ("tells the target, which the tile language does not depend on", "decide outside the kernel"),
    "eager": ("is not in the core", "use @tilecore.jit on the function"),
}
_REASONS = {name: reason for names, reason in _ELSEWHERE.items() for name in names.split()}


class MissingNameError(UnsupportedError, AttributeError):
    """The tile language of the core has no such name."""


def missing(name: str, known: list[str]) -> AttributeError:
    """The error for ``T.<name>``."""
    if name in _REASONS:
        why, instead = _REASONS[name]
        return MissingNameError(f"T.{name} {why}", hint=instead)
    if any(name.startswith(stem) for stem in _CHIP):
        return MissingNameError(
            f"T.{name} is one chip's instruction and not part of tilecore.language",
            hint="import it from the dialect of that chip's plugin package",
        )
    close = difflib.get_close_matches(name, known, n=1)
    return MissingNameError(f"tilecore.language has no {name!r}", hint=f"did you mean T.{close[0]}?" if close else None)
