"""Finds upward-exposed reads: does a statement read an element of a buffer that it has not certainly written before?

A forward analysis of definite writes. Only a store whose element is certain counts as a write; branches intersect the
elements that both sides write; a loop with a constant range adds what each of its iterations writes. The writes that
*may* happen are the subject of :mod:`tilecore.ir.memory_writes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant
from tilecore.ir.nodes import (
    AttrStmt,
    Break,
    BufferStore,
    Continue,
    For,
    IfThenElse,
    IntImm,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    While,
    structural_equal,
)
from tilecore.ir.visit import collect, substitute, variables

LIMIT = 1024  # the largest number of elements of one loop that are listed one by one

Element = tuple[Any, ...]  # the indices of an element; constant indices are ints


@dataclass(frozen=True)
class Written:
    """The elements that are certainly written: those whose indices are all constants, and those with other indices."""

    constant_indices: frozenset[Element] = frozenset()
    symbolic_indices: tuple[Element, ...] = ()

    def plus(self, elements: Iterable[Element]) -> Written:
        new = list(elements)
        symbolic_indices = [element for element in new if not _is_constant(element)]
        return Written(
            self.constant_indices.union(filter(_is_constant, new)), (*self.symbolic_indices, *symbolic_indices)
        )

    def has(self, element: Element) -> bool:
        return (
            element in self.constant_indices
            if _is_constant(element)
            else any(_same(element, written) for written in self.symbolic_indices)
        )

    def common(self, other: Written) -> Written:
        return Written(
            self.constant_indices & other.constant_indices,
            tuple(element for element in self.symbolic_indices if other.has(element)),
        )


def reads_first(body: Stmt, buffer: Var) -> bool:
    """Is any element of ``buffer`` read in ``body`` that may not have been written there? When in doubt, yes."""
    sizes = [constant(size) for size in buffer.shape]
    if any(size is None for size in sizes):
        return True
    return _Walk(buffer, prod(s for s in sizes if s is not None)).statement(body, Written()) is None


class _Walk:
    """The forward analysis of one buffer.

    Its methods return the elements that are certainly written after a statement; None after an upward-exposed read.
    """

    def __init__(self, buffer: Var, size: int) -> None:
        self.buffer = buffer
        self.size = size
        self.analyzer = Analyzer()

    def statement(self, node: Stmt, written: Written) -> Written | None:
        if isinstance(node, SeqStmt):
            for part in node.seq:
                after = self.statement(part, written)
                if after is None:
                    return None
                written = after
            return written
        if isinstance(node, (For, While)):
            return self._loop(node, written)
        if isinstance(node, IfThenElse):
            return self._branches(node, written)
        if isinstance(node, AttrStmt):
            return self.statement(node.body, written)
        if not self._is_covered(node, written):
            return None
        if isinstance(node, BufferStore) and node.buffer.same_as(self.buffer):
            element = self._element(node.indices)
            return written if written.has(element) else written.plus([element])
        return written

    def _loop(self, node: For | While, written: Written) -> Written | None:
        bounds = [node.condition] if isinstance(node, While) else [node.min, node.extent]
        if not all(self._is_covered(bound, written) for bound in bounds):
            return None
        inside = self.statement(node.body, written)
        if inside is None:
            return None
        if isinstance(node, While) or collect(node.body, Break, Continue):
            return written
        start, extent = constant(node.min), constant(node.extent)
        if start is None or not extent:
            return written
        return self._after_loop(node.loop_var, range(start, start + extent), inside)

    def _after_loop(self, var: Var, values: range, written: Written) -> Written:
        """The elements that are written after a loop over ``values``; elements that it indexes count up to LIMIT."""
        after = Written(
            written.constant_indices, tuple(element for element in written.symbolic_indices if not _uses(element, var))
        )
        moving = [element for element in written.symbolic_indices if _uses(element, var)]
        for element in moving[: LIMIT // max(1, len(values))]:
            after = after.plus(self._element([_index_at(index, var, value) for index in element]) for value in values)
        return after

    def _branches(self, node: IfThenElse, written: Written) -> Written | None:
        if not self._is_covered(node.condition, written):
            return None
        then = self.statement(node.then_case, written)
        other = written if node.else_case is None else self.statement(node.else_case, written)
        if then is None or other is None:
            return None
        return then.common(other)

    def _is_covered(self, node: Any, written: Written) -> bool:
        """Is every element of the buffer that ``node`` reads certainly written before?"""
        if any(region.source.same_as(self.buffer) for region in collect(node, TensorRegion)):
            return self._is_whole(written)
        for load in collect(node, TensorLoad):
            if not load.source.same_as(self.buffer) or self._is_whole(written):
                continue
            if not written.has(self._element(load.indices)):
                return False
        return True

    def _is_whole(self, written: Written) -> bool:
        return len(written.constant_indices) >= self.size

    def _element(self, indices: Any) -> Element:
        simple = [index if isinstance(index, (int, Var)) else self.analyzer.simplify(index) for index in indices]
        return tuple(index if constant(index) is None else constant(index) for index in simple)


def _is_constant(element: Element) -> bool:
    return all(isinstance(index, int) for index in element)


def _uses(element: Element, var: Var) -> bool:
    return any(not isinstance(index, int) and var in variables(index) for index in element)


def _index_at(index: Any, var: Var, value: int) -> Any:
    if isinstance(index, int) or var.same_as(index):
        return index if isinstance(index, int) else value
    return substitute(index, {var: IntImm(str(var.ty.dtype), value)})


def _same(a: Element, b: Element) -> bool:
    return all(
        x == y if isinstance(x, int) or isinstance(y, int) else bool(structural_equal(x, y))
        for x, y in zip(a, b, strict=True)
    )
