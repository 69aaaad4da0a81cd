"""Asynchronous warpgroup-level matrix products (wgmma), for which the kernel itself waits. PTX ISA, "wgmma"."""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.operations import FENCE_OPERAND, KIND, WGMMA_GEMM
from tilecore.errors import LanguageError
from tilecore.ir.nodes import IntImm, StringImm
from tilecore.language.copies import emit
from tilecore.language.dialects import dialect_hints, emit_call
from tilecore.language.gemm import GemmWarpPolicy, product_operands
from tilecore.language.regions import region_of

MOST_GROUPS = 7  # groups that may still run after a wait


def wgmma_gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    annotations: dict[str, Any] | None = None,
) -> None:
    """T.gemm by ``wgmma``, as one asynchronous group. The kernel must not access C or write A or B before T.wait_wgmma.

    A: [M, K], in shared memory or a fragment. B: [K, N], in shared memory. C: [M, N], a fragment. transpose_A: A is
    [K, M]. transpose_B: B is [N, K].
    """
    operands = product_operands("T.wgmma_gemm", A, B, C, transpose_A, transpose_B, clear_accum, policy)
    emit(WGMMA_GEMM.name, operands, dialect_hints(KIND, "T.wgmma_gemm", annotations))


def _wait(function_name: str, count: Any) -> None:
    if not isinstance(count, int) or not 0 <= count <= MOST_GROUPS:
        raise LanguageError(
            f"{function_name} takes a number of groups", found=repr(count)[:60], expected=f"0 to {MOST_GROUPS}"
        )
    emit_call(KIND, function_name, instructions.WARPGROUP, [StringImm("wait"), IntImm("int32", count)])


def wait_wgmma(id: int = 0) -> None:
    """Wait until all wgmma groups except the last ``id`` have ended."""
    _wait("T.wait_wgmma", id)


def warpgroup_wait(num_mma: int = 0) -> None:
    """As T.wait_wgmma."""
    _wait("T.warpgroup_wait", num_mma)


def warpgroup_arrive() -> None:
    """Orders earlier accesses to registers before later wgmma operations; T.wgmma_gemm does so by itself."""
    emit_call(KIND, "T.warpgroup_arrive", instructions.WARPGROUP, [StringImm("begin")])


def warpgroup_commit_batch() -> None:
    """Makes a group of the wgmma operations that are in no group yet.

    T.wgmma_gemm makes a group by itself, so the group after it is empty.
    """
    emit_call(KIND, "T.warpgroup_commit_batch", instructions.WARPGROUP, [StringImm("commit")])


def warpgroup_fence_operand(buffer_or_ptr: Any, offset: Any = 0, num_regs: Any = None, dtype: Any = None) -> None:
    """Keeps the compiler from moving uses of this fragment across this statement.

    offset, num_regs, dtype: a part of the fragment; it is always the whole fragment that is fenced.
    """
    region = region_of(buffer_or_ptr, "T.warpgroup_fence_operand")
    emit(FENCE_OPERAND.name, [region], dialect_hints(KIND, "T.warpgroup_fence_operand"))
