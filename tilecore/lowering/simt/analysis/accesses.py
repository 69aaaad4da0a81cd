"""Decides which accesses between two barriers conflict, so that threads need a barrier between them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.nodes import Bind, FloorMod, For, Range, Stmt, Var
from tilecore.ir.thread_ranges import ThreadRange
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.kernels import Threads
from tilecore.lowering.simt.analysis.owners import Owners

NOBODY = ThreadRange(0, 0)


@dataclass(frozen=True, eq=False)
class PendingAccess:
    """An access since the last barrier.

    memory: the buffer that owns the accessed memory.
    place: the indices of the access in ``memory``; None for an access through a view.
    slot: the first index, in terms of the variables of the current statement; None where it differs between threads
    or changes inside the statement.
    atomic: the kind of an atomic operation, "" for none.
    partitioned: each element is accessed by one thread only (the accesses of a parallel nest).
    single: the thread itself accesses one element at once; not an operation of many threads, not an asynchronous one.
    crossed_loops: the loops that have begun another iteration or ended since; False when one of them is a while loop.
    threads: the range of threads that execute the access.
    settled: a barrier of ``threads`` has ordered the access for them, but not for other threads.
    """

    memory: Var
    place: tuple[Any, ...] | None
    slot: Any
    writes: bool
    atomic: str = ""
    partitioned: bool = False
    single: bool = False
    crossed_loops: tuple[For, ...] | bool = ()
    threads: ThreadRange = NOBODY
    settled: bool = False

    @cached_property
    def text(self) -> tuple[str, ...] | None:
        """The indices as text; accesses are compared by it."""
        return None if self.place is None else tuple(str(index) for index in self.place)

    @cached_property
    def key(self) -> Hashable:
        """Equal for accesses that need not be told apart."""
        crossed = self.crossed_loops if isinstance(self.crossed_loops, bool) else tuple(map(id, self.crossed_loops))
        kind = self.writes, self.atomic, self.partitioned, self.single
        return self.memory, self.text, str(self.slot), kind, crossed, self.threads, self.settled


class ConflictAnalysis:
    """Decides whether two accesses in a kernel's code need a barrier between them.

    offsets: (start, size) in bytes of each shared buffer in the block's arena; they may overlap.
    aliases: for each parameter the parameters that it may alias.
    around: the loops around the current statement; the caller keeps them.
    aliased: the names of parameters that conflicted only because they may alias.
    """

    def __init__(
        self, threads: Threads, body: Stmt, offsets: dict[Var, tuple[int, int]], aliases: Mapping[Var, set[Var]]
    ) -> None:
        self.offsets, self.aliases = offsets, aliases
        self.owners = Owners(threads, body)
        self.around: list[For] = []
        self.aliased: set[str] = set()
        self.analyzer = Analyzer()
        loops = collect(body, For)
        for axis in threads.axes:
            self._bind(axis.var, const(0, "int32"), const(axis.extent, "int32"))
        for loop in loops:
            self._bind(loop.loop_var, loop.min, loop.extent)
        self.moving = {axis.var for axis in threads.axes} | {loop.loop_var for loop in loops}

    def of_threads(self, threads: Threads, body: Stmt) -> ConflictAnalysis:
        """The analysis for the code of a range of threads; it shares ``around`` and ``aliased`` with this one."""
        analysis = ConflictAnalysis(threads, body, self.offsets, self.aliases)
        analysis.around, analysis.aliased = self.around, self.aliased
        return analysis

    def _bind(self, var: Var, least: Any, extent: Any) -> None:
        self.analyzer.bind(var, Range.from_min_extent(least, extent))

    def conflict(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Whether two accesses, the first one earlier, need a barrier between them. Notes parameters that alias."""
        if not (a.writes or b.writes):
            return False
        if not a.memory.same_as(b.memory):
            return self._overlap(a.memory, b.memory) or self._alias(a, b)
        if a.atomic and a.atomic == b.atomic:  # their order does not matter
            return False
        if slots_differ(a.slot, b.slot):
            return False
        if self._has_one_owner(a, b):
            return False
        return not (a.writes and b.writes and self._same_thread(a, b))

    def _has_one_owner(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Do the indices show that each element that both access is accessed by one thread only?"""
        if not (a.single and b.single) or a.place is None or b.place is None:
            return False
        return self.owners.same_thread(a.place, b.place)

    def _overlap(self, a: Var, b: Var) -> bool:
        """Do two shared buffers overlap in the arena?"""
        extent_a, extent_b = self.offsets.get(a), self.offsets.get(b)
        if extent_a is None or extent_b is None:
            return False
        return extent_a[0] < sum(extent_b) and extent_b[0] < sum(extent_a)

    # -- parameters that may alias --------------------------------------------------------------------------------

    def _alias(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Do two threads access one element if the two parameters alias?"""
        if b.memory not in self.aliases.get(a.memory, ()) or self._same_thread_of_aliases(a, b):
            return False
        self.aliased |= {str(a.memory.name), str(b.memory.name)}
        return True

    def _same_thread_of_aliases(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Does one thread do both accesses of each element, if the two parameters alias?"""
        if not (a.single and b.single) or a.place is None or b.place is None:
            return False
        crossed: list[For] = []
        for loops in (a.crossed_loops, b.crossed_loops):
            if isinstance(loops, bool):
                return False
            crossed += loops
        same_iteration = [loop.loop_var for loop in self.around if not any(loop.same_as(c) for c in crossed)]
        if a.text == b.text:  # different iterations access different elements
            same_iteration += [loop.loop_var for loop in crossed if self._disjoint(a.place, loop)]
        return self.owners.same_thread(a.place, b.place, same_iteration)

    # -- two writes ----------------------------------------------------------------------------------------------

    def _same_thread(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Is an element that both write written by the same thread?"""
        if not (a.partitioned and b.partitioned) or a.atomic or b.atomic or a.place is None or a.text != b.text:
            return False
        for loops in (a.crossed_loops, b.crossed_loops):
            if isinstance(loops, bool) or not all(self._disjoint(a.place, loop) for loop in loops):
                return False
        return True

    def _disjoint(self, place: tuple[Any, ...], loop: For) -> bool:
        """Do different iterations of a loop access different elements, or all of them the same ones?"""
        used = set().union(*(variables(index) for index in place))
        bound_inside = {b.var for b in collect(loop, Bind)}
        if used & bound_inside:
            return False
        return loop.loop_var not in used or any(self._dominates(index, loop.loop_var) for index in place)

    def _dominates(self, index: Any, var: Var) -> bool:
        """Does one step of ``var`` change the index by more than all of its other variables together can?"""
        stride = coefficient(index, var)
        if not isinstance(stride, int) or not stride:
            return False
        zero = {v: const(0, dtype_of(v)) for v in variables(index) & self.moving}
        first = substitute(index, {var: const(0, dtype_of(var))})
        spread = self.analyzer.const_int_bound(self.analyzer.simplify(first - substitute(first, zero)))
        return spread.max_value - spread.min_value < abs(stride)


def distinct(accesses: Iterable[PendingAccess]) -> frozenset[PendingAccess]:
    """One access for each key."""
    return frozenset({access.key: access for access in accesses}.values())


def carried(access: PendingAccess, node: Any) -> PendingAccess:
    """An access of an iteration of loop ``node`` as the next iteration sees it."""
    if not isinstance(node, For):
        return left(access, node)
    previous = {node.loop_var: node.loop_var - const(1, dtype_of(node.loop_var))}
    slot = None if _is_bound(access.slot, node.body) else substitute(access.slot, previous)
    return replace(access, slot=slot, crossed_loops=_crossed(access, node))


def left(access: PendingAccess, node: Any) -> PendingAccess:
    """An access in loop ``node`` as the code behind the loop sees it: the loop's variable has no value there."""
    slot = None if _is_bound(access.slot, node) else access.slot
    return replace(access, slot=slot, crossed_loops=_crossed(access, node))


def _crossed(access: PendingAccess, node: Any) -> tuple[For, ...] | bool:
    """The loops that the access has crossed when it has crossed ``node``, too."""
    loops = access.crossed_loops
    if isinstance(loops, bool) or not isinstance(node, For):
        return False
    return loops if any(node.same_as(loop) for loop in loops) else (*loops, node)


def _is_bound(index: Any, node: Any) -> bool:
    """Does the index (None: an unknown one) use variables that ``node`` defines?"""
    if index is None:
        return True
    return bool(variables(index) & ({f.loop_var for f in collect(node, For)} | {b.var for b in collect(node, Bind)}))


def slots_differ(a: Any, b: Any) -> bool:
    """Are two first indices different slots of a circular buffer, as (x + c) % n and (x + d) % n are?

    One of them may lack its remainder, where that is known to change nothing. None: an unknown index.
    """
    if a is None or b is None:
        return False
    constants = constant(a), constant(b)
    if None not in constants:
        return constants[0] != constants[1]
    sizes = {constant(index.b) for index in (a, b) if isinstance(index, FloorMod)}
    size = sizes.pop() if len(sizes) == 1 else None
    if size is None:
        return False
    a, b = (index.a if isinstance(index, FloorMod) else index for index in (a, b))
    distance = constant(Analyzer().simplify(a - b))
    return distance is not None and distance % size != 0
