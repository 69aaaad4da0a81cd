"""Lets products read operands from device memory, where a tile in threadgroup memory would serve them alone.

From apple9 on (M3), device and threadgroup memory share one cache, and Apple advises not to stage what is read from it
("Explore GPU advancements in M3 and A17 Pro"); metal-flash-attention multiplies so. On earlier chips the first cache
has 8 KiB, and tiles are staged. Simdgroups then read what each needs, without a barrier in the loop.

A copy is dropped if it fills the whole tile from global memory of the same type, only products in the same statements
behind it read the tile, and nothing in between may change what it copies. The tile must lie in the tensor, with rows
that are aligned for the lanes' loads: else staging takes fewer guards and loads.
"""

from __future__ import annotations

from typing import Any

from tile_metal.options import DISABLE_DIRECT_OPERANDS
from tile_metal.target import family_of
from tilecore.contract.passes import PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, nothing, seq
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    structural_map,
    structural_mutate,
)
from tilecore.ir.ranges import binding_loops
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_global, is_shared
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import is_axis

ALIGNED = 4  # elements that a lane loads at once


def read_directly(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if family_of(env.target).number < 9 or DISABLE_DIRECT_OPERANDS.value_in(env.config):
        return func
    direct = _Direct(func.body)
    visits = [(AttrStmt, direct.axis), (For, binding_loops(direct.analyzer)), (SeqStmt, direct.sequence)]
    body = structural_mutate(func.body, visits)
    if not direct.tiles:
        return func
    names = ", ".join(str(tile.name) for tile in direct.tiles)
    env.note("pipelines", {"tiles": names, "stages": 1, "filled": "not at all: products read device memory"})

    def allocation(node: AllocBuffer) -> Stmt:
        return nothing() if node.buffer in direct.tiles else node

    return func.with_body(structural_map(body, (AllocBuffer, allocation)))


class _Direct:
    """The copies of one function that are not needed. tiles: which they filled."""

    def __init__(self, body: Stmt) -> None:
        self.memory = Memory(body)
        self.uses = _uses_of(body)
        self.tiles: list[Var] = []
        self.analyzer = Analyzer()

    def axis(self, node: AttrStmt, mutator: Any) -> Stmt:
        if is_axis(node):
            block = node.node.var
            self.analyzer.bind(block, Range.from_min_extent(const(0, dtype_of(block)), node.value))
        return mutator.default_mutate(node)

    def sequence(self, node: SeqStmt, mutator: Any) -> Stmt:
        rewritten = mutator.default_mutate(node)
        parts = list(rewritten.seq) if isinstance(rewritten, SeqStmt) else [rewritten]
        for index, part in enumerate(parts):
            call = as_tile_call(part) if isinstance(part, Evaluate) else None
            if call is not None and call.op.name == "copy" and self._is_needless(call, parts[index + 1 :]):
                self.tiles.append(call.dst.source)
                parts[index] = nothing()
                parts[index + 1 :] = [_reading(later, call) for later in parts[index + 1 :]]
        return seq(parts)

    def _is_needless(self, call: TileCall, later: list[Stmt]) -> bool:
        source, tile = call.src, call.dst.source
        if not (is_global(source.source) and is_shared(tile) and is_whole(call.dst)) or call.hints:
            return False
        products = [p for p in later if _reads_as_operand(p, tile)]
        if not products or self.uses.get(tile, 0) != 1 + sum(_operands(p, tile) for p in products):
            return False
        between = later[: max(later.index(p) for p in products)]
        changed = any(self.memory.may_change(writes_of(part), source.source) for part in between)
        return not changed and _is_matrix(source, tile) and self._is_in_bounds(source)

    def _is_in_bounds(self, region: TensorRegion) -> bool:
        """Else each load of the loop would be guarded, and a copy guards whole pieces."""
        axes = zip(region.region, region.source.shape, strict=True)
        return all(
            not collect(r.min, TensorLoad)
            and self.analyzer.can_prove(r.min >= 0)
            and self.analyzer.can_prove(r.min + r.extent <= size)
            for r, size in axes
        )


def _uses_of(body: Stmt) -> dict[Var, int]:
    """How often each buffer is named: as an operand of a tile operation, in an access or for a view."""
    counts: dict[Var, int] = {}
    for node in collect(body, TensorLoad, TensorRegion, BufferStore, DeclBuffer):
        buffer = node.source if isinstance(node, (TensorLoad, TensorRegion)) else _named(node)
        counts[buffer] = counts.get(buffer, 0) + 1
    return counts


def _named(node: BufferStore | DeclBuffer) -> Var:
    """The buffer that is written, or whose memory gets another name."""
    return node.buffer if isinstance(node, BufferStore) else node.data.args[0]


def _product(part: Stmt) -> TileCall | None:
    call = as_tile_call(part) if isinstance(part, Evaluate) else None
    return call if call is not None and call.op.name == "gemm" else None


def _operands(part: Stmt, tile: Var) -> int:
    """How many operands of a product are the tile."""
    call = _product(part)
    return sum(region.source.same_as(tile) for region in (call.a, call.b)) if call is not None else 0


def _reads_as_operand(part: Stmt, tile: Var) -> bool:
    """Is the statement a product whose operands are the whole tile, wherever they are it?"""
    call = _product(part)
    if call is None or call.c.source.same_as(tile):
        return False
    regions = [region for region in (call.a, call.b) if region.source.same_as(tile)]
    return bool(regions) and all(is_whole(region) for region in regions)


def _is_matrix(source: TensorRegion, tile: Var) -> bool:
    """Is the copied region a matrix of the tile's size and type, with rows that are aligned for the lanes' loads?"""
    extents = [constant(r.extent) for r in source.region]
    sizes = [constant(size) for size in tile.shape]
    if len(sizes) != 2 or extents[-2:] != sizes or any(extent != 1 for extent in extents[:-2]):
        return False
    row, first = constant(source.source.shape[-1]), source.region[-1].min
    aligned = Analyzer().simplify(first % const(ALIGNED, dtype_of(first)))
    return dtype_of(source.source) == dtype_of(tile) and row is not None and row % ALIGNED == constant(aligned) == 0


def _reading(part: Stmt, copy: TileCall) -> Stmt:
    """The statement, with what ``copy`` copied in place of its tile."""
    call = _product(part)
    if call is None or not _operands(part, copy.dst.source):
        return part
    operands = {
        name: BufferRegion(copy.src.source, list(copy.src.region))
        if name in ("a", "b") and value.source.same_as(copy.dst.source)
        else value
        for name, value in call.args.items()
    }
    return call.rebuilt(list(operands.values()))
