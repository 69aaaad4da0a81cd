"""The operands of mma.sync: their registers, and where each element of a step lies in shared memory.

``ldmatrix`` loads them where the tile allows it (matrix_loads.py); else threads load them element by element
(word_loads.py). Registers are double-buffered, so that the operands of the next step can be loaded during a step.
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

SETS = 2  # of registers, for double buffering


@dataclass(frozen=True)
class Operand:
    """A or B of a gemm, as one warp reads it.

    region: the tile. fragment: the layout of an instruction's part, as (across K, along K). words: words of 32 bits of
    that part in a lane. word: elements of a word. along_k: whether rows are stored along K. size: the extent across K
    (M or N). start: where the warp's part begins across K. tiles: instructions of the warp across K. across, depth: the
    size of an instruction's part across and along K. k: the extent along K. sets: of registers. across_overshoots:
    whether the warps' parts reach past ``size``. k_overshoots: whether the last step reaches past ``k``. layout: of the
    buffer in shared memory; None: row by row.
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


def operand_a(call: Any, p: MmaConfig, lane: Expr, start: Any, layout: BufferLayout | None) -> Operand:
    shape = p.shape
    return Operand(
        name="a", region=call.a, fragment=shape.operand_a, words=shape.a_words, word=shape.word,
        along_k=not call.transpose_a, size=p.m, start=start, tiles=p.m_tiles, across=shape.rows, depth=shape.depth,
        k=p.k, sets=min(SETS, p.steps), across_overshoots=p.m_overshoots, k_overshoots=p.k_overshoots, layout=layout,
        registers=_registers("a", shape.a, min(SETS, p.steps) * p.m_tiles * shape.operand_a.registers), lane=lane,
        span=call.span,
    )  # fmt: skip


def operand_b(call: Any, p: MmaConfig, lane: Expr, start: Any, layout: BufferLayout | None) -> Operand:
    shape = p.shape
    fragment = shape.operand_b.project([1, 0])
    return Operand(
        name="b", region=call.b, fragment=fragment, words=shape.b_words, word=shape.word,
        along_k=bool(call.transpose_b), size=p.n, start=start, tiles=p.n_tiles, across=shape.columns,
        depth=shape.depth, k=p.k, sets=min(SETS, p.steps), across_overshoots=p.n_overshoots,
        k_overshoots=p.k_overshoots, layout=layout,
        registers=_registers("b", shape.b, min(SETS, p.steps) * p.n_tiles * fragment.registers), lane=lane,
        span=call.span,
    )  # fmt: skip


def _registers(name: str, dtype: str, count: int) -> Var:
    return tirx.decl_buffer([count], dtype, name, scope="local", layout=None)
