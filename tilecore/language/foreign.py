"""Errors for names that the core language does not have: why, and what to use instead."""

from __future__ import annotations

from tilecore.caller import at_caller
from tilecore.errors import UnsupportedError
from tilecore.language.known_elsewhere import INSTEAD
from tilecore.nearest import did_you_mean
from tilecore.plugins.manager import kinds

# Stems of names of one chip's instructions, by what they are for: what the language has for it on every target. The
# longest stem that a name begins with decides.
_ONE_CHIP: dict[str, str] = {
    "tma_ cp_async ptx_cp_async_bulk create_tma copy_cluster": (
        "T.copy in a T.Pipelined loop, or T.async_copy, runs beside other work where the target can"
    ),
    "alloc_barrier alloc_cluster_barrier barrier_ mbarrier_ ptx_arrive ptx_init_barrier ptx_fence_barrier fence_ "
    "named_barrier cp_async_barrier": (
        "write copies in a T.Pipelined loop, which waits for them by itself; T.sync_threads() is a barrier of the block"
    ),
    "wgmma wait_wgmma alloc_wgmma initialize_wgmma warpgroup_ ptx_ ldmatrix stmatrix mma_gemm tcgen05_ alloc_tcgen05 "
    "alloc_tmem deallocate_tmem": "use T.gemm: the target chooses among its matrix instructions",
    "ws": (
        "write what the block does once, with T.Pipelined: which warps copy and which compute is for the target to say"
    ),
    "cluster_ clc_ block_rank_in_cluster": (
        "T.Kernel(cluster_dims=...) asks for clusters; blocks are independent, and meet by atomics or T.sync_grid()"
    ),
    "shuffle_elect elect_": "compare T.get_lane_idx() with the lane that shall do it",
    "CUDASourceCodeKernel": "use T.Kernel",
}
_STEMS = {stem: instead for stems, instead in _ONE_CHIP.items() for stem in stems.split()}
_OWN_SOURCE = "where the target compiles source, T.import_source and T.call_extern call a function of your own"

# Names that the language has elsewhere, by what they are about: why not here, and what to write.
_ELSEWHERE: dict[str, tuple[str, str]] = {
    "loop_break break_loop": ("is TVM's way to leave a loop", "use the statement `break`"),
    "continue_loop": ("is TVM's way to go on with the next iteration", "use the statement `continue`"),
    "ret": ("is TVM's way to return a value", "use the statement `return`"),
    "call_packed call_cpacked tvm_call_packed tvm_call_cpacked call_packed_lowered call_cpacked_lowered": (
        "calls a function of the host's Python",
        "call it before or after the kernel",
    ),
    "call_llvm_intrin call_llvm_pure_intrin": ("is an instruction of LLVM's", _OWN_SOURCE),
    "thread_return": ("ends one thread early", "put what follows into `if`"),
    "target": ("tells the target, which the tile language does not depend on", "decide outside the kernel"),
    "eager": ("is not in the core", "use @tilecore.jit on the function"),
}
_REASONS = {name: reason for names, reason in _ELSEWHERE.items() for name in names.split()}


class MissingNameError(UnsupportedError, AttributeError):
    """The tile language of the core has no such name."""


def missing(name: str, language_names: list[str]) -> AttributeError:
    """The error for ``T.<name>``, at the user's line."""
    return at_caller(_missing(name, language_names))


def _missing(name: str, language_names: list[str]) -> MissingNameError:
    if name in _REASONS:
        why, instead = _REASONS[name]
        return MissingNameError(f"T.{name} {why}", hint=instead)
    stems = [stem for stem in _STEMS if name.startswith(stem)]
    if stems:
        return MissingNameError(
            f"T.{name} is an instruction of one chip and not part of tilecore.language",
            found=f"installed targets: {', '.join(kinds())}, none of which defines it",
            hint=f"{_STEMS[max(stems, key=len)]}; {_OWN_SOURCE}",
        )
    if name in INSTEAD:
        return MissingNameError(f"the tile language has no T.{name}", hint=INSTEAD[name])
    return MissingNameError(f"tilecore.language has no {name!r}", hint=did_you_mean(name, language_names, "T.{}"))
