"""Finds the shared tiles that a producer warp can load, and the statements that use each load.

A *TMA load* copies a part of a tensor to a whole shared tile by a tensor map. It may consist of several copies, to rows
that follow one another (pages of a cache). Its users are the statements after it in the same block of code, up to the
next load of the tile. A *pipeline* is a group of tiles that are loaded and used together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tile_cuda.lowering.hopper.column_blocks import PATTERN, column_blocks_of
from tile_cuda.lowering.hopper.tensor_maps import Tiling, tiling_of, tiling_of_part
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import CallAttr, LoopAttr
from tilecore.ir.build import constant, dtype_of, statements_of
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
)
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_global, is_shared
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect, variables

PARTIAL = "a copy loads only a part of it"
SLOT_ALIGNMENT = 128  # bytes: a tensor map puts a tile at a multiple of this


@dataclass(eq=False)
class TmaLoad:
    """The copies that load a tile once.

    copies: each with its place among all copies of the kernel. calls: the same copies as tile operations. owner: the
    statement whose block of code they are in, None for the kernel's own. users: the statements that use the tile.
    rows_inside: as many rows are loaded, as the tensor has no more (rows_inside.py); None: all rows of the tile.
    """

    copies: list[tuple[int, Evaluate]]
    calls: list[TileCall]
    owner: Any
    users: list[Stmt] = field(default_factory=list)
    rows_inside: int | None = None

    @property
    def bytes(self) -> int:
        """How many bytes the copies write."""
        size = bytes_of(self.tile)
        return size if self.rows_inside is None else size // int(constant(self.tile.shape[-2]) or 1) * self.rows_inside

    @property
    def tile(self) -> Var:
        return self.calls[0].dst.source

    @property
    def nodes(self) -> list[Evaluate]:
        return [node for _, node in self.copies]

    @property
    def stages(self) -> int:
        return int(self.owner.annotations.get(LoopAttr.STAGES, 0)) if isinstance(self.owner, For) else 0

    @property
    def rows(self) -> int:
        """How many rows of the tile the copies load."""
        return sum(int(constant(call.dst.region[0].extent) or 0) for call in self.calls)

    @property
    def is_whole(self) -> bool:
        return self.rows == constant(self.tile.shape[0])


@dataclass(eq=False)
class Pipeline:
    """Tiles that are loaded and used together.

    loads: for each place that loads them, the load of each tile. more: slots beyond the stages that the loop asks for.
    """

    tiles: list[Var]
    loads: list[list[TmaLoad]]
    more: int = 0

    @property
    def stages(self) -> int:
        return max(1, *(tma_load.stages for tma_load in self.all_loads))

    @property
    def slots(self) -> int:
        return self.stages + self.more

    @property
    def is_of_loop(self) -> bool:
        """Whether a T.Pipelined loop with stages loads the tiles."""
        return any(tma_load.stages > 0 for tma_load in self.all_loads)

    @property
    def all_loads(self) -> list[TmaLoad]:
        return [tma_load for loads_at_place in self.loads for tma_load in loads_at_place]

    @property
    def bytes(self) -> int:
        """The size of one slot of all tiles."""
        return sum(map(bytes_of, self.tiles))

    @property
    def name(self) -> str:
        return "_".join(str(tile.name) for tile in self.tiles)


def bytes_of(tile: Var) -> int:
    """The size of a tile in bytes."""
    return DType(dtype_of(tile)).bytes * prod(int(constant(size) or 0) for size in tile.shape)


def find_pipelines(body: Stmt, tensors: set[Var], divisors: Mapping[Var, int]) -> tuple[list[Pipeline], dict[str, str]]:
    """The pipelines of a kernel's code, in the order of their first loads; and the tiles that threads must load.

    tensors: the buffers that a launch can make tensor maps of. divisors: known divisors of variables. The second result
    has, by the tile's name, the reason why a tensor map cannot load it.
    """
    scan = _LoadScan(body, tensors, divisors)
    scan.block(body, None)
    tiles = {tile: loads for tile, loads in scan.loads.items() if tile not in scan.refused}
    for tile, loads in tiles.items():
        if any(not tma_load.users for tma_load in loads):
            scan.refused[tile] = "no statement uses it in the block of code that loads it"
    for tile, loads in tiles.items():
        if any(tma_load.stages > 0 for tma_load in loads) and bytes_of(tile) % SLOT_ALIGNMENT:
            scan.refused.setdefault(tile, f"its size, {bytes_of(tile)} bytes, is not a multiple of {SLOT_ALIGNMENT}")
    groups: dict[Any, Pipeline] = {}
    for tile, loads in tiles.items():
        if tile in scan.refused:
            continue
        key = tuple((tma_load.owner, tma_load.users[0], tma_load.users[-1]) for tma_load in loads)
        if key in groups:
            groups[key].tiles.append(tile)
            for loads_at_place, tma_load in zip(groups[key].loads, loads, strict=True):
                loads_at_place.append(tma_load)
        else:
            groups[key] = Pipeline([tile], [[tma_load] for tma_load in loads])
    return list(groups.values()), {str(tile.name): reason for tile, reason in scan.refused.items()}


def tiling_of_load(
    call: TileCall, divisors: Mapping[Var, int], slots: int = 0, rows: int | None = None
) -> Tiling | str:
    """The tensor map that loads the tile of a copy, or rows of it; or why there is none.

    slots: how many axes of a circular buffer stand in front of those of the tile. rows: the first rows of the tile that
    are loaded, a multiple of 8; None: all.
    """
    shape = tuple(int(constant(r.extent) or 0) for r in list(call.dst.region)[slots:])
    blocks = column_blocks_of(call.dst.source)
    if rows is None or blocks is None:
        return tiling_of_part(call.src, shape, blocks, divisors)
    tiling = tiling_of(call.src, shape, blocks, divisors, contiguous=False)
    return tiling if isinstance(tiling, str) else tiling.with_rows(rows)


def _constant(value: Any) -> Any:
    return constant(Analyzer().simplify(value))


def _is_aligned_rows(part: TensorRegion) -> bool:
    """Whether the region is whole rows that begin and end where the swizzle pattern repeats."""
    (rows, *columns), (_, *sizes) = part.region, part.source.shape
    bounds = _constant(rows.min), constant(rows.extent)
    is_aligned = all(bound is not None and int(bound) % PATTERN == 0 for bound in bounds)
    return is_aligned and len(sizes) == 1 and constant(columns[0].extent) == constant(sizes[0])


class _LoadScan:
    def __init__(self, body: Stmt, tensors: set[Var], divisors: Mapping[Var, int]) -> None:
        self.tensors, self.divisors = tensors, divisors
        self.loads: dict[Var, list[TmaLoad]] = {}
        self.copies = 0
        self.refused: dict[Var, str] = {}
        self.memory = Memory(body)
        self.allocated = {alloc.buffer for alloc in collect(body, AllocBuffer)}
        self.views = {decl.data.args[0] for decl in collect(body, DeclBuffer)}

    def block(self, body: Stmt, owner: Any) -> set[Var]:
        """Records the loads in a block of code; returns the tiles that it uses before it loads them."""
        exposed: set[Var] = set()
        current: dict[Var, TmaLoad] = {}
        replaced: set[Var] = set()  # tiles whose contents a loop or a branch in this block may have loaded
        for statement in statements_of(body):
            call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
            if call is not None and self._can_load(call):
                self._add_copy(statement, call, owner, current)
                replaced.discard(call.dst.source)
                continue
            before = self._loads_so_far()
            for tile in self._uses(statement):
                if tile in replaced:
                    self._refuse(tile, "it is used after a loop or a branch that loads it")
                if tile in current:
                    current[tile].users.append(statement)
                else:
                    exposed.add(tile)
                if tile in current and not current[tile].is_whole:
                    self._refuse(tile, PARTIAL)
            replaced |= self._loaded_since(before)
        for tile, tma_load in current.items():
            if not tma_load.is_whole:
                self._refuse(tile, PARTIAL)
        for tile in exposed & set(self.loads):
            if owner is None or tile in current:
                self._refuse(tile, "it is used before it is loaded")
        return exposed

    def _add_copy(self, node: Evaluate, call: TileCall, owner: Any, current: dict[Var, TmaLoad]) -> None:
        """Records a copy: the next rows of a load that is not complete yet, or the first copy of a new load."""
        tile, self.copies = call.dst.source, self.copies + 1
        first, open_load = _constant(call.dst.region[0].min), current.get(tile)
        if open_load is not None and not open_load.is_whole:
            if first != open_load.rows or open_load.users:
                self._refuse(tile, PARTIAL)
            open_load.copies.append((self.copies, node))
            open_load.calls.append(call)
            return
        if first != 0:
            self._refuse(tile, PARTIAL)
        current[tile] = TmaLoad([(self.copies, node)], [call], owner)
        self.loads.setdefault(tile, []).append(current[tile])

    def _uses(self, statement: Stmt) -> set[Var]:
        """The shared tiles that a statement uses without loading them first."""
        inner: list[Stmt] = []
        if isinstance(statement, For) and statement.kind == ForKind.SERIAL:
            inner = [statement.body]
        elif isinstance(statement, IfThenElse):
            inner = [s for s in (statement.then_case, statement.else_case) if s is not None]
        elif isinstance(statement, AttrStmt):
            inner = [statement.body]
        if not inner:
            used = {v for v in variables(statement) if v in self.allocated and is_shared(v)}
            written = writes_of(statement)
            for tile in used:
                if self.memory.are_of(written, tile):
                    self._refuse(tile, "threads also write it")
            return used if not isinstance(statement, AllocBuffer) else set()
        before = self._loads_so_far()
        exposed = set().union(*(self.block(part, statement) for part in inner))
        for tile in exposed & self._loaded_since(before):
            if isinstance(statement, For):
                self._refuse(tile, "an iteration of a loop uses what an earlier iteration loaded")
            elif isinstance(statement, IfThenElse):
                self._refuse(tile, "one branch loads it and the other uses what is loaded in front of them")
        return exposed

    def _loads_so_far(self) -> dict[Var, int]:
        return {tile: len(loads) for tile, loads in self.loads.items()}

    def _loaded_since(self, before: Mapping[Var, int]) -> set[Var]:
        return {tile for tile, loads in self.loads.items() if len(loads) > before.get(tile, 0)}

    def _can_load(self, call: TileCall) -> bool:
        if call.op.name != "copy" or not is_global(call.src.source) or not is_shared(call.dst.source):
            return False
        tile = call.dst.source
        if tile in self.refused:
            return False
        reason = self._reason_against(call)
        if reason is not None:
            self._refuse(tile, reason)
        return reason is None

    def _reason_against(self, call: TileCall) -> str | None:
        tile = call.dst.source
        if call.hints.get(CallAttr.DISABLE_TMA):
            return "disable_tma=True"
        if tile not in self.allocated or tile in self.views:
            return "it has views"
        if not is_whole(call.dst) and not _is_aligned_rows(call.dst):
            return PARTIAL
        if dtype_of(tile) != dtype_of(call.src.source):
            return "its element type differs from the tensor's"
        if call.src.source not in self.tensors:
            return f"{call.src.source.name} is a view"
        if call.src.source in self.memory.written:
            return f"the kernel writes {call.src.source.name}"
        indexed_by = [load.source for r in call.src.region for load in collect(r.min, TensorLoad, TensorRegion)]
        if not all(map(is_global, indexed_by)):
            return "the position that it is loaded from is computed by threads"
        changed = [source for source in indexed_by if source in self.memory.written]
        if changed:
            return f"the position that it is loaded from is read from {changed[0].name}, which the kernel writes"
        tiling = tiling_of_load(call, self.divisors)
        return tiling if isinstance(tiling, str) else None

    def _refuse(self, tile: Var, reason: str) -> None:
        self.refused.setdefault(tile, reason)
