"""What the threads of a block touch between two barriers, and which of these touches must not meet."""

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
class Touch:
    """An access since the last barrier.

    memory: the buffer whose memory it is. place: its indices there; None where they are of a view. slot: its first
    index, as the code that is looked at sees it; None where that is not the same for all threads, or changes inside of
    the statement. atomic: the kind of an atomic operation. dealt: a thread touches only elements that no other one does
    (the accesses of a nest). single: it is one element, touched by the thread itself and now, not by an operation of
    many threads or one that lands later. crossed: loops that have gone on or ended since; False when one of them is no
    counting loop. threads: those whose code it is in. settled: these have met since, others have not.
    """

    memory: Var
    place: tuple[Any, ...] | None
    slot: Any
    writes: bool
    atomic: str = ""
    dealt: bool = False
    single: bool = False
    crossed: tuple[For, ...] | bool = ()
    threads: ThreadRange = NOBODY
    settled: bool = False

    @cached_property
    def text(self) -> tuple[str, ...] | None:
        """The indices as text: two places are taken to be the same where they read the same."""
        return None if self.place is None else tuple(str(index) for index in self.place)

    @cached_property
    def key(self) -> Hashable:
        """What makes it another touch than others."""
        crossed = self.crossed if isinstance(self.crossed, bool) else tuple(id(loop) for loop in self.crossed)
        who = self.threads, self.settled
        return self.memory, self.text, str(self.slot), self.writes, self.atomic, self.dealt, self.single, crossed, who


class Meetings:
    """Do two touches in a kernel's code need a barrier between them?

    offsets: (start, size) of shared buffers in the arena, which may share memory. twins: parameters that may be one
    tensor. around: the loops around the code that is looked at. one_tensor: names of twins that met.
    """

    def __init__(
        self, threads: Threads, body: Stmt, offsets: dict[Var, tuple[int, int]], twins: Mapping[Var, set[Var]]
    ) -> None:
        self.offsets, self.twins = offsets, twins
        self.owners = Owners(threads, body)
        self.around: list[For] = []
        self.one_tensor: set[str] = set()
        self.analyzer = Analyzer()
        loops = collect(body, For)
        for axis in threads.axes:
            self._bind(axis.var, const(0, "int32"), const(axis.extent, "int32"))
        for loop in loops:
            self._bind(loop.loop_var, loop.min, loop.extent)
        self.moving = {axis.var for axis in threads.axes} | {loop.loop_var for loop in loops}

    def of_threads(self, threads: Threads, body: Stmt) -> Meetings:
        """The same for the code of some threads of the block."""
        made = Meetings(threads, body, self.offsets, self.twins)
        made.around, made.one_tensor = self.around, self.one_tensor
        return made

    def _bind(self, var: Var, least: Any, extent: Any) -> None:
        self.analyzer.bind(var, Range.from_min_extent(least, extent))

    def conflict(self, a: Touch, b: Touch) -> bool:
        if not (a.writes or b.writes):
            return False
        if not a.memory.same_as(b.memory):
            return self._overlap(a.memory, b.memory) or self._twins_meet(a, b)
        if a.atomic and a.atomic == b.atomic:  # in any order
            return False
        if apart(a.slot, b.slot):
            return False
        if self._owned(a, b):
            return False
        return not (a.writes and b.writes and self._same_thread(a, b))

    def _owned(self, a: Touch, b: Touch) -> bool:
        """Do the indices say that one thread touches whatever both touch?"""
        if not (a.single and b.single) or a.place is None or b.place is None:
            return False
        return self.owners.same_thread(a.place, b.place)

    def _overlap(self, a: Var, b: Var) -> bool:
        mine, other = self.offsets.get(a), self.offsets.get(b)
        if mine is None or other is None:
            return False
        return mine[0] < other[0] + other[1] and other[0] < mine[0] + mine[1]

    # -- parameters that may be one tensor ------------------------------------------------------------------------

    def _twins_meet(self, a: Touch, b: Touch) -> bool:
        if b.memory not in self.twins.get(a.memory, ()) or self._same_thread_of_twins(a, b):
            return False
        self.one_tensor |= {str(a.memory.name), str(b.memory.name)}
        return True

    def _same_thread_of_twins(self, a: Touch, b: Touch) -> bool:
        if not (a.single and b.single) or a.place is None or b.place is None:
            return False
        crossed: list[For] = []
        for loops in (a.crossed, b.crossed):
            if isinstance(loops, bool):
                return False
            crossed += loops
        alike = [loop.loop_var for loop in self.around if not any(loop.same_as(c) for c in crossed)]
        if a.text == b.text:  # different steps touch different elements
            alike += [loop.loop_var for loop in crossed if self._disjoint(a.place, loop)]
        return self.owners.same_thread(a.place, b.place, alike)

    # -- two writes ----------------------------------------------------------------------------------------------

    def _same_thread(self, a: Touch, b: Touch) -> bool:
        """Is an element that both write written by the same thread?"""
        if not (a.dealt and b.dealt) or a.atomic or b.atomic or a.place is None or a.text != b.text:
            return False
        for crossed in (a.crossed, b.crossed):
            if isinstance(crossed, bool) or not all(self._disjoint(a.place, loop) for loop in crossed):
                return False
        return True

    def _disjoint(self, place: tuple[Any, ...], loop: For) -> bool:
        """Do different steps of a loop touch different elements (or each the same, in the same way)?"""
        used = set().union(*(variables(index) for index in place))
        inside = {b.var for b in collect(loop, Bind)}
        if used & inside:
            return False
        return loop.loop_var not in used or any(self._moves_on(index, loop.loop_var) for index in place)

    def _moves_on(self, index: Any, var: Var) -> bool:
        """Does a step take the index further than its other variables do?"""
        stride = coefficient(index, var)
        if not isinstance(stride, int) or not stride:
            return False
        zero = {v: const(0, dtype_of(v)) for v in variables(index) & self.moving}
        first = substitute(index, {var: const(0, dtype_of(var))})
        spread = self.analyzer.const_int_bound(self.analyzer.simplify(first - substitute(first, zero)))
        return spread.max_value - spread.min_value < abs(stride)


def distinct(touches: Iterable[Touch]) -> frozenset[Touch]:
    """Each touch once."""
    return frozenset({touch.key: touch for touch in touches}.values())


def carried(touch: Touch, node: Any) -> Touch:
    """What a step of a loop leaves, as its next step sees it."""
    if not isinstance(node, For):
        return left(touch, node)
    back = {node.loop_var: node.loop_var - const(1, dtype_of(node.loop_var))}
    slot = None if _is_bound(touch.slot, node.body) else substitute(touch.slot, back)
    return replace(touch, slot=slot, crossed=_crossed(touch, node))


def left(touch: Touch, node: Any) -> Touch:
    """What is left behind a loop: its variable has no value there."""
    slot = None if _is_bound(touch.slot, node) else touch.slot
    return replace(touch, slot=slot, crossed=_crossed(touch, node))


def _crossed(touch: Touch, node: Any) -> tuple[For, ...] | bool:
    if isinstance(touch.crossed, bool) or not isinstance(node, For):
        return False
    return touch.crossed if any(node.same_as(loop) for loop in touch.crossed) else (*touch.crossed, node)


def _is_bound(index: Any, node: Any) -> bool:
    """Is it about variables of ``node``?"""
    if index is None:
        return True
    return bool(variables(index) & ({f.loop_var for f in collect(node, For)} | {b.var for b in collect(node, Bind)}))


def apart(a: Any, b: Any) -> bool:
    """Are two first indices slots of a ring that are never the same: (x + c) % n and (x + d) % n? One of them may be
    without its remainder, where that is known to change nothing."""
    if a is None or b is None:
        return False
    known = constant(a), constant(b)
    if None not in known:
        return known[0] != known[1]
    sizes = {constant(index.b) for index in (a, b) if isinstance(index, FloorMod)}
    size = sizes.pop() if len(sizes) == 1 else None
    if size is None:
        return False
    a, b = (index.a if isinstance(index, FloorMod) else index for index in (a, b))
    distance = constant(Analyzer().simplify(a - b))
    return distance is not None and distance % size != 0
