"""Is it the same thread wherever two accesses meet? Read off their indices.

An element ``X[tx * 8 + j]`` with j below 8 says which thread touches it: two such accesses can only meet in one thread.
The difference of two indices along an axis of the buffer is ``sum(c * d) + rest``: d is how far the threads are apart
along an axis of the block, rest what else moves: loops, each access at a step of its own. Where the coefficients are so
far apart that only d = 0 for all axes gives 0, threads that are apart touch different elements (a number in mixed
radix).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, dtype_of
from tilecore.ir.nodes import Bind, Call, For, Range, TensorLoad, Var
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.kernels import Threads


class Owners:
    """What the indices of a kernel's accesses say of the threads."""

    def __init__(self, threads: Threads, body: Any) -> None:
        self.axes = threads.active
        self.all_axes = {axis.var for axis in threads.axes}
        self.loops = {loop.loop_var: loop for loop in collect(body, For)}
        self.bound = {node.var for node in collect(body, Bind)}
        self.known: dict[tuple[str, str, frozenset[Var]], bool] = {}

    def same_thread(self, a: Sequence[Any], b: Sequence[Any], alike: Iterable[Var] = ()) -> bool:
        """Do accesses at indices ``a`` and ``b`` of one buffer, by threads that differ, touch different elements?

        alike: variables of loops that are in the same step at both.
        """
        fixed = frozenset(alike)
        key = (str(list(a)), str(list(b)), fixed)
        if key not in self.known:
            apart = set()
            for one, other in zip(a, b, strict=True):
                apart |= self._axes_told_by(one, other, fixed)
            self.known[key] = len(apart) == len(self.axes)
        return self.known[key]

    def _axes_told_by(self, one: Any, other: Any, fixed: frozenset[Var]) -> set[Var]:
        """Axes of the block along which the threads are the same where both indices are."""
        if any(collect(index, TensorLoad, Call) or variables(index) & self.bound for index in (one, other)):
            return set()
        steps: dict[Var, int] = {}
        for axis in self.axes:
            mine, its = coefficient(one, axis.var), coefficient(other, axis.var)
            if not isinstance(mine, int) or mine != its:
                return set()
            if mine:
                steps[axis.var] = abs(mine)
        if not steps:
            return set()
        reach = self._rest(one, other, fixed)
        if reach is None:
            return set()
        extents = {axis.var: axis.extent for axis in self.axes}
        for var, step in sorted(steps.items(), key=lambda item: item[1]):
            if step <= reach:
                return set()
            reach += step * (extents[var] - 1)
        return set(steps)

    def _rest(self, one: Any, other: Any, fixed: frozenset[Var]) -> int | None:
        """The most that the indices differ by when the threads are the same; None: no limit is known."""
        analyzer = Analyzer()
        still = {axis: const(0, dtype_of(axis)) for axis in self.all_axes}
        sides = []
        for name, index in (("a", one), ("b", other)):
            moving = {
                var: Var(f"{var.name}_{name}", dtype_of(var))
                for var in variables(index)
                if var in self.loops and var not in fixed
            }
            for var, fresh in moving.items():
                loop = self.loops[var]
                if variables(loop.min) or variables(loop.extent):
                    return None
                analyzer.bind(fresh, Range.from_min_extent(loop.min, loop.extent))
            sides.append(substitute(index, {**still, **moving}))
        bound = analyzer.const_int_bound(analyzer.simplify(sides[0] - sides[1]))
        low, high = int(bound.min_value), int(bound.max_value)
        return max(abs(low), abs(high)) if max(abs(low), abs(high)) < 2**31 else None
