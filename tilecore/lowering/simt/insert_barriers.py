"""Inserts barriers between conflicting accesses of different threads, and only there.

A forward data-flow analysis of the accesses since the last barrier (:class:`PendingAccess`). A barrier is inserted
before a statement if one of its accesses conflicts with a pending one (analysis/accesses.py). A loop is analyzed with
the accesses that earlier iterations leave pending, until a further iteration adds no new ones. Accesses of shared
memory count, and of those buffers in global memory that the kernel writes, under each name that they may have. The
iterations of a T.Parallel nest do not conflict, as the language requires, so a nest counts as one statement.

Code of a range of threads (ir/thread_ranges.py) gets barriers of these threads. No barriers are inserted between ranges
without a common thread: the kernel orders them by its own barriers.
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
from tilecore.ir.intrinsics import DIRECTED, ROUNDED
from tilecore.ir.nodes import (
    EQ,
    AttrStmt,
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
from tilecore.ir.thread_calls import NAMED_BARRIER
from tilecore.ir.thread_ranges import ThreadRange, has_ranges, number_in, range_of
from tilecore.ir.tile_ops import is_barrier, tile_statement
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import children, collect, defined_variables, loads, variables
from tilecore.lowering.analysis.kernels import ThreadAxis, Threads, each_kernel
from tilecore.lowering.analysis.uniformity import Uniformity
from tilecore.lowering.simt.analysis.accesses import (
    ConflictAnalysis,
    PendingAccess,
    after_loop,
    distinct,
    ended_loop,
    in_next_iteration,
    overlapping,
)
from tilecore.lowering.simt.analysis.asynchronous import ASYNC_NEST
from tilecore.lowering.simt.analysis.may_alias import may_alias_parameters
from tilecore.lowering.simt.analysis.parallel_nests import Access, accesses_of
from tilecore.lowering.simt.reached_barriers import check_reached
from tilecore.lowering.simt.state import AliasedParameters, SharedPlan, UniformBuffers

FOREIGN = ("call_extern", "call_pure_extern", "address_of")  # calls with unknown accesses
MOST_PENDING = 64  # accesses, above which those with the same key become one
MAX_ITERATIONS = 17  # iterations of a loop that the slots of a circular buffer distinguish


def insert_barriers(func: PrimFunc, env: PassEnv) -> PrimFunc:
    aliased = AliasedParameters()
    env.publish(aliased)

    def change(body: Stmt, threads: Threads) -> Stmt:
        if threads.count == 1:
            return body
        inserter = _Inserter(func, body, threads, env)
        with_barriers, _ = inserter.statement(body, frozenset())
        if inserter.is_divided:
            check_reached(with_barriers, inserter.uniformity)
        aliased.names |= inserter.conflict_analysis.aliased
        env.note("barriers", {"inserted": len(collect_barriers(with_barriers)) - len(collect_barriers(body))})
        return with_barriers

    return func.with_body(each_kernel(func.body, change))


def collect_barriers(body: Stmt) -> list[Evaluate]:
    return [node for node in collect(body, Evaluate) if is_barrier(node)]


State = frozenset  # of PendingAccess


@dataclass
class _Iteration:
    """An iteration of a loop.

    condition_accesses: the accesses of the condition of a while loop, before the next iteration. at_break, at_continue:
    the pending accesses where a ``break`` leaves the loop, and where a ``continue`` ends the iteration.
    """

    condition_accesses: list[PendingAccess]
    at_break: State = frozenset()
    at_continue: State = frozenset()


class _Inserter:
    """Inserts the barriers of one range of threads. ``inserter_of`` gives the inserter of a range inside it."""

    def __init__(self, func: PrimFunc, body: Stmt, threads: Threads, env: PassEnv) -> None:
        self.body, self.threads = body, ThreadRange(0, threads.count)
        self.inner: dict[ThreadRange, _Inserter] = {}
        self.is_divided = has_ranges(body)
        self.uniformity = Uniformity(body, threads, env.state(UniformBuffers).buffers)
        self.roots = memory_roots(body)
        self.thread_index = Analyzer().simplify(threads.linear_index())
        accesses = accesses_of(body)
        stored = {self.root(a.buffer) for a in accesses if a.writes}
        aliases = may_alias_parameters(func, {self.root(a.buffer) for a in accesses}, stored)
        self.conflict_analysis = ConflictAnalysis(threads, body, env.state(SharedPlan).places, aliases)
        self.tracked = {b for b in stored if is_shared(b) or is_global(b)} | set(aliases)
        # memory that only asynchronous copies write may become that of a buffer that threads write
        self.tracked |= overlapping(env.state(SharedPlan).places, stored)
        self.cached_accesses: dict[Any, list[PendingAccess]] = {}
        self.most_pending = MOST_PENDING
        self.iterations: list[_Iteration] = []  # of the enclosing loops, the innermost last; one list for all ranges

    def root(self, buffer: Var) -> Var:
        return self.roots.get(buffer, buffer)

    def _has_ranges(self, node: Any) -> bool:
        return self.is_divided and has_ranges(node)

    def inserter_of(self, node: AttrStmt) -> _Inserter:
        threads = range_of(node)
        assert threads is not None
        if threads not in self.inner:
            inserter = copy(self)
            inserter.threads, inserter.thread_index = threads, number_in(node)
            inserter.inner, inserter.cached_accesses = {}, {}
            axis = ThreadAxis("x", number_in(node), threads.count)
            inserter.conflict_analysis = self.conflict_analysis.of_threads(Threads((axis,)), self.body)
            self.inner[threads] = inserter
        return self.inner[threads]

    # -- statements: (the statement with its barriers, the accesses that are pending after it) ----------------------

    def statement(self, node: Stmt, state: State) -> tuple[Stmt, State]:
        if isinstance(node, SeqStmt):
            return self._sequence(node, state)
        if range_of(node) is not None:
            return self._ranged(node, state)
        if isinstance(node, AttrStmt) and node.attr_key != StatementAttr.NEST:
            body, after = self.statement(node.body, state)
            return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span), after
        if is_barrier(node) or self._waits_by_name(node):
            return node, frozenset()
        if isinstance(node, Continue):
            rewritten, state = self._before_condition(node, state)
            self.iterations[-1].at_continue |= state
            return rewritten, frozenset()  # the code after it is unreachable
        if isinstance(node, Break):
            self.iterations[-1].at_break |= state
            return node, frozenset()
        is_vector = isinstance(node, For) and LoopAttr.LANES in node.annotations  # whose lanes are one access
        if isinstance(node, (For, While, IfThenElse)) and (is_vector or self._only_reads(node)):
            return self._simple(node, state, after_loop(self._accesses(node), node))
        if isinstance(node, (For, While)) and not self._is_divergent(node):
            return self._loop(node, state)
        if isinstance(node, IfThenElse) and not self._is_divergent(node):
            return self._branch(node, state)
        return self._simple(node, state, self._accesses(node))

    def _waits_by_name(self, node: Stmt) -> bool:
        """Is the statement a named barrier at which all threads of the range wait, perhaps with others?"""
        if not isinstance(node, Evaluate) or op_name(node.value) != NAMED_BARRIER:
            return False
        return (constant(node.value.args[1]) or 0) >= self.threads.count

    def _simple(self, node: Stmt, state: State, node_accesses: Sequence[PendingAccess]) -> tuple[Stmt, State]:
        if self._needs_barrier(state, node_accesses):
            return seq([tile_statement("sync_threads", []), node]), frozenset(node_accesses)
        return node, self._joined(state, node_accesses)

    def _joined(self, state: State, node_accesses: Sequence[PendingAccess]) -> State:
        """All pending accesses. In long code one of those with the same key is kept, but not in loops: they tell their
        own accesses from those before them."""
        joined = state | frozenset(node_accesses)
        if self.iterations or len(joined) < self.most_pending:
            return joined
        joined = distinct(joined)
        self.most_pending = max(MOST_PENDING, 2 * len(joined))
        return joined

    def _only_reads(self, node: Stmt) -> bool:
        """Does the statement only read tracked memory, without barriers and jumps? Then it needs no barriers inside."""
        if isinstance(node, IfThenElse) and collect(node, Break, Continue):
            return False
        return not any(t.writes for t in self._accesses(node)) and not collect_barriers(node)

    def _is_divergent(self, node: Stmt) -> bool:
        """Is the statement divergent, so that it cannot contain barriers, except those of ranges of threads in it?"""
        return self.uniformity.is_divergent(node, self.threads) and not self._has_ranges(node)

    def _sequence(self, node: SeqStmt, state: State) -> tuple[Stmt, State]:
        parts = []
        for index, part in enumerate(node.seq):
            if state and self._has_ranges(part):  # before the first of several roles, which run concurrently
                roles = [role for role in node.seq[index:] if self._has_ranges(role)]
                if self._needs_barrier(state, [touch for role in roles for touch in self._accesses(role)]):
                    parts.append(tile_statement("sync_threads", []))
                    state = frozenset()
            rewritten, state = self.statement(part, state)
            parts.append(rewritten)
        return seq(parts), state

    def _ranged(self, node: Any, state: State) -> tuple[Stmt, State]:
        inner, node_accesses = self.inserter_of(node), self._accesses(node)
        before: list[Stmt] = []
        if self._needs_barrier(state, node_accesses):
            state, before = frozenset(), [tile_statement("sync_threads", [])]
        body, after = inner.statement(node.body, state)
        rewritten = AttrStmt(node.node, node.attr_key, node.value, body, span=node.span)
        # the threads of the range are ordered among themselves, but the other threads have not waited for them
        ordered = [replace(access, is_ordered_within=True) for access in after_loop(node_accesses, node)]
        return seq([*before, rewritten]), distinct([*state, *after, *ordered])

    def _loop(self, node: Any, state: State) -> tuple[Stmt, State]:
        state, before = self._head(node, state)
        if isinstance(node, For):
            self.conflict_analysis.enclosing_loops.append(node)
        body, after, broken = self._iterate(node, state)
        if isinstance(node, For):
            self.conflict_analysis.enclosing_loops.pop()
        after = distinct(ended_loop((after | broken) - state, node))  # those before the loop are unchanged
        loop = with_body(node, body) if isinstance(node, For) else While(node.condition, body, span=node.span)
        return seq([*before, loop]), distinct([*state, *after])

    def _iterate(self, node: Any, state: State) -> tuple[Stmt, State, State]:
        """Analyzes iterations of a loop until a further one leaves no new accesses pending (a fixed point)."""
        body, after, broken = self._iteration(node, state)
        coarse = self._coarse_iteration(node, state, body, after)
        if coarse is not None:
            return coarse
        entered = state
        for index in range(MAX_ITERATIONS):
            more = self._loop_carried(after, state, node, forget=index == MAX_ITERATIONS - 1)
            reached = distinct([*entered, *more])
            if len(reached) == len(distinct(entered)):
                break
            entered = reached
            body, after, broken = self._iteration(node, entered)
        return body, after, broken

    def _coarse_iteration(self, node: Any, state: State, body: Stmt, after: State) -> tuple[Stmt, State, State] | None:
        """One iteration that stands for all later ones, as it ignores which slot an earlier iteration accessed.

        The result is None if it needs further barriers: then iterations are analyzed one by one. Otherwise this saves
        the repeated analysis of nested loops.
        """
        aliased = set(self.conflict_analysis.aliased)
        loop_carried = self._loop_carried(after, state, node, forget=False)
        entered = distinct([*state, *after_loop(loop_carried, node)])
        coarse = self._iteration(node, entered)
        if len(collect_barriers(coarse[0])) == len(collect_barriers(body)):
            return coarse
        self.conflict_analysis.aliased.intersection_update(aliased)
        return None

    def _loop_carried(self, after: State, state: State, node: Any, forget: bool) -> list[PendingAccess]:
        """The accesses that an iteration leaves pending for the next one. forget: without their slots."""
        new = after - state
        if isinstance(node, For) and LoopAttr.USER_BLOCKS in node.annotations:
            new = frozenset(t for t in new if not is_global(t.memory))
        loop_carried = in_next_iteration(new, node)
        return [replace(access, slot=None) for access in loop_carried] if forget else loop_carried

    def _iteration(self, node: Any, state: State) -> tuple[Stmt, State, State]:
        """An iteration of a loop: its code, and the accesses that are pending at its end and at a ``break``."""
        self.iterations.append(_Iteration(self._accesses(node.condition) if isinstance(node, While) else []))
        body, after = self.statement(node.body, state)
        body, after = self._before_condition(body, after, at_end=True)
        iteration = self.iterations.pop()
        return body, after | iteration.at_continue, iteration.at_break

    def _before_condition(self, node: Stmt, state: State, at_end: bool = False) -> tuple[Stmt, State]:
        """``node``, which ends an iteration, with a barrier if the condition of the loop reads what the iteration
        wrote.

        at_end: the barrier stands after ``node``, not before it.
        """
        if not self._needs_barrier(state, self.iterations[-1].condition_accesses):
            return node, state
        barrier = tile_statement("sync_threads", [])
        return seq([node, barrier] if at_end else [barrier, node]), frozenset()

    def _head(self, node: Any, state: State) -> tuple[State, list[Stmt]]:
        """The state after the loads of the bounds of a loop or of a condition, and the barrier before them, if any."""
        head_accesses = self._head_accesses(node)
        if self._needs_barrier(state, head_accesses):
            return frozenset(head_accesses), [tile_statement("sync_threads", [])]
        return state | frozenset(head_accesses), []

    def _head_accesses(self, node: Any) -> list[PendingAccess]:
        heads = [getattr(node, name, None) for name in ("min", "extent", "condition")]
        return [t for head in heads if head is not None for t in self._accesses(head)]

    def _branch(self, node: IfThenElse, state: State) -> tuple[Stmt, State]:
        sides = [node.then_case, *([] if node.else_case is None else [node.else_case])]
        head = self._head_accesses(node)
        before: list[Stmt] = []
        if self._needs_barrier(state, [*head, *(touch for side in sides for touch in self._accesses(side))]):
            state, before = frozenset(), [tile_statement("sync_threads", [])]  # one for the condition and both sides
        state |= frozenset(head)  # threads read the condition after that barrier: a side may need its own
        then, after_then = self.statement(node.then_case, state)
        other, after_other = None, state
        if node.else_case is not None:
            other, after_other = self.statement(node.else_case, state)
        branch = IfThenElse(node.condition, then, other, span=node.span)
        return seq([*before, branch]), after_then | after_other

    # -- accesses and conflicts -----------------------------------------------------------------------------------

    def _accesses(self, node: Any) -> list[PendingAccess]:
        accesses = self.cached_accesses.get(node)
        if accesses is None:
            accesses = self.cached_accesses[node] = (
                self._accesses_of_parts(node) if self._has_ranges(node) else self._direct_accesses(node)
            )
        return accesses

    def _accesses_of_parts(self, node: Any) -> list[PendingAccess]:
        if range_of(node) is not None:
            return self.inserter_of(node)._accesses(node.body)
        heads = (getattr(node, name, None) for name in ("min", "extent", "condition"))
        parts = [*(head for head in heads if head is not None), *children(node)]
        return [touch for part in parts for touch in self._accesses(part)]

    def _direct_accesses(self, node: Any) -> list[PendingAccess]:
        partitioned, single = self._is_partitioned(node), _is_plain(node)
        defined = defined_variables(node)
        accesses = (access for access in accesses_of(node) if self.root(access.buffer) in self.tracked)
        return [self._pending(access, partitioned, single, defined) for access in accesses]

    def _pending(self, access: Access, partitioned: bool, single: bool, defined: set[Var]) -> PendingAccess:
        is_whole = access.buffer is self.root(access.buffer)
        indices = access.indices if is_whole else None
        slot = access.indices[0] if is_whole and len(access.indices) > 1 else None
        if slot is not None and not self._is_uniform_slot(slot, defined):
            slot = None
        memory = self.root(access.buffer)
        return PendingAccess(
            memory, indices, slot, access.writes, access.atomic, partitioned, single, threads=self.threads
        )

    def _is_uniform_slot(self, index: Any, defined: set[Var]) -> bool:
        """Is the index the same for all threads, and constant within an iteration of the enclosing loop?

        Then slots can be compared by their expressions. defined: the variables that the statement itself defines.
        """
        return not (loads(index) or variables(index) & defined or self.uniformity.varies(index, self.threads))

    def _is_partitioned(self, node: Any) -> bool:
        """Is the statement a nest without asynchronous copies, or code of one thread?"""
        if isinstance(node, AttrStmt) and node.attr_key == StatementAttr.NEST:
            return constant(node.value) != ASYNC_NEST
        if not isinstance(node, IfThenElse) or not isinstance(node.condition, EQ):
            return False
        return constant(node.condition.b) is not None and structural_equal(node.condition.a, self.thread_index)

    def _needs_barrier(self, state: Iterable[PendingAccess], node_accesses: Sequence[PendingAccess]) -> bool:
        """Does a pending access conflict with one of these? All pairs are checked, to note all aliasing parameters."""
        of_memory: dict[Var, list[PendingAccess]] = {}
        for access in node_accesses:
            for memory in self.conflict_analysis.meeting(access.memory):
                of_memory.setdefault(memory, []).append(access)
        pairs = [(a, b) for a in state for b in of_memory.get(a.memory, ()) if self._would_order(a, b)]
        conflicts = [self.conflict_analysis.conflict(a, b) for a, b in pairs]
        return any(conflicts)

    def _would_order(self, a: PendingAccess, b: PendingAccess) -> bool:
        """Would a barrier of the threads of this range order the two accesses, which are not ordered yet?"""
        if self.threads not in (a.threads, b.threads) or not a.threads.meets(b.threads):
            return False
        return not (a.is_ordered_within and a.threads == self.threads)


def _is_plain(node: Any) -> bool:
    """Does the code only load and store elements, without operations of a warp and asynchronous copies?"""
    if isinstance(node, AttrStmt) and node.attr_key == StatementAttr.NEST and constant(node.value) == ASYNC_NEST:
        return False
    names = {op_name(call) for call in collect(node, Call)} - {ROUNDED, DIRECTED}
    return not any("." in name or name in FOREIGN for name in names)


INSERT_BARRIERS = Pass(
    "insert_barriers", insert_barriers, needs=(SharedPlan, UniformBuffers), leaves=(AliasedParameters,)
)
