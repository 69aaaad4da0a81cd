"""Decides from indices whether two accesses of the same element are always by the same thread.

The index of ``X[tx * 8 + j]`` with j below 8 determines the thread: two such accesses of one element are by one thread.
The difference of two indices along an axis of the buffer is ``sum(c * d) + remainder``: d is the distance of the two
threads along an axis of the block, and the remainder is the difference that loop variables make, which may be in
different iterations. If the coefficients c are so far apart that only d = 0 for all axes gives 0 (as the digits of a
number in mixed radix), different threads access different elements.
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
    """Which thread accesses an element, by the indices of a kernel's accesses."""

    def __init__(self, threads: Threads, body: Any) -> None:
        self.axes = threads.active
        self.all_axes = {axis.var for axis in threads.axes}
        self.loops = {loop.loop_var: loop for loop in collect(body, For)}
        self.bound = {node.var for node in collect(body, Bind)}
        self.results: dict[tuple[str, str, frozenset[Var]], bool] = {}  # of same_thread, by its arguments as text

    def same_thread(self, a: Sequence[Any], b: Sequence[Any], alike: Iterable[Var] = ()) -> bool:
        """Do different threads at indices ``a`` and ``b`` of one buffer always access different elements?

        alike: variables of loops that are in the same iteration at both accesses.
        """
        fixed = frozenset(alike)
        key = (str(list(a)), str(list(b)), fixed)
        if key not in self.results:
            determined = set()
            for first, second in zip(a, b, strict=True):
                determined |= self._determined_axes(first, second, fixed)
            self.results[key] = len(determined) == len(self.axes)
        return self.results[key]

    def _determined_axes(self, first: Any, second: Any, fixed: frozenset[Var]) -> set[Var]:
        """The axes of the block along which two threads have the same index wherever these two indices are equal."""
        if any(collect(index, TensorLoad, Call) or variables(index) & self.bound for index in (first, second)):
            return set()
        steps: dict[Var, int] = {}
        for axis in self.axes:
            stride, other_stride = coefficient(first, axis.var), coefficient(second, axis.var)
            if not isinstance(stride, int) or stride != other_stride:
                return set()
            if stride:
                steps[axis.var] = abs(stride)
        if not steps:
            return set()
        reach = self._largest_remainder(first, second, fixed)
        if reach is None:
            return set()
        extents = {axis.var: axis.extent for axis in self.axes}
        for var, step in sorted(steps.items(), key=lambda item: item[1]):
            if step <= reach:
                return set()
            reach += step * (extents[var] - 1)
        return set(steps)

    def _largest_remainder(self, first: Any, second: Any, fixed: frozenset[Var]) -> int | None:
        """The largest difference of the two indices for one and the same thread; None where no bound is known."""
        analyzer = Analyzer()
        same_thread = {axis: const(0, dtype_of(axis)) for axis in self.all_axes}
        sides = []
        for name, index in (("a", first), ("b", second)):
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
            sides.append(substitute(index, {**same_thread, **moving}))
        bound = analyzer.const_int_bound(analyzer.simplify(sides[0] - sides[1]))
        low, high = int(bound.min_value), int(bound.max_value)
        return max(abs(low), abs(high)) if max(abs(low), abs(high)) < 2**31 else None
