"""Applies the layouts that the chosen implementations of tile operations requested (``BufferLayouts``)."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.state import BufferLayouts, SharedRequests
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    Call,
    For,
    PrimFunc,
    TensorLoad,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.ranges import binding_loops
from tilecore.lowering.loops.lane_ops import RAW_LOAD, raw_load
from tilecore.lowering.loops.prefetch import PREFETCH


def apply_layouts(func: PrimFunc, env: PassEnv) -> PrimFunc:
    layouts: dict[Var, BufferLayout] = env.state(BufferLayouts).by_buffer
    for buffer, layout in layouts.items():
        env.note("layouts", {"buffer": str(buffer.name), "layout": layout.name})
    if not layouts:
        return func
    rearranger = _Rearrange(layouts)
    aligned = {
        rearranger.rearranged[buffer]: layout.alignment for buffer, layout in layouts.items() if layout.alignment
    }
    requests = env.state(SharedRequests)
    requests.alignment.update(aligned)
    requests.alone.update(rearranger.rearranged[b] for b, layout in layouts.items() if layout.alone)
    return func.with_body(rearranger.run(func.body))


class _Rearrange:
    def __init__(self, layouts: dict[Var, BufferLayout]) -> None:
        self.layouts = layouts
        self.analyzer = Analyzer()
        self.rearranged = {
            old: tirx.decl_buffer(
                list(layout.shape), str(old.dtype), str(old.name), scope=str(old.scope()), layout=None
            )
            for old, layout in layouts.items()
        }

    def run(self, body: Any) -> Any:
        rules = [
            (For, binding_loops(self.analyzer)),
            (Call, self.raw),
            (TensorLoad, self.load),
            (BufferStore, self.store),
            (AllocBuffer, self.alloc),
        ]
        return structural_mutate(body, rules)

    def _rearranged_indices(self, buffer: Var, indices: list[Any]) -> list[Any]:
        return [self.analyzer.simplify(index) for index in self.layouts[buffer].place(indices)]

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        if node.source not in self.layouts:
            return mutator.default_mutate(node)
        indices = [mutator.mutate(i) for i in node.indices]
        element = BufferLoad(
            self.rearranged[node.source], self._rearranged_indices(node.source, indices), span=node.span
        )
        return self.layouts[node.source].decode(element)

    def store(self, node: BufferStore, mutator: Any) -> Any:
        if node.buffer not in self.layouts:
            return mutator.default_mutate(node)
        indices = [mutator.mutate(i) for i in node.indices]
        value = self.layouts[node.buffer].encode(mutator.mutate(node.value))
        return BufferStore(
            self.rearranged[node.buffer], value, self._rearranged_indices(node.buffer, indices), span=node.span
        )

    def raw(self, node: Call, mutator: Any) -> Any:
        """A read of raw memory, or a prefetch: the indices are rearranged, and the bytes are not decoded."""
        element = node.args[0] if op_name(node) in (RAW_LOAD, PREFETCH) else None
        if element is None or element.source not in self.layouts:
            return mutator.default_mutate(node)
        indices = self._rearranged_indices(element.source, [mutator.mutate(i) for i in element.indices])
        moved = BufferLoad(self.rearranged[element.source], indices)
        if op_name(node) == RAW_LOAD:
            return raw_load(moved, dtype_of(node))
        return Call(node.op, [moved, *node.args[1:]], ret_ty=dtype_of(node) or "void")

    def alloc(self, node: AllocBuffer, mutator: Any) -> Any:
        return AllocBuffer(self.rearranged.get(node.buffer, node.buffer), span=node.span)


APPLY_LAYOUTS = Pass("apply_layouts", apply_layouts, needs=(BufferLayouts,), leaves=(SharedRequests,))
