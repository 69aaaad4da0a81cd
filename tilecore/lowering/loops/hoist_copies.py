"""Hoists copies that many blocks repeat out of the grid: a kernel in front of the one that has them makes each once.

In a matrix product all blocks of one column of the grid copy the same tiles of B. If such a tile is only an operand of
gemm, a kernel that runs before copies every tile of the tensor into a workspace, in the layout that the gemm wants, and
the gemm reads it there. With one block a core, that replaces (blocks in a column) copies of each tile by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.attributes import CallAttr, StatementAttr
from tilecore.ir.build import const, constant, dtype_of, nothing, seq, statements_of
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    BufferRegion,
    Call,
    IterVar,
    PrimFunc,
    Range,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    tirx,
)
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis, rebuild_kernel
from tilecore.lowering.loops.moved_tiles import without_copies
from tilecore.lowering.loops.tile_uses import (
    KernelUses,
    TileAxis,
    Use,
    axis_of,
    blocks_of,
    fills_operand,
    knows_blocks_and_loops,
    note_copy,
)
from tilecore.lowering.state import HoistedTiles

LEAST_BYTES = 1 << 15  # of the tiles of one tensor: below it the launch of another kernel costs more than the copies
MOST_BYTES = 1 << 28  # of all workspaces of a kernel
AXES = "xyz"
BLOCKS = 32  # of a copying kernel, so that many threads share it: fewer tiles are divided by rows
LEAST_ROWS = 16  # of a part of a tile; turned copies are made in blocks of as many


@dataclass(frozen=True)
class Hoisted:
    """A copy that moves out of the grid. tiles: the workspace [one axis per TileAxis, rows, columns]."""

    copy: Use
    axes: tuple[TileAxis, ...]
    tiles: Var

    @property
    def size(self) -> int:
        """Bytes of the workspace."""
        return prod(int(size) for size in self.tiles.shape) * DType(dtype_of(self.tiles)).bits // 8

    @property
    def buffer(self) -> Var:
        """The shared buffer that the copy filled."""
        return self.copy.call.dst.source  # type: ignore[union-attr]


def hoist_copies(func: PrimFunc, env: PassEnv) -> PrimFunc:
    memory = Memory(func.body)
    workspaces: list[Stmt] = []
    tiles = env.state(HoistedTiles).buffers
    statements: list[Stmt] = []
    room = MOST_BYTES
    for statement in statements_of(func.body):
        hoisted = _find(statement, set(func.params), memory, room) if is_axis(statement) else []
        room -= sum(one.size for one in hoisted)
        for one in hoisted:
            workspaces.append(AllocBuffer(one.tiles, span=one.copy.statement.span))
            tiles.add(one.tiles)
            statements.append(_copying_kernel(one))
            note_copy(env, one.copy, "hoisted", _source_name(one), _described(one))
        copies, moved = [one.copy.statement for one in hoisted], {one.buffer: _in_tiles(one) for one in hoisted}
        statements.append(without_copies(statement, copies, moved, CallAttr.HOISTED) if hoisted else statement)
    return func.with_body(seq([*workspaces, *statements])) if workspaces else func


# -- finding ----------------------------------------------------------------------------------------------------------


def _find(kernel: Stmt, params: set[Var], memory: Memory, room: int) -> list[Hoisted]:
    """The copies that can move, whose workspaces take ``room`` bytes at most."""
    levels, code = axes_and_code(kernel)
    blocks = blocks_of(levels)
    uses = KernelUses(code)
    writes = writes_of(code)
    hoisted = []
    for use in uses.uses:
        if not fills_operand(use, uses):
            continue
        call = use.call
        assert call is not None
        source = call.src.source
        if source not in params or memory.may_change(writes, source, in_place=False) or source in memory.roots:
            continue
        axes = _tile_axes(use, blocks)
        if axes is not None:
            shape = [axis.count for axis in axes] + [int(size) for size in call.dst.source.shape]
            name = f"{source.name}_tiles"
            tiles = tirx.decl_buffer(shape, dtype_of(call.dst.source), name, scope="global", layout=None)
            one = Hoisted(use, axes, tiles)
            if LEAST_BYTES <= one.size <= room and _repeats(axes, blocks):
                room -= one.size
                hoisted.append(one)
    return hoisted


def _tile_axes(copy: Use, blocks: dict[Var, Any]) -> tuple[TileAxis, ...] | None:
    """The variables by which the copied tiles differ: block indices first; None where they cannot be numbered."""
    assert copy.call is not None
    starts = [r.min for r in copy.call.src.region]
    if any(collect(start, TensorLoad, Call) for start in starts):
        return None
    used: set[Var] = set().union(*(variables(start) for start in starts))
    order = [var for var in blocks if var in used] + [loop.loop_var for loop in copy.loops if loop.loop_var in used]
    if len(order) != len(used) or len(order) > len(AXES):
        return None
    analyzer = knows_blocks_and_loops(blocks, copy.loops)
    axes = [axis_of(var, copy.loops, blocks, analyzer) for var in order]
    return None if None in axes else tuple(axes)  # type: ignore[arg-type]


def _repeats(axes: Iterable[TileAxis], blocks: dict[Var, Any]) -> bool:
    """Do several blocks copy the same tile? Block counts that only the call knows do not count."""
    numbered = {axis.var for axis in axes}
    return prod(constant(extent) or 1 for var, extent in blocks.items() if var not in numbered) > 1


# -- rewriting --------------------------------------------------------------------------------------------------------


def _copying_kernel(hoisted: Hoisted) -> Stmt:
    """The kernel that makes the copies: each block fills one tile of the workspace, or some rows of one."""
    call = hoisted.copy.call
    assert call is not None
    levels: list[AttrStmt] = []
    values: dict[Var, Any] = {}
    place: list[Range] = []
    for axis, letter in zip(reversed(hoisted.axes), AXES, strict=False):
        dtype = dtype_of(axis.var)
        number = Var(f"{axis.var.name}_tile", dtype)
        extent = const(axis.count, dtype)
        domain = Range.from_min_extent(const(0, dtype), extent)
        levels.append(
            AttrStmt(
                IterVar(domain, number, IterVar.ThreadIndex, f"blockIdx.{letter}"),
                StatementAttr.AXIS,
                extent,
                nothing(),
                span=hoisted.copy.statement.span,
            )
        )
        values[axis.var] = number + axis.first if axis.first else number
        place.insert(0, Range.from_min_extent(number, const(1, dtype)))
    source = substitute(call.src, values)
    target = BufferRegion(hoisted.tiles, [*place, *call.dst.region])
    rows = _rows_of_part(hoisted)
    if rows is not None:
        part = Var("part", "int32")
        extent = const(int(hoisted.buffer.shape[0]) // rows, "int32")
        axis_var = IterVar(
            Range.from_min_extent(const(0, "int32"), extent), part, IterVar.ThreadIndex, f"blockIdx.{AXES[len(levels)]}"
        )
        levels.append(AttrStmt(axis_var, StatementAttr.AXIS, extent, nothing(), span=hoisted.copy.statement.span))
        source, target = (_some_rows(region, part, rows) for region in (source, target))
    copy = call.rebuilt([source, target, *list(call.call.args)[2:]])
    if not levels:  # one tile for all blocks
        one = const(1, "int32")
        axis_var = IterVar(Range.from_min_extent(const(0, "int32"), one), Var("bx", "int32"), 1, "blockIdx.x")
        levels = [AttrStmt(axis_var, StatementAttr.AXIS, one, nothing())]
    return rebuild_kernel(levels, copy)


def _rows_of_part(hoisted: Hoisted) -> int | None:
    """The rows of each part of a tile where the tiles are too few for many threads; None where they are not divided."""
    rows, columns = (int(size) for size in hoisted.buffer.shape)
    tiles = prod(axis.count for axis in hoisted.axes)
    source = [constant(r.extent) for r in hoisted.copy.call.src.region]  # type: ignore[union-attr]
    if (
        tiles >= BLOCKS
        or len(hoisted.axes) == len(AXES)
        or source[-2:] != [rows, columns]
        or any(size != 1 for size in source[:-2])
    ):
        return None
    unit = LEAST_ROWS if rows % LEAST_ROWS == 0 else 4  # 4: elements of int8 that lie side by side
    sizes = [size for size in range(LEAST_ROWS, rows // 2 + 1) if rows % size == 0 and size % unit == 0]
    return next((size for size in reversed(sizes) if tiles * (rows // size) >= BLOCKS), sizes[0] if sizes else None)


def _some_rows(region: TensorRegion, part: Var, rows: int) -> TensorRegion:
    """The rows of one part of a tile: of the last axis but one."""
    ranges = list(region.region)
    start = ranges[-2].min + part * const(rows, "int32")
    ranges[-2] = Range.from_min_extent(start, const(rows, "int32"))
    return BufferRegion(region.source, ranges)


def _in_tiles(one: Hoisted) -> Callable[[TensorRegion], TensorRegion]:
    """The part of the workspace, for a region of the buffer that the copy filled."""
    place = [
        Range.from_min_extent(axis.var - axis.first if axis.first else axis.var, const(1, dtype_of(axis.var)))
        for axis in one.axes
    ]
    return lambda region: BufferRegion(one.tiles, [*place, *region.region])


def _source_name(one: Hoisted) -> str:
    return str(one.copy.call.src.source.name)  # type: ignore[union-attr]


def _described(one: Hoisted) -> str:
    """For ``kernel.explain()``."""
    *numbers, rows, columns = (int(size) for size in one.tiles.shape)
    tiles = "the one tile" if prod(numbers) == 1 else f"each of the {prod(numbers)} tiles"
    return (
        f"{tiles} of {_source_name(one)}, {rows} x {columns}, is copied once for all blocks"
        f" ({one.size / 2**20:.3g} MiB of workspace)"
    )


HOIST_COPIES = Pass("hoist_copies", hoist_copies, leaves=(HoistedTiles,))
