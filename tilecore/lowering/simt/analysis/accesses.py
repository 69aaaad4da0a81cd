"""Dependence analysis: decides which accesses between two barriers conflict, so that they need a barrier between
them."""

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
from tilecore.ir.visit import collect, defined_variables, substitute, variables
from tilecore.lowering.analysis.kernels import Threads
from tilecore.lowering.simt.analysis.owners import Owners

NOBODY = ThreadRange(0, 0)


@dataclass(frozen=True, eq=False)
class PendingAccess:
    """An access since the last barrier.

    memory: the buffer that owns the accessed memory.
    indices: the indices of the access in ``memory``; None for an access through a view.
    slot: the first index, in terms of the variables of the current statement; None where it differs between threads
    or changes inside the statement.
    atomic: the kind of an atomic operation, "" for none.
    partitioned: each element is accessed by one thread only (the accesses of a parallel nest).
    single: each thread accesses its element by itself, not in an operation of many threads or an asynchronous one.
    crossed_loops: the loops that have begun another iteration or ended since; False when one of them is a while loop.
    threads: the range of threads that execute the access.
    is_ordered_within: a barrier of ``threads`` has ordered the access for them, but not for other threads.
    """

    memory: Var
    indices: tuple[Any, ...] | None
    slot: Any
    writes: bool
    atomic: str = ""
    partitioned: bool = False
    single: bool = False
    crossed_loops: tuple[For, ...] | bool = ()
    threads: ThreadRange = NOBODY
    is_ordered_within: bool = False

    @cached_property
    def text(self) -> tuple[str, ...] | None:
        """The indices as text; accesses are compared by it."""
        return None if self.indices is None else tuple(str(index) for index in self.indices)

    @cached_property
    def key(self) -> Hashable:
        """A key that is equal for accesses with the same conflicts."""
        crossed = self.crossed_loops if isinstance(self.crossed_loops, bool) else tuple(map(id, self.crossed_loops))
        kind = self.writes, self.atomic, self.partitioned, self.single
        return self.memory, self.text, str(self.slot), kind, crossed, self.threads, self.is_ordered_within


class ConflictAnalysis:
    """Decides whether two accesses in a kernel's code need a barrier between them.

    offsets: (start, size) in bytes of each shared buffer in the block's arena; they may overlap.
    aliases: for each parameter the parameters that it may alias.
    enclosing_loops: the loops around the current statement; the caller keeps them up to date.
    aliased: the names of parameters that conflicted only because they may alias.
    """

    def __init__(
        self, threads: Threads, body: Stmt, offsets: dict[Var, tuple[int, int]], aliases: Mapping[Var, set[Var]]
    ) -> None:
        self.offsets, self.aliases = offsets, aliases
        self.owners = Owners(threads, body)
        self.enclosing_loops: list[For] = []
        self.aliased: set[str] = set()
        self._meeting: dict[Var, list[Var]] = {}  # see :meth:`meeting`
        self.analyzer = Analyzer()
        loops = collect(body, For)
        for axis in threads.axes:
            self._bind(axis.var, const(0, "int32"), const(axis.extent, "int32"))
        for loop in loops:
            self._bind(loop.loop_var, loop.min, loop.extent)
        self.moving = {axis.var for axis in threads.axes} | {loop.loop_var for loop in loops}

    def of_threads(self, threads: Threads, body: Stmt) -> ConflictAnalysis:
        """The analysis for the code of a range of threads; it shares ``enclosing_loops`` and ``aliased``."""
        analysis = ConflictAnalysis(threads, body, self.offsets, self.aliases)
        analysis.enclosing_loops, analysis.aliased = self.enclosing_loops, self.aliased
        return analysis

    def _bind(self, var: Var, least: Any, extent: Any) -> None:
        self.analyzer.bind(var, Range.from_min_extent(least, extent))

    def conflict(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Do two accesses, the first one earlier, need a barrier between them? Notes parameters that alias."""
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

    def meeting(self, memory: Var) -> list[Var]:
        """The buffers an access of which may conflict with one of ``memory``: itself, those that overlap it in the
        arena, and parameters that may alias it."""
        meeting = self._meeting.get(memory)
        if meeting is None:
            others = [other for other in self.offsets if other is not memory and self._overlap(other, memory)]
            others += [other for other, aliases in self.aliases.items() if memory in aliases]
            meeting = self._meeting[memory] = list(dict.fromkeys([memory, *others]))
        return meeting

    def _has_one_owner(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Do the indices show that each element that both access is accessed by one thread only?"""
        if not (a.single and b.single) or a.indices is None or b.indices is None:
            return False
        return self.owners.same_thread(a.indices, b.indices)

    def _overlap(self, a: Var, b: Var) -> bool:
        """Do two shared buffers overlap in the arena?"""
        extent_a, extent_b = self.offsets.get(a), self.offsets.get(b)
        return extent_a is not None and extent_b is not None and _meet(extent_a, extent_b)

    # -- parameters that may alias --------------------------------------------------------------------------------

    def _alias(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Do two threads access one element if the two parameters alias?"""
        if b.memory not in self.aliases.get(a.memory, ()) or self._same_thread_of_aliases(a, b):
            return False
        self.aliased |= {str(a.memory.name), str(b.memory.name)}
        return True

    def _same_thread_of_aliases(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Is each element accessed by the same thread in both accesses, if the two parameters alias?"""
        if not (a.single and b.single) or a.indices is None or b.indices is None:
            return False
        crossed: list[For] = []
        for loops in (a.crossed_loops, b.crossed_loops):
            if isinstance(loops, bool):
                return False
            crossed += loops
        same_iteration = [loop.loop_var for loop in self.enclosing_loops if not any(loop.same_as(c) for c in crossed)]
        if a.text == b.text:  # different iterations access different elements
            same_iteration += [loop.loop_var for loop in crossed if self._disjoint(a.indices, loop)]
        return self.owners.same_thread(a.indices, b.indices, same_iteration)

    # -- two writes ----------------------------------------------------------------------------------------------

    def _same_thread(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Is each element that both accesses write written by the same thread?"""
        if not (a.partitioned and b.partitioned) or a.atomic or b.atomic or a.indices is None or a.text != b.text:
            return False
        for loops in (a.crossed_loops, b.crossed_loops):
            if isinstance(loops, bool) or not all(self._disjoint(a.indices, loop) for loop in loops):
                return False
        return True

    def _disjoint(self, indices: tuple[Any, ...], loop: For) -> bool:
        """Do different iterations of a loop access different elements, or all of them the same ones?"""
        used = set().union(*(variables(index) for index in indices))
        bound_inside = {b.var for b in collect(loop, Bind)}
        if used & bound_inside:
            return False
        return loop.loop_var not in used or any(self._dominates(index, loop.loop_var) for index in indices)

    def _dominates(self, index: Any, var: Var) -> bool:
        """Does one step of ``var`` change the index by more than all of its other variables together can?"""
        stride = coefficient(index, var)
        if not isinstance(stride, int) or not stride:
            return False
        zero = {v: const(0, dtype_of(v)) for v in variables(index) & self.moving}
        first = substitute(index, {var: const(0, dtype_of(var))})
        spread = self.analyzer.const_int_bound(self.analyzer.simplify(first - substitute(first, zero)))
        return spread.max_value - spread.min_value < abs(stride)


def overlapping(offsets: Mapping[Var, tuple[int, int]], buffers: Iterable[Var]) -> set[Var]:
    """The shared buffers that overlap one of ``buffers`` in the arena. offsets: (start, size) of each, in bytes."""
    extents = [offsets[buffer] for buffer in buffers if buffer in offsets]
    return {buffer for buffer, extent in offsets.items() if any(_meet(extent, other) for other in extents)}


def _meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < sum(b) and b[0] < sum(a)


def distinct(accesses: Iterable[PendingAccess]) -> frozenset[PendingAccess]:
    """One access for each key."""
    return frozenset({access.key: access for access in accesses}.values())


def in_next_iteration(accesses: Iterable[PendingAccess], node: Any) -> list[PendingAccess]:
    """Accesses of an iteration of loop ``node``, in terms of the variables of the next iteration."""
    if not isinstance(node, For):
        return after_loop(accesses, node)
    defined = defined_variables(node.body)
    previous = {node.loop_var: node.loop_var - const(1, dtype_of(node.loop_var))}

    def changed(access: PendingAccess) -> PendingAccess:
        slot = None if _is_bound(access.slot, defined) else substitute(access.slot, previous)
        return replace(access, slot=slot, crossed_loops=_crossed(access, node))

    return [changed(access) for access in accesses]


def after_loop(accesses: Iterable[PendingAccess], node: Any) -> list[PendingAccess]:
    """Accesses in loop ``node``, in terms of the variables after the loop, where the loop variable has no value."""
    defined = defined_variables(node)
    return [_after_loop(access, node, defined) for access in accesses]


def ended_loop(accesses: Iterable[PendingAccess], node: Any) -> list[PendingAccess]:
    """As :func:`after_loop`, where no iteration of the loop follows any more. An access whose indices have none of the
    loop's variables accesses the same element in each of its iterations: it is as one from outside of the loop."""
    defined = defined_variables(node)

    def changed(access: PendingAccess) -> PendingAccess:
        loops = access.crossed_loops
        if not isinstance(node, For) or isinstance(loops, bool) or access.indices is None:
            return _after_loop(access, node, defined)
        if any(_is_bound(index, defined) for index in access.indices):
            return _after_loop(access, node, defined)
        return replace(access, crossed_loops=tuple(loop for loop in loops if not loop.same_as(node)))

    return [changed(access) for access in accesses]


def _after_loop(access: PendingAccess, node: Any, defined: set[Var]) -> PendingAccess:
    slot = None if _is_bound(access.slot, defined) else access.slot
    return replace(access, slot=slot, crossed_loops=_crossed(access, node))


def _crossed(access: PendingAccess, node: Any) -> tuple[For, ...] | bool:
    """The loops that the access has crossed when it has crossed ``node``, too."""
    loops = access.crossed_loops
    if isinstance(loops, bool) or not isinstance(node, For):
        return False
    return loops if any(node.same_as(loop) for loop in loops) else (*loops, node)


def _is_bound(index: Any, defined: set[Var]) -> bool:
    """Does the index (None: an unknown one) use one of these variables?"""
    return index is None or not variables(index).isdisjoint(defined)


def slots_differ(a: Any, b: Any) -> bool:
    """Are two first indices different slots of a circular buffer, as (x + c) % n and (x + d) % n are?

    One of them may lack the remainder, if the remainder provably does not change it. None: an unknown index.
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
