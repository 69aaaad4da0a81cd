"""Chooses how ``mma.sync`` does one T.gemm: the instruction and the grid of warps; or says why it cannot."""

from __future__ import annotations

from tile_cuda.lowering.shapes import Shape, shape_of
from tile_cuda.options import ALLOW_TF32, key_name
from tile_cuda.target import architecture_of
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import dtype_of
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.matrix.config import SUM_TYPES, MatrixConfig, divided, reason_against_sizes
from tilecore.lowering.tile_ops.gemm import gemm_sizes


def mma_config_of(call: TileCall, env: PassEnv, threads: int | None) -> MatrixConfig | str:
    """The configuration for a gemm, or the reason why mma.sync cannot do it. threads: of the block; None: not known."""
    reason = reason_against_sizes(call)
    if reason is not None:
        return reason
    sizes = gemm_sizes(call)
    shape = _shape(call, env, sizes[2])
    return shape if isinstance(shape, str) else divided(sizes, shape, threads, int(call.policy))


def _shape(call: TileCall, env: PassEnv, k: int) -> Shape | str:
    a, b, c = (dtype_of(r.source) for r in (call.a, call.b, call.c))
    arch = architecture_of(env.target).capability
    if a == b == "float32" and not allows_tf32(call, env):
        return f"float32 is rounded to tf32 only where {key_name(ALLOW_TF32)} or annotations allow it"
    for total in (c, *SUM_TYPES.get(c, ())):
        shape = shape_of(a, b, total, k, arch)
        if shape is not None:
            return shape
    return f"no instruction for {a}, {b} into {c} on sm_{arch}"


def allows_tf32(call: TileCall, env: PassEnv) -> bool:
    """Whether the gemm may round its float32 operands to tf32 (10 bits of mantissa)."""
    return bool(call.hints.get(CallAttr.ALLOW_TF32, ALLOW_TF32.value_in(env.config)))
