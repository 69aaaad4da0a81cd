"""Does a piece of code read elements of a buffer before it has written them?

Here a write counts only where it is sure to happen, and to which element: stores alone. What *may* be written is
asked of :mod:`tilecore.ir.memory_writes`.
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

LIMIT = 1024  # elements that are followed one by one

Place = tuple[Any, ...]  # the indices of an element: ints where they are known


@dataclass(frozen=True)
class Written:
    """Places that are written for sure. known: those whose indices are all numbers. others: the rest."""

    known: frozenset[Place] = frozenset()
    others: tuple[Place, ...] = ()

    def plus(self, places: Iterable[Place]) -> Written:
        new = list(places)
        others = [place for place in new if not _is_known(place)]
        return Written(self.known.union(filter(_is_known, new)), (*self.others, *others))

    def has(self, place: Place) -> bool:
        return place in self.known if _is_known(place) else any(_same(place, one) for one in self.others)

    def common(self, other: Written) -> Written:
        return Written(self.known & other.known, tuple(place for place in self.others if other.has(place)))


def reads_first(body: Stmt, buffer: Var) -> bool:
    """Is any element of ``buffer`` read in ``body`` that may not have been written there? When in doubt, yes."""
    sizes = [constant(size) for size in buffer.shape]
    if any(size is None for size in sizes):
        return True
    return _Walk(buffer, prod(s for s in sizes if s is not None)).statement(body, Written()) is None


class _Walk:
    """Follows what is written. Its methods give the places written after a statement, None once one was read first."""

    def __init__(self, buffer: Var, size: int) -> None:
        self.buffer = buffer
        self.size = size
        self.analyzer = Analyzer()

    def statement(self, node: Stmt, written: Written) -> Written | None:
        if isinstance(node, SeqStmt):
            for part in node.seq:
                made = self.statement(part, written)
                if made is None:
                    return None
                written = made
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
            place = self._place(node.indices)
            return written if written.has(place) else written.plus([place])
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
        return self._after(node.loop_var, range(start, start + extent), inside)

    def _after(self, var: Var, values: range, written: Written) -> Written:
        """The places after a loop over ``values``, written by each of its iterations; of no more than LIMIT of them."""
        after = Written(written.known, tuple(place for place in written.others if not _names(place, var)))
        moving = [place for place in written.others if _names(place, var)]
        for place in moving[: LIMIT // max(1, len(values))]:
            after = after.plus(self._place([_at(index, var, value) for index in place]) for value in values)
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
        """Is all that ``node`` reads of the buffer written?"""
        if any(region.source.same_as(self.buffer) for region in collect(node, TensorRegion)):
            return self._is_whole(written)
        for load in collect(node, TensorLoad):
            if not load.source.same_as(self.buffer) or self._is_whole(written):
                continue
            if not written.has(self._place(load.indices)):
                return False
        return True

    def _is_whole(self, written: Written) -> bool:
        return len(written.known) >= self.size

    def _place(self, indices: Any) -> Place:
        simple = [index if isinstance(index, (int, Var)) else self.analyzer.simplify(index) for index in indices]
        return tuple(index if constant(index) is None else constant(index) for index in simple)


def _is_known(place: Place) -> bool:
    return all(isinstance(index, int) for index in place)


def _names(place: Place, var: Var) -> bool:
    return any(not isinstance(index, int) and var in variables(index) for index in place)


def _at(index: Any, var: Var, value: int) -> Any:
    if isinstance(index, int) or var.same_as(index):
        return index if isinstance(index, int) else value
    return substitute(index, {var: IntImm(str(var.ty.dtype), value)})


def _same(a: Place, b: Place) -> bool:
    return all(
        x == y if isinstance(x, int) or isinstance(y, int) else bool(structural_equal(x, y))
        for x, y in zip(a, b, strict=True)
    )
