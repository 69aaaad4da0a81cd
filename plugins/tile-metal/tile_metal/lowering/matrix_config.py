"""Chooses how the simdgroups of a threadgroup do one T.gemm; or says why they cannot."""

from __future__ import annotations

from dataclasses import replace

from tile_metal.lowering import matmul2d
from tile_metal.lowering.matmul2d import Matmul2dInstruction
from tile_metal.lowering.matrix_instruction import SIZE, SimdgroupInstruction, exact_depth, factor_of
from tile_metal.target import family_of
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import dtype_of
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.matrix.config import MatrixConfig, divided, reason_against_sizes
from tilecore.lowering.simt.matrix.warp_grid import FULL_COLUMN, FULL_ROW
from tilecore.lowering.tile_ops.gemm import gemm_sizes

_FLOAT_SUMS = ("float32", "float16", "bfloat16")  # element types of C that are summed in float32


def matrix_config_of(call: TileCall, env: PassEnv, threads: int | None) -> MatrixConfig | str:
    """The configuration for a gemm, or the reason why simdgroup matrices do not do it.

    threads: of the threadgroup; None: not known.
    """
    reason = reason_against_sizes(call)
    if reason is not None:
        return reason
    sizes = gemm_sizes(call)
    kinds = dtype_of(call.a.source), dtype_of(call.b.source), dtype_of(call.c.source)
    instruction = _instruction(kinds, sizes[2], family_of(env.target).has_native_bfloat)
    if isinstance(instruction, str):
        return instruction
    if matmul2d.is_asked_for(env):
        transposed = bool(call.transpose_a), bool(call.transpose_b)
        unit = Matmul2dInstruction(instruction.a, instruction.b, instruction.factor, *transposed)
        return divided(sizes, unit, threads, int(call.policy))
    configs: list[MatrixConfig] = []
    for form in _forms(call, instruction, sizes[2]):
        config = divided(sizes, form, threads, int(call.policy))
        if isinstance(config, str):
            return config
        configs.append(config)
    return min(configs, key=lambda config: _cost(call, config))


def _forms(call: TileCall, instruction: SimdgroupInstruction, k: int) -> list[SimdgroupInstruction]:
    """The instruction with one or two products along each axis; along M if neighbouring rows of A lie side by side."""
    base = replace(instruction, b_along_k=bool(call.transpose_b))
    along_m = (1, 2) if call.transpose_a else (1,)
    along_k = 2 if k % (2 * SIZE) == 0 else 1
    return [base.widened(m, n, along_k) for m in along_m for n in (1, 2)]


def _cost(call: TileCall, config: MatrixConfig) -> tuple[int, ...]:
    """The work of a simdgroup first; of equal ones the grid that the policy asks for, and the most products at once."""
    rows, columns = config.instruction.rows, config.instruction.columns
    work = config.m_tiles * rows * config.n_tiles * columns
    against_policy = {FULL_ROW: config.along_n, FULL_COLUMN: config.along_m}.get(int(call.policy), 1)
    return work, against_policy, -rows * columns


def _instruction(kinds: tuple[str, str, str], k: int, native_bfloat: bool) -> SimdgroupInstruction | str:
    """The product for the element types of A, B and C, or the reason why there is none."""
    a, b, c = kinds
    factor = factor_of(a, b, native_bfloat)
    if factor is None:
        return f"simdgroup matrices are of float16, bfloat16 or float32, which do not hold {a} and {b} exactly"
    if c not in _FLOAT_SUMS:
        depth = exact_depth(a, b)
        if c != "int32" or not depth:
            return f"simdgroup matrices sum in float32, and products of {a} and {b} into {c} need other sums"
        if k > depth:
            return (
                f"simdgroup matrices sum in float32, which is exact for K up to {depth} of {a} and {b} only; "
                f"K of the tile is {k}"
            )
    return SimdgroupInstruction(a, b, factor)
