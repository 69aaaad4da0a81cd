"""Replaces buffers by others in all loads, stores, regions, allocations and views."""

from __future__ import annotations

from typing import Any

from tilecore.ir.nodes import (
    AllocBuffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.views import source_of


def with_buffers(body: Stmt, other: dict[Var, Var]) -> Stmt:
    """``body`` with each buffer that is a key of ``other`` replaced by its value."""

    def load(node: TensorLoad, mutator: Any) -> Any:
        replaced = mutator.default_mutate(node)
        return BufferLoad(other.get(replaced.source, replaced.source), list(replaced.indices), span=node.span)

    def store(node: BufferStore, mutator: Any) -> Any:
        replaced = mutator.default_mutate(node)
        return BufferStore(
            other.get(replaced.buffer, replaced.buffer), replaced.value, list(replaced.indices), span=node.span
        )

    def alloc(node: AllocBuffer, mutator: Any) -> Any:
        return AllocBuffer(other.get(node.buffer, node.buffer), span=node.span)

    def region(node: TensorRegion, mutator: Any) -> Any:
        replaced = mutator.default_mutate(node)
        return BufferRegion(other.get(replaced.source, replaced.source), list(replaced.region))

    def alias(node: DeclBuffer, mutator: Any) -> Any:
        source, view = source_of(node), node.buffer
        data = mutator.mutate(node.data) if source is None else tirx.buffer_data(other.get(source, source))
        return DeclBuffer(other.get(view, view), data=data, span=node.span)

    rules = [
        (TensorLoad, load),
        (TensorRegion, region),
        (BufferStore, store),
        (AllocBuffer, alloc),
        (DeclBuffer, alias),
    ]
    return structural_mutate(body, rules)
