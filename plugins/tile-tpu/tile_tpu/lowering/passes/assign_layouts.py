"""Assigns each tile a layout in local memory.

The rows of tiles of rank 2 and more are in lanes. The layout of a vector follows the tiles that it is used with: a
vector with an element for each row of a tile has one element in each lane, and a vector with an element for each column
is replicated in every lane. Vectors that are used with no tile are partitioned over the lanes in equal parts. Buffers
with views of another shape or element type are in one lane.
"""

from __future__ import annotations

from typing import Any

from tile_tpu.chips import Chip, chip_of
from tile_tpu.ir.layouts import FLAT, LANE, PARTITIONED, ROW, TILE, TileLayout, flat_layout, tile_layout, vector_layout
from tile_tpu.ir.views import stored
from tile_tpu.lowering.commands.emitter import scratch
from tile_tpu.lowering.nests.parallel_nests import accesses_in, is_parallel, nest_of
from tile_tpu.lowering.state import TileLayouts
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import FACTS
from tilecore.errors import UnsupportedError
from tilecore.ir.affine import coefficient
from tilecore.ir.build import constant, dtype_of, seq
from tilecore.ir.intrinsics import ADDRESS
from tilecore.ir.nodes import (
    AllocBuffer,
    Call,
    Evaluate,
    For,
    PrimFunc,
    TensorRegion,
    Var,
    structural_map,
    structural_walk,
)
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect


def assign_layouts(func: PrimFunc, env: PassEnv) -> PrimFunc:
    chip = chip_of(env.target)
    tiles = [a.buffer for a in collect(func.body, AllocBuffer) if is_tile(a.buffer)]
    flat = _pointed_at(func, chip)
    kinds = _vector_kinds(func, [b for b in tiles if len(b.shape) == 1 and b not in flat], chip)
    layouts: dict[Var, tuple[Var, TileLayout]] = {}
    for buffer in tiles:
        layout = _layout(buffer, FLAT if buffer in flat else kinds.get(buffer, TILE), chip)
        layouts[buffer] = (scratch(str(buffer.name), layout.elements, stored_type(buffer)), layout)
        env.note("layouts", {"buffer": str(buffer.name), "layout": _description(layout)})
    env.publish(TileLayouts(layouts))

    def alloc(node: AllocBuffer) -> Any:
        """Allocates the local buffer beside the tile; address_tiles removes the allocation of the tile."""
        assigned = layouts.get(node.buffer)
        return node if assigned is None else seq([AllocBuffer(assigned[0], span=node.span), node])

    return func.with_body(structural_map(func.body, (AllocBuffer, alloc)))


def is_tile(buffer: Var) -> bool:
    scope = str(buffer.scope())
    return scope.startswith("shared") or scope == "local.fragment"


def stored_type(buffer: Var) -> str:
    """The type of the buffer's elements in local memory."""
    return stored(dtype_of(buffer))


def layout_of(buffer: Var, chip: Chip, flat: bool) -> TileLayout:
    """The layout of a buffer that is used with no others: its rows in lanes, or the whole buffer in lane 0 (flat)."""
    return _layout(buffer, FLAT if flat else TILE, chip)


def _layout(buffer: Var, kind: str, chip: Chip) -> TileLayout:
    shape = [constant(size) for size in buffer.shape]
    if any(size is None for size in shape):
        raise UnsupportedError(
            f"{buffer.name} has a size that is not a compile-time constant",
            found=str(list(buffer.shape)),
            expected="constant sizes: addresses in local memory are assigned at compile time",
        )
    sizes = [int(size) for size in shape if size is not None]
    bits = FACTS[stored_type(buffer)].bits
    eu = chip.eu_count(bits)
    if kind == FLAT or not sizes:
        return flat_layout(sizes, chip.lanes, eu)
    if len(sizes) == 1:
        return vector_layout(kind if kind != TILE else LANE, sizes[0], chip.lanes, eu)
    return tile_layout(sizes, chip.lanes, eu)


def _pointed_at(func: PrimFunc, chip: Chip) -> set[Var]:
    """The buffers that have views, or whose address is passed to a function."""
    pointed_at = set(memory_roots(func.body))

    def call(node: Call) -> None:
        if getattr(node.op, "name", "") == ADDRESS:
            pointed_at.add(node.args[0].source)

    structural_walk(func.body, (Call, call))
    return pointed_at


def _description(layout: TileLayout) -> str:
    """The layout in words, for explain()."""
    texts = {
        TILE: "rows in lanes",
        LANE: "an element a lane",
        ROW: "a copy in every lane",
        PARTITIONED: f"{layout.chunk} elements a lane",
        FLAT: "in lane 0",
    }
    return texts[layout.kind]


def _vector_kinds(func: PrimFunc, vectors: list[Var], chip: Chip) -> dict[Var, str]:
    """The kind of layout of each vector. Vectors that are used together vote: each use with a tile asks for a kind, and
    the most frequent one is chosen."""
    groups = {v: v for v in vectors}
    requested: dict[Var, list[str]] = {v: [] for v in vectors}
    scalar: set[Var] = set()
    inside: set[For] = set()  # inner loops of nests, whose accesses are counted already

    def root(vector: Var) -> Var:
        while groups[vector] is not vector:
            vector = groups[vector]
        return vector

    def nest(node: For) -> None:
        if not is_parallel(node):
            return
        nest_loops = nest_of(node)
        inside.update(nest_loops.loops[1:])
        roles = _roles(nest_loops)
        together: Var | None = None
        for buffer, indices in accesses_in(nest_loops.body):
            if buffer not in groups:
                continue
            var = next((v for v in nest_loops.variables if coefficient(indices[0], v)), None)
            if var is None:
                continue
            if var in roles:
                requested[buffer] += [] if node in inside else [roles[var]]
            elif len(nest_loops.variables) == 1:
                if coefficient(indices[0], var) != 1 or constant(node.extent) != constant(buffer.shape[0]):
                    scalar.add(buffer)
                together = buffer if together is None else together
                groups[root(buffer)] = root(together)

    def tile_op(node: Evaluate) -> None:
        call = as_tile_call(node)
        if call is None:
            return
        for buffer, word in _of_operation(call):
            if buffer in requested:
                requested[buffer].append(word)

    structural_walk(func.body, [(For, nest), (Evaluate, tile_op)], order="pre")
    kind_of = {}
    for vector in vectors:
        members = [v for v in vectors if root(v) is root(vector)]
        kinds = [w for m in members for w in requested[m]]
        plain = not kinds and not any(m in scalar for m in members) and int(vector.shape[0]) > chip.lanes
        kind_of[vector] = max(sorted(set(kinds)), key=kinds.count) if kinds else PARTITIONED if plain else LANE
    return kind_of


def _roles(nest: Any) -> dict[Var, str]:
    """The loops of a nest that run over rows of tiles (LANE) and over columns (ROW)."""
    roles: dict[Var, str] = {}
    for buffer, indices in accesses_in(nest.body):
        if not is_tile(buffer) or len(indices) < 2:
            continue
        for var in nest.variables:
            if coefficient(indices[-2], var):
                roles[var] = LANE
            elif coefficient(indices[-1], var):
                roles.setdefault(var, ROW)
    return roles


def _of_operation(call: TileCall) -> list[tuple[Var, str]]:
    if call.op.name == "reduce":
        source, target = call.src, call.dst
        axes = [a for a, r in enumerate(source.region)]
        if len(axes) < 2:
            return [(source.source, LANE), (target.source, LANE)]
        return [(target.source, LANE if call.dim == len(axes) - 1 else ROW)]
    if call.op.name == "copy":
        return _of_copy(call.src, call.dst)
    return []


def _of_copy(source: TensorRegion, target: TensorRegion) -> list[tuple[Var, str]]:
    """The kinds of layout of vectors that are copied from or to a row or column of a tile."""
    kinds_of = []
    for vector, tile in ((source, target), (target, source)):
        extents = [constant(r.extent) for r in tile.region]
        if len(vector.region) != 1 or len(extents) < 2 or not is_tile(tile.source):
            continue
        if extents[-2] == 1:
            kinds_of.append((vector.source, ROW))
        elif extents[-1] == 1:
            kinds_of.append((vector.source, LANE))
    return kinds_of


ASSIGN_LAYOUTS = Pass("assign_layouts", assign_layouts, leaves=(TileLayouts,))
