"""What is left of loads and stores of tiles becomes elements of local memory, for the control core.

``tpu.element(buffer, lane, offset)`` and ``tpu.set_element(buffer, lane, offset, value)``: of the LOCAL buffer that
stands for the tile, at the place that its layout gives. A store to what every lane has a copy of is done in every lane.
"""

from __future__ import annotations

from typing import Any

from tile_tpu.chips import chip_of
from tile_tpu.ir.instructions import ELEMENT, SET_ELEMENT
from tile_tpu.ir.layouts import TileLayout
from tile_tpu.ir.views import LOCAL
from tile_tpu.lowering.place_layouts import is_tile, layout_of, stored_type
from tile_tpu.lowering.tensorize import LAYOUTS
from tilecore.ir.build import cast, const, dtype_of, loop, nothing, seq
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
from tilecore.ir.views import memory_roots
from tilecore.lowering.passes import Pass, PassEnv


def address_tiles(func: PrimFunc, env: PassEnv) -> PrimFunc:
    work = _Addresses(func, env)
    rules = [
        (AllocBuffer, work.alloc), (DeclBuffer, work.alias), (TensorLoad, work.load), (BufferStore, work.store),
    ]  # fmt: skip
    return func.with_body(structural_mutate(func.body, rules))


class _Addresses:
    """places: for a buffer, the LOCAL buffer that stands for it and its layout."""

    def __init__(self, func: PrimFunc, env: PassEnv) -> None:
        self.chip = chip_of(env.target)
        self.places: dict[Var, tuple[Var, TileLayout]] = dict(env.facts.get(LAYOUTS, {}))
        self.declared = set(self.places)  # their local buffers stand beside them
        self.roots = memory_roots(func.body)

    def place(self, buffer: Var) -> tuple[Var, TileLayout] | None:
        """None: it is no tile."""
        if buffer not in self.places:
            root = self.roots.get(buffer, buffer)
            if not is_tile(root):
                return None
            flat = buffer in self.roots or buffer in self.roots.values()
            self.places[buffer] = self._placed(buffer, flat)
        return self.places[buffer]

    def _placed(self, buffer: Var, flat: bool) -> tuple[Var, TileLayout]:
        """Of a buffer that a pass has made since layouts were placed, or another view of one."""
        layout = layout_of(buffer, self.chip, flat)
        made = tirx.decl_buffer([layout.elements], stored_type(buffer), str(buffer.name), scope=LOCAL, layout=None)
        return made, layout

    def alloc(self, node: AllocBuffer, mutator: Any) -> Any:
        if node.buffer in self.declared:
            return nothing()
        found = self.place(node.buffer)
        return node if found is None else AllocBuffer(found[0], span=node.span)

    def alias(self, node: DeclBuffer, mutator: Any) -> Any:
        found = self.place(node.buffer)
        if found is None:
            return mutator.default_mutate(node)
        source = self.place(node.data.args[0])
        assert source is not None
        return DeclBuffer(found[0], data=tirx.buffer_data(source[0]), span=node.span)

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        found = self.place(node.source)
        if found is None:
            return mutator.default_mutate(node)
        lane, offset = found[1].place([mutator.mutate(i) for i in node.indices])
        made = Call(ELEMENT, [found[0], _index(lane), _index(offset)], ret_ty=dtype_of(found[0]), span=node.span)
        return cast(made, dtype_of(node.source))

    def store(self, node: BufferStore, mutator: Any) -> Any:
        found = self.place(node.buffer)
        if found is None:
            return mutator.default_mutate(node)
        buffer, layout = found
        lane, offset = layout.place([mutator.mutate(i) for i in node.indices])
        value = cast(mutator.mutate(node.value), dtype_of(buffer))

        def set_element(where: Any, what: Any) -> Any:
            args = [buffer, _index(where), _index(offset), what]
            return Evaluate(Call(SET_ELEMENT, args, ret_ty="void"), span=node.span)

        if not layout.is_replicated:
            return set_element(lane, value)
        once = Var("value", dtype_of(buffer))
        copies = loop(const(self.chip.lanes, "int32"), lambda each: set_element(each, once), name="lane")
        return seq([Bind(once, value, span=node.span), copies])


def _index(value: Any) -> Any:
    return const(value, "int32") if isinstance(value, int) else value


ADDRESS_TILES = Pass("address_tiles", address_tiles)
