"""Dependences between the blocks of a kernel, which allow one core only.

Cores have no coherent caches and no atomic operations on global memory. The blocks of one core run one after the other.
So one core runs all blocks where they write the same elements, where they read elements that other blocks may write,
and where the control core writes tensors: its cache writes back whole lines, which overwrites what other cores have
written to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tile_tpu.ir.accesses import Access, accesses_of, aliases_of, by_memory, heads, is_leaf
from tile_tpu.ir.instructions import CONTROL
from tile_tpu.ir.overlaps import covers
from tile_tpu.ir.views import View
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import Bind, For, PrimFunc, Stmt, Var, structural_equal
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import children, substitute, variables

_ONE_LANE = 1  # views of tensors have no lanes


def why_one_core(func: PrimFunc) -> str | None:
    """The reason why one core must run all blocks; None where several cores may share them."""
    walk = _Walk()
    accesses = [t for t in by_memory(walk.accesses(func.body, {}), aliases_of(func.body)) if not t.is_local]
    for access in accesses:
        if access.engine == CONTROL and access.writes:
            adverb = "atomically " if access.reads else ""
            return f"the control core writes {adverb}{access.buffer.name}{_where(access)}"
    axes = [
        v
        for v, e in zip(func.attrs[FunctionAttr.BLOCK_VARS], func.attrs[FunctionAttr.GRID], strict=True)
        if constant(e) != 1
    ]
    for access in accesses:
        if access.writes and (access.view is None or not set(axes) <= walk.depends_on(access.view)):
            return f"blocks write the same elements of {access.buffer.name}{_where(access)}"
    for access in accesses:
        writes = [t.view for t in accesses if t.writes and t.buffer.same_as(access.buffer)]
        if access.reads and writes and not _is_own(access, writes):
            return f"blocks read elements of {access.buffer.name} that other blocks may write{_where(access)}"
    return None


def _is_own(read: Access, writes: list[View | None]) -> bool:
    """Whether the block itself writes what it reads. If another block wrote it too, the kernel would have a race."""
    return read.view is not None and any(v is not None and covers(v, read.view, _ONE_LANE) for v in writes)


def _where(access: Access) -> str:
    location = location_of_span(access.span)
    return f" (line {location.line})" if location else ""


class _Walk:
    """Collects the accesses of a kernel. Loops with the same range at the same depth get one common variable, so that
    equal accesses in two such loops are equal expressions."""

    def __init__(self) -> None:
        self.loops: list[tuple[int, Any, Any, Var]] = []
        self.sources: dict[Var, set[Var]] = {}  # the variables that the value of a variable is computed from

    def depends_on(self, view: View) -> set[Var]:
        """The variables that the address of the view depends on, directly or through the values of others."""
        dependences: set[Var] = set()
        todo = variables(view.call())
        while todo:
            var = todo.pop()
            if var not in dependences:
                dependences.add(var)
                todo |= self.sources.get(var, set())
        return dependences

    def accesses(self, node: Stmt, names: Mapping[Var, Any], depth: int = 0) -> Iterator[Access]:
        if isinstance(node, Bind):
            self.sources[node.var] = variables(node.value)
        if is_leaf(node):
            yield from (_renamed(access, names) for access in accesses_of(node))
            return
        for part in heads(node):
            yield from accesses_of(part)
        if isinstance(node, For):
            names = {**names, node.loop_var: self._variable(node, names, depth)}
            depth += 1
        for child in children(node):
            yield from self.accesses(child, names, depth)

    def _variable(self, node: For, names: Mapping[Var, Any], depth: int) -> Var:
        first, extent = substitute(node.min, names), substitute(node.extent, names)
        for level, other, size, var in self.loops:
            if level == depth and structural_equal(other, first) and structural_equal(size, extent):
                return var
        shared_variable = Var(str(node.loop_var.name), dtype_of(node.loop_var))
        self.sources[shared_variable] = variables(first) | variables(extent)
        self.loops.append((depth, first, extent, shared_variable))
        return shared_variable


def _renamed(access: Access, names: Mapping[Var, Any]) -> Access:
    if access.view is None or not names:
        return access
    view = access.view

    def number(value: Any) -> Any:
        return value if isinstance(value, int) else substitute(value, names)

    offset, lane = number(view.offset), number(view.lane)
    shape, strides = tuple(map(number, view.shape)), tuple(map(number, view.strides))
    return replace(access, view=View(view.buffer, lane, offset, shape, strides))
