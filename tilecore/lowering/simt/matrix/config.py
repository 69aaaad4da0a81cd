"""Divides a T.gemm among the warps of a block, each of which repeats one matrix instruction."""

from __future__ import annotations

from typing import Any, NamedTuple

from tilecore.contract.implementation import SHARED
from tilecore.ir.build import constant
from tilecore.ir.fragments import REGISTER, THREAD, FragmentLayout, resized, tiled
from tilecore.ir.scopes import is_fragment, is_global, is_shared
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.matrix.instruction import MatrixInstruction
from tilecore.lowering.simt.matrix.warp_grid import warp_grid
from tilecore.lowering.simt.tile_ops.accumulators import is_whole_fragment

# element type of C -> the types of a temporary accumulator in registers, which is added to C at the end
SUM_TYPES = {
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float64": ("float32", "int32"),
    "float32": ("int32",),
    "uint32": ("int32",),
    "int64": (),
}


class MatrixConfig(NamedTuple):
    """How the warps of a block do a matrix product.

    m, n, k: the sizes of the product. along_m, along_n: the number of warps along M and N. copies: how many warps
    compute the same part. instruction: the one that they repeat.
    """

    m: int
    n: int
    k: int
    along_m: int
    along_n: int
    copies: int
    instruction: MatrixInstruction

    @property
    def m_tiles(self) -> int:
        """The number of instructions of a warp along M."""
        return -(-self.m // (self.along_m * self.instruction.rows))

    @property
    def n_tiles(self) -> int:
        """The number of instructions of a warp along N."""
        return -(-self.n // (self.along_n * self.instruction.columns))

    @property
    def steps(self) -> int:
        """The number of instructions along K; the last one may reach past the end of K."""
        return -(-self.k // self.instruction.depth)

    @property
    def m_overshoots(self) -> bool:
        """Whether the parts of the warps reach past the last row."""
        return self.along_m * self.m_tiles * self.instruction.rows > self.m

    @property
    def n_overshoots(self) -> bool:
        """Whether the parts of the warps reach past the last column."""
        return self.along_n * self.n_tiles * self.instruction.columns > self.n

    @property
    def k_overshoots(self) -> bool:
        """Whether the last step reaches past the end of K."""
        return self.steps * self.instruction.depth > self.k

    def accumulator_layout(self, threads: int) -> FragmentLayout:
        """The layout of C over the threads of the block; warps with the same part hold copies."""
        repeats = [
            (1, self.n_tiles, REGISTER),
            (0, self.m_tiles, REGISTER),
            (0, self.along_m, THREAD),
            (1, self.along_n, THREAD),
        ]
        return resized(tiled(self.instruction.accumulator, repeats, (self.m, self.n)), threads)

    def operand_a_layout(self, threads: int) -> FragmentLayout:
        """The layout of A over the threads of the block; the warps along N hold copies."""
        repeats = [(1, self.steps, REGISTER), (0, self.m_tiles, REGISTER), (0, self.along_m, THREAD)]
        return resized(tiled(self.instruction.operand_a, repeats, (self.m, self.k)), threads)


def reason_against_sizes(call: TileCall) -> str | None:
    """Why no matrix instruction can do the gemm, whatever its element types: a size that is not constant."""
    regions = (call.a, call.b, call.c)
    unknown = any(constant(r.extent) is None for region in regions for r in region.region[-2:])
    return "a tile size is not known when compiling" if unknown else None


def divided(
    sizes: tuple[int, int, int], instruction: MatrixInstruction, threads: int | None, policy: int
) -> MatrixConfig | str:
    """The division of a product of M x N x K among the warps, or the reason why there is none.

    threads: of the block; None: not known. policy: T.GemmWarpPolicy.
    """
    m, n, k = sizes
    warp = instruction.accumulator.threads
    warps, rest = divmod(warp if threads is None else threads, warp)
    if rest:
        return f"{threads} threads are not a multiple of the {warp} that execute an instruction together"
    tiles = -(-m // instruction.rows), -(-n // instruction.columns)
    along_m, along_n = warp_grid(*tiles, warps, policy, (instruction.rows, instruction.columns))
    return MatrixConfig(m, n, k, along_m, along_n, warps // (along_m * along_n), instruction)


def reads_a_from_registers(call: TileCall, config: MatrixConfig) -> bool:
    """Whether A is a fragment whose registers are the operands of the instructions."""
    return is_whole_fragment(call.a) and not call.transpose_a and not config.k_overshoots


def reason_against_memory(call: TileCall, *, reads_global: bool = False) -> str | None:
    """Why warps cannot read the operands or add to C: memory that is neither shared nor a fragment. reads_global:
    whether they can read operands from global memory."""
    for name, region in (("A", call.a), ("B", call.b), ("C", call.c)):
        is_global_operand = reads_global and name != "C" and is_global(region.source)
        if not (is_global_operand or is_shared(region.source) or is_fragment(region.source)):
            return f"{name} is in {region.source.scope()} memory"
    return None


def fragment_layouts(call: TileCall, config: MatrixConfig, threads: int) -> dict[Any, Any]:
    """The fragment layouts of A and C that the instructions define; other operands must be in shared memory."""
    layouts: dict[Any, Any] = {r.source: SHARED for r in (call.a, call.b, call.c) if is_fragment(r.source)}
    if is_whole_fragment(call.c):
        layouts[call.c.source] = config.accumulator_layout(threads)
    if reads_a_from_registers(call, config) and not call.a.source.same_as(call.c.source):
        layouts[call.a.source] = config.operand_a_layout(threads)
    return layouts
