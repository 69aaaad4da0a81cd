"""The operands of matrix instructions: their registers, and where each element of a step lies in shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.ir.build import const, dtype_of, load
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Expr, TensorRegion, Var, tirx
from tilecore.ir.regions import element_indices
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.matrix.config import MatrixConfig


@dataclass(frozen=True)
class Operand:
    """A or B of a gemm, as one warp reads it.

    region: the tile. fragment: the layout of an instruction's part, as (across K, along K). words: of that part in a
    lane. word: the number of elements of a word, which are contiguous along K. along_k: whether rows are stored along
    K. size: the extent across K (M or N). start: where the warp's part begins across K. tiles: instructions of the warp
    across K. across, depth: the size of an instruction's part across and along K. k: the extent along K. sets: of
    registers, 2 for double buffering. across_overshoots: whether the warps' parts reach past ``size``. k_overshoots:
    whether the last step reaches past ``k``. layout: of the buffer in shared memory; None: row by row.
    """

    name: str
    region: TensorRegion
    fragment: FragmentLayout
    words: int
    word: int
    along_k: bool
    size: int
    start: Any
    tiles: int
    across: int
    depth: int
    k: int
    sets: int
    across_overshoots: bool
    k_overshoots: bool
    layout: BufferLayout | None
    registers: Var
    lane: Expr
    span: Any

    @property
    def elements(self) -> int:
        """The number of elements of an instruction's part in a lane."""
        return self.fragment.registers

    def register(self, step: Any, tile: Any, element: Any = 0) -> Expr:
        """The register of an element of a tile in a step."""
        register_set = step % self.sets if self.sets > 1 else const(0, "int32")
        return load(self.registers, [(register_set * self.tiles + tile) * self.elements + element])

    def indices(self, across: Any, along: Any) -> list[Any]:
        """The indices in the buffer of the element that is ``across`` across and ``along`` along K in the tile."""
        return element_indices(self.region, *((across, along) if self.along_k else (along, across)))

    @property
    def dtype(self) -> str:
        return dtype_of(self.region.source)


def operand_a(
    call: TileCall, config: MatrixConfig, lane: Expr, start: Any, layout: BufferLayout | None, sets: int
) -> Operand:
    """A of a gemm. start: the warp's first row. sets: of registers, at most."""
    instruction, sets = config.instruction, min(sets, config.steps)
    fragment = instruction.operand_a
    return Operand(
        name="a", region=call.a, fragment=fragment, words=fragment.registers // instruction.word,
        word=instruction.word, along_k=not call.transpose_a, size=config.m, start=start, tiles=config.m_tiles,
        across=instruction.rows, depth=instruction.depth, k=config.k, sets=sets,
        across_overshoots=config.m_overshoots, k_overshoots=config.k_overshoots, layout=layout,
        registers=_registers("a", instruction.a, sets * config.m_tiles * fragment.registers), lane=lane,
        span=call.span,
    )  # fmt: skip


def operand_b(
    call: TileCall, config: MatrixConfig, lane: Expr, start: Any, layout: BufferLayout | None, sets: int
) -> Operand:
    """B of a gemm. start: the warp's first column. sets: of registers, at most."""
    instruction, sets = config.instruction, min(sets, config.steps)
    fragment = instruction.operand_b.project([1, 0])
    return Operand(
        name="b", region=call.b, fragment=fragment, words=fragment.registers // instruction.word,
        word=instruction.word, along_k=bool(call.transpose_b), size=config.n, start=start, tiles=config.n_tiles,
        across=instruction.columns, depth=instruction.depth, k=config.k, sets=sets,
        across_overshoots=config.n_overshoots, k_overshoots=config.k_overshoots, layout=layout,
        registers=_registers("b", instruction.b, sets * config.n_tiles * fragment.registers), lane=lane,
        span=call.span,
    )  # fmt: skip


def _registers(name: str, dtype: str, count: int) -> Var:
    return tirx.decl_buffer([count], dtype, name, scope="local", layout=None)
