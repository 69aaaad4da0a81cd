"""Decides how each tile lies in local memory.

Tiles of rank 2 and more have their rows in lanes. A vector gets the layout in which its elements meet the tiles that it
is used with: one for each row of a tile lies in lanes, one for each column in every lane. Vectors that meet no tile are
spread over the lanes in equal parts. What is looked at as another shape or element type lies in one lane.
"""

from __future__ import annotations

from typing import Any

from tile_tpu.chips import Chip, chip_of
from tile_tpu.ir.layouts import FLAT, LANE, ROW, SPREAD, TILE, TileLayout, flat_layout, tile_layout, vector_layout
from tile_tpu.ir.views import stored
from tile_tpu.lowering.emitter import scratch
from tile_tpu.lowering.nests import is_parallel, nest_of, touched
from tile_tpu.lowering.tensorize import LAYOUTS
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


def place_layouts(func: PrimFunc, env: PassEnv) -> PrimFunc:
    chip = chip_of(env.target)
    tiles = [a.buffer for a in collect(func.body, AllocBuffer) if is_tile(a.buffer)]
    flat = _pointed_at(func, chip)
    words = _votes(func, [b for b in tiles if len(b.shape) == 1 and b not in flat], chip)
    made: dict[Var, tuple[Var, TileLayout]] = {}
    for buffer in tiles:
        layout = _layout(buffer, FLAT if buffer in flat else words.get(buffer, TILE), chip)
        made[buffer] = (scratch(str(buffer.name), layout.elements, stored_type(buffer)), layout)
        env.note("layouts", {"buffer": str(buffer.name), "layout": _words(layout)})
    env.facts[LAYOUTS] = made

    def alloc(node: AllocBuffer) -> Any:
        """The local buffer stands beside the tile, whose own memory address_tiles takes away."""
        found = made.get(node.buffer)
        return node if found is None else seq([AllocBuffer(found[0], span=node.span), node])

    return func.with_body(structural_map(func.body, (AllocBuffer, alloc)))


def is_tile(buffer: Var) -> bool:
    scope = str(buffer.scope())
    return scope.startswith("shared") or scope == "local.fragment"


def stored_type(buffer: Var) -> str:
    """Element type in memory."""
    return stored(dtype_of(buffer))


def layout_of(buffer: Var, chip: Chip, flat: bool) -> TileLayout:
    """Of a buffer that meets no others: its rows in lanes, or all of it in lane 0."""
    return _layout(buffer, FLAT if flat else TILE, chip)


def _layout(buffer: Var, word: str, chip: Chip) -> TileLayout:
    shape = [constant(size) for size in buffer.shape]
    if any(size is None for size in shape):
        raise UnsupportedError(
            f"{buffer.name} has a size that is not known when compiling",
            found=str(list(buffer.shape)),
            expected="numbers: local memory is planned when compiling",
        )
    sizes = [int(size) for size in shape if size is not None]
    bits = FACTS[stored_type(buffer)].bits
    eu = chip.eu_count(bits)
    if word == FLAT or not sizes:
        return flat_layout(sizes, chip.lanes, eu)
    if len(sizes) == 1:
        return vector_layout(word if word != TILE else LANE, sizes[0], chip.lanes, eu)
    return tile_layout(sizes, chip.lanes, eu)


def _pointed_at(func: PrimFunc, chip: Chip) -> set[Var]:
    """Buffers with views, or whose address a function gets."""
    found = set(memory_roots(func.body))

    def call(node: Call) -> None:
        if getattr(node.op, "name", "") == ADDRESS:
            found.add(node.args[0].source)

    structural_walk(func.body, (Call, call))
    return found


def _words(layout: TileLayout) -> str:
    """For explain()."""
    texts = {
        TILE: "rows in lanes",
        LANE: "an element a lane",
        ROW: "a copy in every lane",
        SPREAD: f"{layout.chunk} elements a lane",
        FLAT: "in lane 0",
    }
    return texts[layout.kind]


def _votes(func: PrimFunc, vectors: list[Var], chip: Chip) -> dict[Var, str]:
    """The layout of each vector: what the tiles that it meets want of it and of the vectors that it meets."""
    groups = {v: v for v in vectors}
    wanted: dict[Var, list[str]] = {v: [] for v in vectors}
    scalar: set[Var] = set()

    def root(vector: Var) -> Var:
        while groups[vector] is not vector:
            vector = groups[vector]
        return vector

    def nest(node: For) -> None:
        if not is_parallel(node):
            return
        found = nest_of(node)
        roles = _roles(found)
        together: Var | None = None
        for buffer, indices in touched(found.body):
            if buffer not in groups:
                continue
            var = next((v for v in found.variables if coefficient(indices[0], v)), None)
            if var is None:
                continue
            if var in roles:
                wanted[buffer].append(roles[var])
            elif len(found.variables) == 1:
                if coefficient(indices[0], var) != 1 or constant(node.extent) != constant(buffer.shape[0]):
                    scalar.add(buffer)
                together = buffer if together is None else together
                groups[root(buffer)] = root(together)

    def tile_op(node: Evaluate) -> None:
        call = as_tile_call(node)
        if call is None:
            return
        for buffer, word in _of_operation(call):
            if buffer in wanted:
                wanted[buffer].append(word)

    structural_walk(func.body, [(For, nest), (Evaluate, tile_op)], order="pre")
    made = {}
    for vector in vectors:
        members = [v for v in vectors if root(v) is root(vector)]
        words = [w for m in members for w in wanted[m]]
        plain = not words and not any(m in scalar for m in members) and int(vector.shape[0]) > chip.lanes
        made[vector] = max(sorted(set(words)), key=words.count) if words else SPREAD if plain else LANE
    return made


def _roles(nest: Any) -> dict[Var, str]:
    """Which loops of a nest run over rows of tiles (LANE), and which over columns (ROW)."""
    roles: dict[Var, str] = {}
    for buffer, indices in touched(nest.body):
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
    """A vector that is copied from or to a row or column of a tile."""
    made = []
    for one, other in ((source, target), (target, source)):
        extents = [constant(r.extent) for r in other.region]
        if len(one.region) != 1 or len(extents) < 2 or not is_tile(other.source):
            continue
        if extents[-2] == 1:
            made.append((one.source, ROW))
        elif extents[-1] == 1:
            made.append((one.source, LANE))
    return made


PLACE_LAYOUTS = Pass("place_layouts", place_layouts)
