"""The registers of a warp's operands, and how a step's part of them comes from shared memory.

By ``ldmatrix`` (matrix_loads.py) where the tile allows it, else element by element (word_loads.py). Two sets of
registers take turns, so that one step's operands may be loaded while the step before is multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_cuda.lowering.mma_config import MmaConfig
from tilecore.ir.build import const, dtype_of, load
from tilecore.ir.fragments import FragmentLayout
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import Expr, TensorRegion, Var, tirx
from tilecore.ir.regions import element_indices

SETS = 2


@dataclass(frozen=True)
class Operand:
    """A or B of a product, as one warp sees it.

    region: the tile. held: an instruction's part as (across, along K). along_k: do its rows run along K? size: its
    extent across K (M or N); start: where the warp's part begins there; tiles: instructions of the warp across K.
    across_overshoots: the warps' parts reach past ``size``; k_overshoots: the last step does past ``k``. layout: of the
    buffer in shared memory.
    """

    name: str
    region: TensorRegion
    held: FragmentLayout
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
        """Elements of one instruction's part in a lane."""
        return self.held.registers

    def register(self, step: Any, tile: Any, element: Any = 0) -> Expr:
        """A lane's element of a tile of a step."""
        register_set = step % self.sets if self.sets > 1 else const(0, "int32")
        return load(self.registers, [(register_set * self.tiles + tile) * self.elements + element])

    def place(self, across: Any, along: Any) -> list[Any]:
        """Indices in the buffer of the element at these places of the tile."""
        return element_indices(self.region, *((across, along) if self.along_k else (along, across)))

    @property
    def dtype(self) -> str:
        return dtype_of(self.region.source)


def operand_a(call: Any, p: MmaConfig, lane: Expr, start: Any, layout: BufferLayout | None) -> Operand:
    shape = p.shape
    return Operand(
        name="a", region=call.a, held=shape.operand_a, words=shape.a_words, word=shape.word,
        along_k=not call.transpose_a, size=p.m, start=start, tiles=p.m_tiles, across=shape.rows, depth=shape.depth,
        k=p.k, sets=min(SETS, p.steps), across_overshoots=p.m_overshoots, k_overshoots=p.k_overshoots, layout=layout,
        registers=_registers("a", shape.a, min(SETS, p.steps) * p.m_tiles * shape.operand_a.registers), lane=lane,
        span=call.span,
    )  # fmt: skip


def operand_b(call: Any, p: MmaConfig, lane: Expr, start: Any, layout: BufferLayout | None) -> Operand:
    shape = p.shape
    fragment = shape.operand_b.project([1, 0])
    return Operand(
        name="b", region=call.b, held=fragment, words=shape.b_words, word=shape.word, along_k=bool(call.transpose_b),
        size=p.n, start=start, tiles=p.n_tiles, across=shape.columns, depth=shape.depth, k=p.k,
        sets=min(SETS, p.steps), across_overshoots=p.n_overshoots, k_overshoots=p.k_overshoots, layout=layout,
        registers=_registers("b", shape.b, min(SETS, p.steps) * p.n_tiles * fragment.registers), lane=lane,
        span=call.span,
    )  # fmt: skip


def _registers(name: str, dtype: str, count: int) -> Var:
    return tirx.decl_buffer([count], dtype, name, scope="local", layout=None)
