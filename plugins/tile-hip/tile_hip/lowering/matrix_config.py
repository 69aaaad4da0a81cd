"""Chooses how the waves of a block do one T.gemm: the instruction and the grid of waves; or says why they cannot."""

from __future__ import annotations

from tile_hip.lowering.matrix_instructions import INSTRUCTIONS, WaveInstruction, instructions_for
from tile_hip.target import architecture_of, wave_of
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import dtype_of
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.matrix.config import SUM_TYPES, MatrixConfig, divided, reason_against_sizes
from tilecore.lowering.simt.matrix.warp_grid import FULL_COLUMN, FULL_ROW
from tilecore.lowering.simt.tile_ops.accumulators import is_whole_fragment
from tilecore.lowering.tile_ops.gemm import gemm_sizes

MOST_ALTERNATING = 4  # products whose columns (rows) alternate


def matrix_config_of(call: TileCall, env: PassEnv, threads: int | None) -> MatrixConfig | str:
    """The configuration for a gemm, or the reason why no matrix instruction does it.

    threads: of the block; None: not known.
    """
    reason = reason_against_sizes(call)
    if reason is not None:
        return reason
    architecture, wave = architecture_of(env.target), wave_of(env.target)
    sizes, policy = gemm_sizes(call), int(call.policy)
    kinds = tuple(dtype_of(r.source) for r in (call.a, call.b, call.c))
    instructions = _instructions(kinds, sizes[2], architecture.name, is_whole_fragment(call.a))
    if not instructions:
        return f"no instruction of {architecture.name} for {kinds[0]}, {kinds[1]} into {kinds[2]}" + _other_types(
            kinds, architecture.name
        )
    if instructions[0].wave != wave:
        return f"the matrix instructions of {architecture.name} are those of waves of {instructions[0].wave} lanes"
    configs = []
    for instruction in instructions:
        for form in _forms(call, instruction):
            config = divided(sizes, form, threads, policy)
            if isinstance(config, str):
                return config
            configs.append(config)
    return min(configs, key=lambda config: _cost(call, config))


def _instructions(kinds: tuple[str, ...], k: int, architecture: str, a_in_registers: bool) -> list[WaveInstruction]:
    a, b, c = kinds
    for total in (c, *SUM_TYPES.get(c, ())):
        instructions = instructions_for((a, b, total), k, architecture, a_in_registers)
        if instructions:
            return instructions
    return []


def _other_types(kinds: tuple[str, ...], architecture: str) -> str:
    """The 8-bit floats that the chip multiplies instead, or else float16."""
    if not all(kind.startswith("float8") for kind in kinds[:2]):
        return ""
    with_instructions = sorted(
        {i.a for i in INSTRUCTIONS if i.a.startswith("float8") and architecture in i.architectures}
    )
    return "; it has those of " + (" and ".join(with_instructions) or "float16 and bfloat16")


def _forms(call: TileCall, instruction: WaveInstruction) -> list[WaveInstruction]:
    """The instruction, and its forms for operands that are not stored along K."""
    most = min(MOST_ALTERNATING, 16 // (DType(instruction.a).bits // 8))
    counts = [count for count in (1, 2, 4) if count <= most]
    along_m = counts if call.transpose_a else [1]
    along_n = [1] if call.transpose_b else counts
    return [instruction.widened(m, n) for m in along_m for n in along_n]


def _cost(call: TileCall, config: MatrixConfig) -> tuple[int, ...]:
    """The work of a wave first; of equal ones the grid that the policy asks for, few loads, large instructions.

    Where A is in registers, large instructions come first: the result that A comes from is likely to have their layout.
    """
    instruction = config.instruction
    assert isinstance(instruction, WaveInstruction)
    work = config.m_tiles * instruction.rows * config.n_tiles * instruction.columns * config.steps * instruction.depth
    against_policy = {FULL_ROW: config.along_n, FULL_COLUMN: config.along_m}.get(int(call.policy), 1)
    preferences = -instruction.along_m * instruction.along_n, -instruction.size
    if is_whole_fragment(call.a):
        preferences = preferences[::-1]
    return work, against_policy, *preferences
