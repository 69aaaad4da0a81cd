"""Puts a barrier where one thread reads or overwrites what another wrote or read, and only there.

Memory that threads share is shared memory and what a kernel writes of global memory, under each name it may have. The
threads of a nest never meet in it (that is what T.Parallel promises), so a nest is one statement here.

Code of some threads of the block (ir/thread_ranges.py) has barriers of these threads. Between the code of ranges that
have no thread in common there are none: the kernel orders them by barriers of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import LoopAttr, StatementAttr
from tilecore.ir.build import constant, op_name, seq, with_body
from tilecore.ir.intrinsics import ROUNDED
from tilecore.ir.nodes import (
    EQ,
    AttrStmt,
    Bind,
    Break,
    Call,
    Continue,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    While,
    structural_equal,
)
from tilecore.ir.scopes import is_global, is_shared
from tilecore.ir.thread_ranges import ThreadRange, has_ranges, number_in, range_of
from tilecore.ir.tile_ops import tile_statement
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import children, collect, loads, variables
from tilecore.lowering.analysis.kernels import ThreadAxis, Threads, each_kernel
from tilecore.lowering.analysis.uniformity import Uniformity
from tilecore.lowering.simt.analysis.accesses import ConflictAnalysis, PendingAccess, carried, distinct, left
from tilecore.lowering.simt.analysis.asynchronous import ASYNC_NEST
from tilecore.lowering.simt.analysis.may_alias import may_alias_parameters
from tilecore.lowering.simt.analysis.parallel_nests import Access, accesses_of
from tilecore.lowering.simt.reached_barriers import check_reached
from tilecore.lowering.simt.state import AliasedParameters, SharedPlan, UniformBuffers

FOREIGN = ("call_extern", "call_pure_extern", "address_of")  # what they touch is not known
BARRIER = "tile.sync_threads"
MOST_ROUNDS = 17  # steps of a loop that are told apart, by the slot of a ring that each is at


def insert_barriers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    aliased = AliasedParameters()
    env.publish(aliased)

    def change(body: Stmt, threads: Threads) -> Stmt:
        if threads.count == 1:
            return body
        inserter = _Inserter(func, body, threads, env)
        made, _ = inserter.statement(body, frozenset())
        if inserter.is_divided:
            check_reached(made, inserter.uniformity)
        aliased.names |= inserter.meetings.aliased
        env.note("barriers", {"inserted": len(collect_barriers(made)) - len(collect_barriers(body))})
        return made

    return func.with_body(each_kernel(func.body, change))


def collect_barriers(body: Stmt) -> list[Evaluate]:
    return [node for node in collect(body, Evaluate) if is_barrier(node)]


def is_barrier(node: Any) -> bool:
    return isinstance(node, Evaluate) and op_name(node.value) == BARRIER


State = frozenset  # of PendingAccess


@dataclass
class _Step:
    """A step of a loop. again: what the loop's condition touches when the next step begins. left, ended: what has been
    touched where a ``break`` leaves the loop, and where a ``continue`` ends the step."""

    again: list[PendingAccess]
    left: State = frozenset()
    ended: State = frozenset()


class _Inserter:
    """For the code of one range of threads; ``inside`` is for that of one inside of it, within the same loops."""

    def __init__(self, func: PrimFunc, body: Stmt, threads: Threads, env: PassEnv) -> None:
        self.body, self.threads = body, ThreadRange(0, threads.count)
        self.inner: dict[ThreadRange, _Inserter] = {}
        self.is_divided = has_ranges(body)
        self.uniformity = Uniformity(body, threads, env.state(UniformBuffers).buffers)
        self.roots = memory_roots(body)
        self.number = Analyzer().simplify(threads.linear_index())
        accesses = accesses_of(body)
        stored = {self.root(a.buffer) for a in accesses if a.writes}
        aliases = may_alias_parameters(func, {self.root(a.buffer) for a in accesses}, stored)
        self.meetings = ConflictAnalysis(threads, body, env.state(SharedPlan).places, aliases)
        self.common = {b for b in stored if is_shared(b) or is_global(b)} | set(aliases)
        self.touches: dict[Any, list[PendingAccess]] = {}
        self.steps: list[_Step] = []  # of the loops around, the innermost last; one list for all ranges

    def root(self, buffer: Var) -> Var:
        return self.roots.get(buffer, buffer)

    def _has_ranges(self, node: Any) -> bool:
        return self.is_divided and has_ranges(node)

    def inside(self, node: AttrStmt) -> _Inserter:
        threads = range_of(node)
        assert threads is not None
        if threads not in self.inner:
            made = copy(self)
            made.threads, made.number, made.inner, made.touches = threads, number_in(node), {}, {}
            axis = ThreadAxis("x", number_in(node), threads.count)
            made.meetings = self.meetings.of_threads(Threads((axis,)), self.body)
            self.inner[threads] = made
        return self.inner[threads]

    # -- statements: (the statement with its barriers, what is touched after it since the last one) -----------------

    def statement(self, node: Stmt, state: State) -> tuple[Stmt, State]:
        if isinstance(node, SeqStmt):
            return self._sequence(node, state)
        if range_of(node) is not None:
            return self._ranged(node, state)
        if isinstance(node, AttrStmt) and node.attr_key != StatementAttr.NEST:
            body, after = self.statement(node.body, state)
            return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span), after
        if is_barrier(node):
            return node, frozenset()
        if isinstance(node, Continue):
            made, state = self._before_condition(node, state)
            self.steps[-1].ended |= state
            return made, frozenset()  # nothing is behind it
        if isinstance(node, Break):
            self.steps[-1].left |= state
            return node, frozenset()
        if isinstance(node, (For, While, IfThenElse)) and self._only_reads(node):
            return self._simple(node, state, [left(t, node) for t in self._touched(node)])
        if isinstance(node, (For, While)) and not self._is_one(node):
            return self._loop(node, state)
        if isinstance(node, IfThenElse) and not self._is_one(node):
            return self._branch(node, state)
        return self._simple(node, state, self._touched(node))

    def _simple(self, node: Stmt, state: State, touched: Sequence[PendingAccess]) -> tuple[Stmt, State]:
        if self._meets(state, touched):
            return seq([tile_statement("sync_threads", []), node]), frozenset(touched)
        return node, state | frozenset(touched)

    def _only_reads(self, node: Stmt) -> bool:
        """Nothing in it is written that another thread sees: no barrier is needed inside, and nobody leaves there."""
        if isinstance(node, IfThenElse) and collect(node, Break, Continue):
            return False
        return not any(t.writes for t in self._touched(node)) and not collect_barriers(node)

    def _is_one(self, node: Stmt) -> bool:
        """Threads go through it on their own: no barrier can be in it. Ranges in it may have barriers of their own."""
        return self.uniformity.is_divergent(node, self.threads) and not self._has_ranges(node)

    def _sequence(self, node: SeqStmt, state: State) -> tuple[Stmt, State]:
        parts = []
        for number, part in enumerate(node.seq):
            if state and self._has_ranges(part):  # before the first of several roles: the others run at the same time
                roles = [role for role in node.seq[number:] if self._has_ranges(role)]
                if self._meets(state, [touch for role in roles for touch in self._touched(role)]):
                    parts.append(tile_statement("sync_threads", []))
                    state = frozenset()
            made, state = self.statement(part, state)
            parts.append(made)
        return seq(parts), state

    def _ranged(self, node: Any, state: State) -> tuple[Stmt, State]:
        inner, touched = self.inside(node), self._touched(node)
        before: list[Stmt] = []
        if self._meets(state, touched):
            state, before = frozenset(), [tile_statement("sync_threads", [])]
        body, after = inner.statement(node.body, state)
        made = AttrStmt(node.node, node.attr_key, node.value, body, span=node.span)
        settled = [replace(left(t, node), settled=True) for t in touched]  # among themselves; others have not waited
        return seq([*before, made]), distinct([*state, *after, *settled])

    def _loop(self, node: Any, state: State) -> tuple[Stmt, State]:
        state, before = self._head(node, state)
        if isinstance(node, For):
            self.meetings.around.append(node)
        body, after, broken = self._rounds(node, state)
        if isinstance(node, For):
            self.meetings.around.pop()
        after = distinct(left(t, node) for t in (after | broken) - state)  # what was before it has not changed
        made = with_body(node, body) if isinstance(node, For) else While(node.condition, body, span=node.span)
        return seq([*before, made]), distinct([*state, *after])

    def _rounds(self, node: Any, state: State) -> tuple[Stmt, State, State]:
        """As many steps of a loop as can bring something new."""
        body, after, broken = self._round(node, state)
        coarse = self._coarse_round(node, state, body, after)
        if coarse is not None:
            return coarse
        entered = state
        for number in range(MOST_ROUNDS):  # until a further step brings nothing new: a ring's slots are far apart
            more = self._carried(after, state, node, forget=number == MOST_ROUNDS - 1)
            reached = distinct([*entered, *more])
            if len(reached) == len(distinct(entered)):
                break
            entered = reached
            body, after, broken = self._round(node, entered)
        return body, after, broken

    def _coarse_round(self, node: Any, state: State, body: Stmt, after: State) -> tuple[Stmt, State, State] | None:
        """A step after all others, which forgets the slots that a step has for itself. None: barriers are needed then,
        so the steps are looked at one by one. Loops in one another would otherwise repeat each other's steps."""
        aliased = set(self.meetings.aliased)
        entered = distinct([*state, *(left(touch, node) for touch in self._carried(after, state, node, forget=False))])
        made = self._round(node, entered)
        if len(collect_barriers(made[0])) == len(collect_barriers(body)):
            return made
        self.meetings.aliased.intersection_update(aliased)
        return None

    def _carried(self, after: State, state: State, node: Any, forget: bool) -> list[PendingAccess]:
        """What a step leaves, as the next one sees it. forget: which slot of a ring it was."""
        new = after - state
        if isinstance(node, For) and LoopAttr.USER_BLOCKS in node.annotations:
            new = frozenset(t for t in new if not is_global(t.memory))
        touches = [carried(touch, node) for touch in new]
        return [replace(touch, slot=None) for touch in touches] if forget else touches

    def _round(self, node: Any, state: State) -> tuple[Stmt, State, State]:
        """A step of a loop: (its code, what is touched when the next one begins, what is when a ``break`` ends it)."""
        self.steps.append(_Step(self._touched(node.condition) if isinstance(node, While) else []))
        body, after = self.statement(node.body, state)
        body, after = self._before_condition(body, after, at_end=True)
        step = self.steps.pop()
        return body, after | step.ended, step.left

    def _before_condition(self, node: Stmt, state: State, at_end: bool = False) -> tuple[Stmt, State]:
        """A step ends at ``node``, or behind it: with a barrier where the loop's condition reads what it wrote."""
        if not self._meets(state, self.steps[-1].again):
            return node, state
        barrier = tile_statement("sync_threads", [])
        return seq([node, barrier] if at_end else [barrier, node]), frozenset()

    def _head(self, node: Any, state: State) -> tuple[State, list[Stmt]]:
        """The loads of a loop's bounds, a while's condition or an if's."""
        touched = self._head_touches(node)
        if self._meets(state, touched):
            return frozenset(touched), [tile_statement("sync_threads", [])]
        return state | frozenset(touched), []

    def _head_touches(self, node: Any) -> list[PendingAccess]:
        heads = [getattr(node, name, None) for name in ("min", "extent", "condition")]
        return [t for head in heads if head is not None for t in self._touched(head)]

    def _branch(self, node: IfThenElse, state: State) -> tuple[Stmt, State]:
        sides = [node.then_case, *([] if node.else_case is None else [node.else_case])]
        head = self._head_touches(node)
        before: list[Stmt] = []
        if self._meets(state, [*head, *(touch for side in sides for touch in self._touched(side))]):
            state, before = frozenset(), [tile_statement("sync_threads", [])]  # one for both sides and what follows
        state |= frozenset(head)  # threads read the condition behind that barrier: the sides have one of their own
        then, after_then = self.statement(node.then_case, state)
        other, after_other = None, state
        if node.else_case is not None:
            other, after_other = self.statement(node.else_case, state)
        made = IfThenElse(node.condition, then, other, span=node.span)
        return seq([*before, made]), after_then | after_other

    # -- what meets -----------------------------------------------------------------------------------------------

    def _touched(self, node: Any) -> list[PendingAccess]:
        found = self.touches.get(node)
        if found is None:
            found = self.touches[node] = (
                self._parts_touched(node) if self._has_ranges(node) else self._own_touched(node)
            )
        return found

    def _parts_touched(self, node: Any) -> list[PendingAccess]:
        if range_of(node) is not None:
            return self.inside(node)._touched(node.body)
        heads = (getattr(node, name, None) for name in ("min", "extent", "condition"))
        parts = [*(head for head in heads if head is not None), *children(node)]
        return [touch for part in parts for touch in self._touched(part)]

    def _own_touched(self, node: Any) -> list[PendingAccess]:
        partitioned, single = self._is_partitioned(node), _is_plain(node)
        inside = {n.loop_var for n in collect(node, For)} | {n.var for n in collect(node, Bind)}
        return [
            self._touch(a, partitioned, single, inside) for a in accesses_of(node) if self.root(a.buffer) in self.common
        ]

    def _touch(self, access: Access, partitioned: bool, single: bool, inside: set[Var]) -> PendingAccess:
        whole = access.buffer is self.root(access.buffer)
        place = access.indices if whole else None
        slot = access.indices[0] if whole and len(access.indices) > 1 else None
        if slot is not None and not self._is_one_slot(slot, inside):
            slot = None
        memory = self.root(access.buffer)
        return PendingAccess(
            memory, place, slot, access.writes, access.atomic, partitioned, single, threads=self.threads
        )

    def _is_one_slot(self, index: Any, inside: set[Var]) -> bool:
        """Is the index the same for all threads, and does it keep its value until a loop goes on? Then indices can be
        told apart by their text alone. inside: variables that change in the statement of the access."""
        return not (loads(index) or variables(index) & inside or self.uniformity.varies(index, self.threads))

    def _is_partitioned(self, node: Any) -> bool:
        """A nest whose copies are there when it ends, or what one thread does."""
        if isinstance(node, AttrStmt) and node.attr_key == StatementAttr.NEST:
            return constant(node.value) != ASYNC_NEST
        if not isinstance(node, IfThenElse) or not isinstance(node.condition, EQ):
            return False
        return constant(node.condition.b) is not None and structural_equal(node.condition.a, self.number)

    def _meets(self, state: Iterable[PendingAccess], touched: Sequence[PendingAccess]) -> bool:
        """Do any of them need a barrier? Every pair is looked at, so that all aliasing parameters are noted."""
        conflicts = [self.meetings.conflict(a, b) for a in state for b in touched if self._is_for_us(a, b)]
        return any(conflicts)

    def _is_for_us(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Would a barrier of these threads order them?"""
        if self.threads not in (a.threads, b.threads) or not a.threads.meets(b.threads):
            return False
        return not (a.settled and a.threads == self.threads)


def _is_plain(node: Any) -> bool:
    """Loads and stores of elements only: no operation of a warp, no copy that lands later."""
    if isinstance(node, AttrStmt) and node.attr_key == StatementAttr.NEST and constant(node.value) == ASYNC_NEST:
        return False
    names = {op_name(call) for call in collect(node, Call)} - {ROUNDED}
    return not any("." in name or name in FOREIGN for name in names)


INSERT_BARRIERS = Pass(
    "insert_barriers", insert_barriers, needs=(SharedPlan, UniformBuffers), leaves=(AliasedParameters,)
)
