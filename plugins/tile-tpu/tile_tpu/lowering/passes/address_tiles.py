"""Lowers the remaining loads and stores of tiles to accesses of local memory by the control core.

They become ``tpu.element(buffer, lane, offset)`` and ``tpu.set_element(buffer, lane, offset, value)`` on the local
buffer of the tile; the tile's layout gives the lane and the offset. A store to a replicated vector writes every lane.
An atomic operation on one changes the copy in lane 0, which is then copied to the other lanes.
"""

from __future__ import annotations

from typing import Any

from tile_tpu.chips import chip_of
from tile_tpu.ir.instructions import ELEMENT, SET_ELEMENT
from tile_tpu.ir.layouts import TileLayout
from tile_tpu.ir.views import LOCAL
from tile_tpu.lowering.passes.assign_layouts import is_tile, layout_of, stored_type
from tile_tpu.lowering.state import TileLayouts
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import cast, const, dtype_of, loop, nothing, op_name, seq
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    PrimFunc,
    TensorLoad,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.thread_calls import ATOMIC_ELEMENT
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect


def address_tiles(func: PrimFunc, env: PassEnv) -> PrimFunc:
    work = _Addresses(func, env)
    rules = [
        (AllocBuffer, work.alloc), (DeclBuffer, work.alias), (TensorLoad, work.load), (BufferStore, work.store),
        (Bind, work.statement), (Evaluate, work.statement),
    ]  # fmt: skip
    return func.with_body(structural_mutate(func.body, rules))


class _Addresses:
    """local_tiles: for each tile its local buffer and its layout."""

    def __init__(self, func: PrimFunc, env: PassEnv) -> None:
        self.chip = chip_of(env.target)
        assigned = env.find_state(TileLayouts)
        self.local_tiles: dict[Var, tuple[Var, TileLayout]] = {} if assigned is None else dict(assigned.by_tile)
        self.declared = set(self.local_tiles)  # assign_layouts has allocated their local buffers
        self.roots = memory_roots(func.body)

    def local_tile(self, buffer: Var) -> tuple[Var, TileLayout] | None:
        """The local buffer of a tile, and its layout; None where ``buffer`` is no tile."""
        if buffer not in self.local_tiles:
            root = self.roots.get(buffer, buffer)
            if not is_tile(root):
                return None
            flat = buffer in self.roots or buffer in self.roots.values()
            self.local_tiles[buffer] = self._new_local_tile(buffer, flat)
        return self.local_tiles[buffer]

    def _new_local_tile(self, buffer: Var, flat: bool) -> tuple[Var, TileLayout]:
        """The local buffer of a tile that a pass has added after assign_layouts, or of a view of one."""
        layout = layout_of(buffer, self.chip, flat)
        local_buffer = tirx.decl_buffer(
            [layout.elements], stored_type(buffer), str(buffer.name), scope=LOCAL, layout=None
        )
        return local_buffer, layout

    def alloc(self, node: AllocBuffer, mutator: Any) -> Any:
        if node.buffer in self.declared:
            return nothing()
        local_tile = self.local_tile(node.buffer)
        return node if local_tile is None else AllocBuffer(local_tile[0], span=node.span)

    def alias(self, node: DeclBuffer, mutator: Any) -> Any:
        local_tile = self.local_tile(node.buffer)
        if local_tile is None:
            return mutator.default_mutate(node)
        source = self.local_tile(node.data.args[0])
        assert source is not None
        return DeclBuffer(local_tile[0], data=tirx.buffer_data(source[0]), span=node.span)

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        local_tile = self.local_tile(node.source)
        if local_tile is None:
            return mutator.default_mutate(node)
        lane, offset = local_tile[1].location_of([mutator.mutate(i) for i in node.indices])
        element = Call(
            ELEMENT, [local_tile[0], _index(lane), _index(offset)], ret_ty=dtype_of(local_tile[0]), span=node.span
        )
        return cast(element, dtype_of(node.source))

    def store(self, node: BufferStore, mutator: Any) -> Any:
        local_tile = self.local_tile(node.buffer)
        if local_tile is None:
            return self.statement(node, mutator)
        buffer, layout = local_tile
        lane, offset = layout.location_of([mutator.mutate(i) for i in node.indices])
        value = cast(mutator.mutate(node.value), dtype_of(buffer))
        after = self.after_atomics(node.value, mutator)
        if layout.is_replicated:
            return seq([self.in_every_lane(buffer, offset, value, node.span), *after])
        return seq([_set_element(buffer, lane, offset, value, node.span), *after])

    def statement(self, node: Any, mutator: Any) -> Any:
        mutated = mutator.default_mutate(node)
        after = self.after_atomics(node, mutator)
        return seq([mutated, *after]) if after else mutated

    def in_every_lane(self, buffer: Var, offset: Any, value: Any, span: Any) -> Any:
        once = Var("value", dtype_of(buffer))
        lanes = const(self.chip.lanes, "int32")
        bound = [Bind(once, value, span=span)]
        if collect(offset, Call, TensorLoad):  # the store to the first lane may change what the index reads
            index = Var("offset", dtype_of(offset))
            bound.append(Bind(index, offset, span=span))
            offset = index
        copies = loop(lanes, lambda lane: _set_element(buffer, lane, offset, once, span), name="lane")
        return seq([*bound, copies])

    def after_atomics(self, node: Any, mutator: Any) -> list[Any]:
        """Statements that copy the results of a statement's atomics on replicated vectors from lane 0 to all lanes."""
        copies = []
        for call in collect(node, Call):
            local_tile = self.local_tile(call.args[0].source) if op_name(call) == ATOMIC_ELEMENT else None
            if local_tile is not None and local_tile[1].is_replicated:
                buffer, layout = local_tile
                lane, offset = layout.location_of([mutator.mutate(i) for i in call.args[0].indices])
                value = Call(ELEMENT, [buffer, _index(lane), _index(offset)], ret_ty=dtype_of(buffer))
                copies.append(self.in_every_lane(buffer, offset, value, call.span))
        return copies


def _set_element(buffer: Var, lane: Any, offset: Any, value: Any, span: Any) -> Any:
    return Evaluate(Call(SET_ELEMENT, [buffer, _index(lane), _index(offset), value], ret_ty="void"), span=span)


def _index(value: Any) -> Any:
    return const(value, "int32") if isinstance(value, int) else value


ADDRESS_TILES = Pass("address_tiles", address_tiles, needs=(TileLayouts,))
