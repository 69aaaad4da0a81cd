"""Counts the points of an iteration space: nested loops, conditions, and indices that must lie inside a tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilecore.ir.nodes import LT, And, Var, structural_equal
from tilecore.profiler.work.values import DataDependentError, Linear, Span, Values

MOST_POINTS = 1 << 26  # of loops that are enumerated together
POINTS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Loop:
    """``var`` from ``first`` on, ``extent`` times; both are expressions, or ints."""

    var: Var
    first: Any
    extent: Any


@dataclass(frozen=True)
class Inside:
    """The condition that 0 <= ``index`` < ``size``: the access is inside the tensor."""

    index: Any
    size: int


@dataclass(frozen=True)
class Holds:
    """The condition that an expression is true, or false where ``sense`` is False."""

    condition: Any
    sense: bool = True


Condition = Inside | Holds


class Space:
    """The points of nested loops, outermost first, at which all conditions hold.

    Loops whose lengths data decides run once; unknown_loops has these lengths. unknown_conditions: sentences on
    conditions that data decides.
    """

    def __init__(self, values: Values, loops: Sequence[Loop], conditions: Iterable[Condition]) -> None:
        self.values = values
        self.unknown_loops: list[str] = []
        self.unknown_conditions: list[str] = []
        self.loops: list[Loop] = []
        self.ranges: dict[Var, Span] = {}
        for loop in loops:
            self._take_loop(loop)
        self.conditions: list[Condition] = []
        for condition in conditions:
            for part in self._simpler(condition):
                if not any(same(part, other) for other in self.conditions) and self._decides(part):
                    self.conditions.append(part)

    def count(self) -> int:
        """The number of points."""
        if self.is_empty:
            return 0
        total = 1
        for loops, conditions in self._components():
            total *= self._count(loops, conditions)
            if not total:
                break
        return total

    @property
    def is_empty(self) -> bool:
        """Is there a loop of no iteration, whatever the others do?"""
        return any(self._is_empty(loop.var) for loop in self.loops)

    # -- loops and conditions -----------------------------------------------------------------------------------

    def _take_loop(self, loop: Loop) -> None:
        try:
            first = self.values.span(loop.first, self.ranges)
            extent = self._largest(loop.extent)
        except DataDependentError:
            self.unknown_loops.append(str(loop.extent))
            loop = Loop(loop.var, 0, 1)
            first, extent = Span(0, 0), 1
        self.loops.append(loop)
        self.ranges[loop.var] = Span(first.least, first.largest + max(extent, 1) - 1)

    def _largest(self, extent: Any) -> int:
        """The largest extent of a loop: exactly where its variables can be enumerated."""
        needed = self.values.variables(extent)
        if not needed:
            return max(self.values.known(extent), 0)
        loops = [loop for loop in self.loops if loop.var in self.with_outer(needed)]
        if prod(self.length(loop.var) for loop in loops) > MOST_POINTS:
            return max(self.values.span(extent, self.ranges).largest, 0)
        return max(int(np.max(self.values.evaluate(extent, self.grid(loops)), initial=0)), 0)

    def with_outer(self, variables: Iterable[Var]) -> set[Var]:
        """The variables, and those that the bounds of their loops depend on."""
        found = set(variables)
        for loop in reversed(self.loops):
            if loop.var in found:
                found |= self.values.variables(loop.first) | self.values.variables(loop.extent)
        return found

    def _simpler(self, condition: Condition) -> list[Condition]:
        """The condition as several: of ``a and b`` each; ``index < size`` as Inside, which is counted without
        enumerating points."""
        if isinstance(condition, Inside) or not condition.sense:
            return [condition]
        expr = condition.condition
        if isinstance(expr, And):
            return [*self._simpler(Holds(expr.a)), *self._simpler(Holds(expr.b))]
        if isinstance(expr, LT):
            with suppress(DataDependentError):
                if self.values.span(expr.a, self.ranges).least >= 0:
                    return [Inside(expr.a, self.values.known(expr.b))]
        return [condition]

    def _decides(self, condition: Condition) -> bool:
        """Whether the condition leaves points out. One that data decides is taken to hold, and noted."""
        try:
            if isinstance(condition, Inside):
                span = self.values.span(condition.index, self.ranges)
                if span.least >= 0 and span.largest < condition.size:
                    return False
            expr = condition.index if isinstance(condition, Inside) else condition.condition
            self.values.evaluate(expr, {var: np.array([span.least]) for var, span in self.ranges.items()})
        except DataDependentError:
            self.unknown_conditions.append(
                f"the index {condition.index} is taken to be inside the tensor"
                if isinstance(condition, Inside)
                else f"{condition.condition} is taken to {'hold' if condition.sense else 'fail'}"
            )
            return False
        return True

    # -- counting -----------------------------------------------------------------------------------------------

    def _variables_of(self, condition: Condition) -> frozenset[Var]:
        return self.values.variables(condition.index if isinstance(condition, Inside) else condition.condition)

    def _components(self) -> list[tuple[list[Loop], list[Condition]]]:
        """Loops and conditions that depend on one another, apart from the others: their counts are multiplied."""
        groups: list[tuple[set[Var], list[Condition]]] = []
        own: list[tuple[set[Var], list[Condition]]] = [
            ({loop.var, *self.bound_variables(loop)}, []) for loop in self.loops
        ]
        ties = [(set(self._variables_of(condition)), [condition]) for condition in self.conditions]
        for variables, conditions in [*own, *ties]:
            joined, met = set(variables), list[Condition](conditions)
            for group in [group for group in groups if group[0] & variables]:
                joined |= group[0]
                met += group[1]
                groups.remove(group)
            groups.append((joined, met))
        return [([loop for loop in self.loops if loop.var in found], met) for found, met in groups]

    def bound_variables(self, loop: Loop) -> frozenset[Var]:
        """The variables that the bounds of a loop depend on."""
        return self.values.variables(loop.first) | self.values.variables(loop.extent)

    def _count(self, loops: list[Loop], conditions: list[Condition]) -> int:
        is_box = not any(self.bound_variables(loop) for loop in loops)
        if not conditions and is_box:
            return prod(self.length(loop.var) for loop in loops)
        if len(conditions) == 1 and is_box and isinstance(conditions[0], Inside):
            counted = self._on_a_line(loops, conditions[0])
            if counted is not None:
                return counted
        if prod(self.length(loop.var) for loop in loops) > MOST_POINTS:
            self.unknown_conditions.append("a condition is taken to hold, on more points than are enumerated")
            return prod(self.length(loop.var) for loop in loops)
        total, others = 0, prod(self.length(loop.var) for loop in loops[1:])
        whole = self.grid(loops)
        step = max(1, POINTS_AT_ONCE // max(others, 1))
        for start in range(0, self.length(loops[0].var), step):
            grid = {**whole, loops[0].var: whole[loops[0].var][start : start + step]}
            holds: Any = np.ones([grid[loop.var].size for loop in loops], bool) & self.inside_bounds(loops, grid)
            for condition in conditions:
                holds = holds & self._holds(condition, grid)
            total += int(np.count_nonzero(holds))
        return total

    def inside_bounds(self, loops: list[Loop], grid: dict[Var, Any]) -> Any:
        """Whether points of the grid are iterations: loops whose bounds depend on others are shorter at some."""
        holds: Any = True
        for loop in loops:
            if self.bound_variables(loop):
                first, extent = self.values.evaluate(loop.first, grid), self.values.evaluate(loop.extent, grid)
                holds = holds & (grid[loop.var] >= first) & (grid[loop.var] < first + extent)
        return holds

    def _holds(self, condition: Condition, grid: dict[Var, Any]) -> Any:
        if isinstance(condition, Inside):
            index = self.values.evaluate(condition.index, grid)
            return np.logical_and(index >= 0, index < condition.size)
        value = np.asarray(self.values.evaluate(condition.condition, grid), bool)
        return value if condition.sense else ~value

    def length(self, var: Var) -> int:
        """The number of values in the range of a loop's variable."""
        span = self.ranges[var]
        return 0 if self._is_empty(var) else span.largest - span.least + 1

    def _is_empty(self, var: Var) -> bool:
        loop = next(loop for loop in self.loops if loop.var is var or loop.var.same_as(var))
        return not self.values.variables(loop.extent) and self.values.known(loop.extent) <= 0

    def grid(self, loops: list[Loop]) -> dict[Var, Any]:
        """For each loop the values of its variable, along an axis of its own."""
        grid = {}
        for axis, loop in enumerate(loops):
            span = self.ranges[loop.var]
            shape = [-1 if other == axis else 1 for other in range(len(loops))]
            grid[loop.var] = (span.least + np.arange(self.length(loop.var), dtype=np.int64)).reshape(shape)
        return grid

    def _on_a_line(self, loops: list[Loop], condition: Inside) -> int | None:
        """The count where the index takes neighbouring values, each once, as ``tile * 128 + i`` does; else None."""
        linear = self.values.linear(condition.index)
        line = None if linear is None else line_of(linear, self.ranges)
        if line is None or set(linear.coefficients) != {loop.var for loop in loops}:  # type: ignore[union-attr]
            return None
        return max(0, min(line.largest, condition.size - 1) - max(line.least, 0) + 1)


def same(a: Condition, b: Condition) -> bool:
    """Are the conditions written in the same way?"""
    if isinstance(a, Inside) and isinstance(b, Inside):
        return a.size == b.size and bool(structural_equal(a.index, b.index))
    if isinstance(a, Holds) and isinstance(b, Holds):
        return a.sense == b.sense and bool(structural_equal(a.condition, b.condition))
    return False


def line_of(linear: Linear, ranges: dict[Var, Span]) -> Span | None:
    """The range of a linear form that takes every value in it exactly once; None where it does not."""
    reach, least = 1, linear.constant
    for var, factor in sorted(linear.coefficients.items(), key=lambda item: abs(item[1])):
        length = ranges[var].largest - ranges[var].least + 1
        if abs(factor) != reach:
            return None
        least += min(factor * ranges[var].least, factor * ranges[var].largest)
        reach *= length
    return Span(least, least + reach - 1)
