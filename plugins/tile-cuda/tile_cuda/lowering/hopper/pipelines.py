"""Which tiles warps of their own can fill, and between which statements others use them.

A *fill* is a copy of a part of a tensor to a whole shared tile by a tensor map, or several to rows that follow one
another (pages of a cache). Its users are the statements after it in the same block of code, up to the next fill of the
tile. A *channel* is tiles that are filled and used together: a ring of slots, with one barrier of each slot for "full"
and one for "empty".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tile_cuda.lowering.hopper.column_blocks import PATTERN, column_blocks_of
from tile_cuda.lowering.hopper.tensor_maps import Tiling, tiling_of_part
from tilecore.dtypes import dtype as DType
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant, dtype_of, statements_of
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    BufferStore,
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
from tilecore.lowering.simt.pipeline_loops import STAGES, writes

PART = "a part of it is filled"
SLOT = 128  # bytes: where a tensor map may put a tile


@dataclass(eq=False)
class TmaLoad:
    """copies: with their place among all copies of the kernel. owner: the statement whose block of code they are in,
    None for the kernel's own. users: in order."""

    copies: list[tuple[int, Evaluate]]
    calls: list[TileCall]
    owner: Any
    users: list[Stmt] = field(default_factory=list)

    @property
    def tile(self) -> Var:
        return self.calls[0].dst.source

    @property
    def nodes(self) -> list[Evaluate]:
        return [node for _, node in self.copies]

    @property
    def stages(self) -> int:
        return int(self.owner.annotations.get(STAGES, 0)) if isinstance(self.owner, For) else 0

    @property
    def rows(self) -> int:
        """How many rows of the tile are filled."""
        return sum(int(constant(call.dst.region[0].extent) or 0) for call in self.calls)

    @property
    def is_whole(self) -> bool:
        return self.rows == constant(self.tile.shape[0])


@dataclass(eq=False)
class Pipeline:
    """Tiles that are filled and used together. fills: for each time that they are, the fill of each tile."""

    tiles: list[Var]
    fills: list[list[TmaLoad]]

    @property
    def slots(self) -> int:
        return max(1, *(fill.stages for fill in self.all_loads))

    @property
    def all_loads(self) -> list[TmaLoad]:
        return [fill for together in self.fills for fill in together]

    @property
    def bytes(self) -> int:
        """Of one slot of all tiles."""
        return sum(map(bytes_of, self.tiles))

    @property
    def name(self) -> str:
        return "_".join(str(tile.name) for tile in self.tiles)


def bytes_of(tile: Var) -> int:
    return DType(dtype_of(tile)).bytes * prod(int(constant(size) or 0) for size in tile.shape)


def find_pipelines(body: Stmt, tensors: set[Var], divisors: Mapping[Var, int]) -> tuple[list[Pipeline], dict[str, str]]:
    """The channels of a kernel's code in the order of their first fills; and of further tiles that global memory is
    copied to, by name, why they are none. tensors: that a launch can make maps of."""
    scan = _Scan(body, tensors, divisors)
    scan.block(body, None)
    tiles = {tile: fills for tile, fills in scan.fills.items() if tile not in scan.refused}
    for tile, fills in tiles.items():
        if any(not fill.users for fill in fills):
            scan.refused[tile] = "nothing uses it in the block of code that fills it"
    for tile, fills in tiles.items():
        if any(fill.stages > 1 for fill in fills) and bytes_of(tile) % SLOT:
            scan.refused.setdefault(tile, f"its slots of {bytes_of(tile)} bytes would not lie at multiples of {SLOT}")
    groups: dict[Any, Pipeline] = {}
    for tile, fills in tiles.items():
        if tile in scan.refused:
            continue
        key = tuple((fill.owner, fill.users[0], fill.users[-1]) for fill in fills)
        if key in groups:
            groups[key].tiles.append(tile)
            for together, fill in zip(groups[key].fills, fills, strict=True):
                together.append(fill)
        else:
            groups[key] = Pipeline([tile], [[fill] for fill in fills])
    return list(groups.values()), {str(tile.name): reason for tile, reason in scan.refused.items()}


def tiling_of_load(call: TileCall, divisors: Mapping[Var, int], slots: int = 0) -> Tiling | str:
    """The map that fills the tile of a copy, or rows of it. slots: axes of a ring in front of those of its tiles."""
    shape = tuple(int(constant(r.extent) or 0) for r in list(call.dst.region)[slots:])
    return tiling_of_part(call.src, shape, column_blocks_of(call.dst.source), divisors)


def _known(value: Any) -> Any:
    return constant(Analyzer().simplify(value))


def _is_rows(part: TensorRegion) -> bool:
    """Rows of a tile that begin and end where the pattern of its memory does."""
    (rows, *rest), (_, *sizes) = part.region, part.source.shape
    bounds = _known(rows.min), constant(rows.extent)
    known = all(bound is not None and int(bound) % PATTERN == 0 for bound in bounds)
    return known and len(sizes) == 1 and constant(rest[0].extent) == constant(sizes[0])


class _Scan:
    def __init__(self, body: Stmt, tensors: set[Var], divisors: Mapping[Var, int]) -> None:
        self.tensors, self.divisors = tensors, divisors
        self.fills: dict[Var, list[TmaLoad]] = {}
        self.copies = 0
        self.refused: dict[Var, str] = {}
        self.written = {store.buffer for store in collect(body, BufferStore)}
        for node in collect(body, Evaluate):
            call = as_tile_call(node)
            if call is not None:
                self.written |= {call.args[name].source for name in call.op.writes}
        self.allocated = {alloc.buffer for alloc in collect(body, AllocBuffer)}
        self.views = {decl.data.args[0] for decl in collect(body, DeclBuffer)}

    def block(self, body: Stmt, owner: Any) -> set[Var]:
        """Notes the fills in a block of code; the tiles that it uses before it fills them."""
        exposed: set[Var] = set()
        current: dict[Var, TmaLoad] = {}
        for statement in statements_of(body):
            call = as_tile_call(statement) if isinstance(statement, Evaluate) else None
            if call is not None and self._is_fill(call):
                self._fill(statement, call, owner, current)
                continue
            for tile in self._used(statement):
                if tile in current:
                    current[tile].users.append(statement)
                else:
                    exposed.add(tile)
                if tile in current and not current[tile].is_whole:
                    self._refuse(tile, PART)
        for tile, fill in current.items():
            if not fill.is_whole:
                self._refuse(tile, PART)
        for tile in exposed & set(self.fills):
            if owner is None or tile in current:
                self._refuse(tile, "it is used before it is filled")
        return exposed

    def _fill(self, node: Evaluate, call: TileCall, owner: Any, current: dict[Var, TmaLoad]) -> None:
        """Notes a copy: the next rows of a tile that is not whole yet, or the first of another turn."""
        tile, self.copies = call.dst.source, self.copies + 1
        first, open_fill = _known(call.dst.region[0].min), current.get(tile)
        if open_fill is not None and not open_fill.is_whole:
            if first != open_fill.rows or open_fill.users:
                self._refuse(tile, PART)
            open_fill.copies.append((self.copies, node))
            open_fill.calls.append(call)
            return
        if first != 0:
            self._refuse(tile, PART)
        current[tile] = TmaLoad([(self.copies, node)], [call], owner)
        self.fills.setdefault(tile, []).append(current[tile])

    def _used(self, statement: Stmt) -> set[Var]:
        """Shared tiles that a statement uses without having filled them."""
        inner: list[Stmt] = []
        if isinstance(statement, For) and statement.kind == ForKind.SERIAL:
            inner = [statement.body]
        elif isinstance(statement, IfThenElse):
            inner = [s for s in (statement.then_case, statement.else_case) if s is not None]
        elif isinstance(statement, AttrStmt):
            inner = [statement.body]
        if not inner:
            touched = {v for v in variables(statement) if v in self.allocated and is_shared(v)}
            for tile in touched:
                if not isinstance(statement, AllocBuffer) and writes(statement, tile):
                    self._refuse(tile, "threads write it too")
            return touched if not isinstance(statement, AllocBuffer) else set()
        before = {tile: len(fills) for tile, fills in self.fills.items()}
        exposed = set().union(*(self.block(part, statement) for part in inner))
        for tile in exposed:
            if len(self.fills.get(tile, ())) > before.get(tile, 0) and isinstance(statement, For):
                self._refuse(tile, "a step of a loop uses what the step before has filled")
        return exposed

    def _is_fill(self, call: TileCall) -> bool:
        if call.op.name != "copy" or not is_global(call.src.source) or not is_shared(call.dst.source):
            return False
        tile = call.dst.source
        if tile in self.refused:
            return False
        reason = self._fault(call)
        if reason is not None:
            self._refuse(tile, reason)
        return reason is None

    def _fault(self, call: TileCall) -> str | None:
        tile = call.dst.source
        if call.hints.get("disable_tma"):
            return "disable_tma=True"
        if tile not in self.allocated or tile in self.views:
            return "it has views"
        if not is_whole(call.dst) and not _is_rows(call.dst):
            return PART
        if dtype_of(tile) != dtype_of(call.src.source):
            return "its element type is not the tensor's"
        if call.src.source not in self.tensors:
            return f"{call.src.source.name} is a view"
        if call.src.source in self.written:
            return f"the kernel writes {call.src.source.name}"
        if any(
            not is_global(load.source) for r in call.src.region for load in collect(r.min, TensorLoad, TensorRegion)
        ):
            return "where it comes from is known to threads only"
        found = tiling_of_load(call, self.divisors)
        return found if isinstance(found, str) else None

    def _refuse(self, tile: Var, reason: str) -> None:
        self.refused.setdefault(tile, reason)
