"""Rearranges buffers as the chosen implementations of tile operations asked for (``env.facts["layouts"]``)."""

from __future__ import annotations

from typing import Any

from tilecore.ir.layout import BufferLayout
from tilecore.ir.nodes import (
    AllocBuffer,
    Analyzer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    For,
    PrimFunc,
    Range,
    TensorLoad,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.visit import collect
from tilecore.lowering.passes import Pass, PassEnv


def apply_layouts(func: PrimFunc, env: PassEnv) -> PrimFunc:
    wanted: dict[Var, list[BufferLayout]] = env.facts.get("layouts", {})
    layouts = {buffer: asked[0] for buffer, asked in wanted.items() if _agreed(func, buffer, asked, env)}
    if not layouts:
        return func
    for buffer, layout in layouts.items():
        env.note("layouts", {"buffer": str(buffer.name), "layout": layout.name})
    return func.with_body(_Rearrange(layouts).run(func.body))


def _agreed(func: PrimFunc, buffer: Var, asked: list[BufferLayout], env: PassEnv) -> bool:
    """Only memory of the kernel itself, without views, that all who use it want in one and the same layout."""
    reason = None
    if any(other != asked[0] and (other.name, other.shape) != (asked[0].name, asked[0].shape) for other in asked):
        reason = "its users want different layouts"
    elif str(buffer.scope()) == "global":
        reason = "it is global memory"
    elif any(buffer in (d.buffer, d.data.args[0]) for d in collect(func.body, DeclBuffer)):
        reason = "it has views"
    if reason:
        env.note("layouts", {"buffer": str(buffer.name), "layout": f"as declared: {reason}"})
    return reason is None


class _Rearrange:
    def __init__(self, layouts: dict[Var, BufferLayout]) -> None:
        self.layouts = layouts
        self.analyzer = Analyzer()
        self.made = {
            old: tirx.decl_buffer(list(layout.shape), str(old.dtype), str(old.name), scope=str(old.scope()), layout=None)
            for old, layout in layouts.items()
        }

    def run(self, body: Any) -> Any:
        rules = [(For, self.loop), (TensorLoad, self.load), (BufferStore, self.store), (AllocBuffer, self.alloc)]
        return structural_mutate(body, rules)

    def loop(self, node: For, mutator: Any) -> Any:
        self.analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent))
        return mutator.default_mutate(node)

    def _place(self, buffer: Var, indices: list[Any]) -> list[Any]:
        return [self.analyzer.simplify(index) for index in self.layouts[buffer].place(indices)]

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        if node.source not in self.layouts:
            return mutator.default_mutate(node)
        indices = [mutator.mutate(i) for i in node.indices]
        return BufferLoad(self.made[node.source], self._place(node.source, indices), span=node.span)

    def store(self, node: BufferStore, mutator: Any) -> Any:
        if node.buffer not in self.layouts:
            return mutator.default_mutate(node)
        indices = [mutator.mutate(i) for i in node.indices]
        value = mutator.mutate(node.value)
        return BufferStore(self.made[node.buffer], value, self._place(node.buffer, indices), span=node.span)

    def alloc(self, node: AllocBuffer, mutator: Any) -> Any:
        return AllocBuffer(self.made.get(node.buffer, node.buffer), span=node.span)


APPLY_LAYOUTS = Pass("apply_layouts", apply_layouts)
