"""Inserts waits for wgmma groups, each as late as possible. For T.wgmma_gemm the kernel itself waits.

A group runs asynchronously from where it is issued. Until it has ended, no statement may access its accumulators, write
the registers or the tiles that it reads, or release a slot that it reads. Further groups may be issued, also into the
same accumulators. The wait stands in front of the first statement that does one of these, and leaves as many later
groups running as possible. Groups that read a tile which threads write after a barrier have ended before the last
barrier in front of the write.

With TL_LATE_RELEASES a release of a slot makes no wait where later statements of its block of code do not need the
product that reads the slot: it moves behind them, up to the first wait that ends the product, or to an mbarrier's wait.
So other products and the work on their results run beside the product, and the slot is free later.

ptxas then needs help, or it serializes all products of the kernel (C7518, C7520; CUDA 13.0). It forgets the wait at the
end of an iteration, so the next one begins with the wait again, which costs nothing. And it moves the packing of two
halves of A into a register behind the fence of the group, so a register fence stands in front of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaStatementAttr
from tile_cuda.lowering.hopper.barrier_writes import BarrierWrites, waits_for_threads
from tile_cuda.lowering.hopper.overlap_wgmma import is_release
from tile_cuda.lowering.hopper.wgmma import EXPLICIT_WAIT, issues_wgmma
from tile_cuda.options import LATE_RELEASES
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, constant, dtype_of, load, op_name, seq, statements_of, with_body
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Break,
    BufferStore,
    Call,
    Continue,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    While,
)
from tilecore.ir.thread_ranges import ThreadRange, range_of
from tilecore.ir.tile_op_table import SYNC_THREADS
from tilecore.ir.visit import collect, defined_variables, jumps_out, substitute, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.simt.analysis.accesses import overlapping, slots_differ
from tilecore.lowering.simt.state import SharedPlan

MOST_GROUPS = 4  # groups that are distinguished; older ones are merged into the oldest of them
MOST_ROUNDS = 6  # over a loop before the indices of its slots count as unknown
_READING = (instructions.STMATRIX, instructions.TMA_STORE, "if_then_else")


@dataclass(frozen=True)
class Group:
    """A wgmma group that may still run.

    accumulators: the registers that it writes. read: the registers that it reads. tiles: the tiles in shared memory
    that it reads, each with its first index (None: unknown). explicit: the kernel itself waits for it. threads: the
    threads whose code issued it; None: all.
    """

    accumulators: frozenset[Var] = frozenset()
    read: frozenset[Var] = frozenset()
    tiles: tuple[tuple[Var, Any], ...] = ()
    explicit: bool = False
    threads: ThreadRange | None = None

    def merged_with(self, other: Group) -> Group:
        tiles = {(tile, str(slot)): (tile, slot) for tile, slot in (*self.tiles, *other.tiles)}
        explicit = self.explicit and other.explicit
        accumulators = self.accumulators | other.accumulators
        return Group(accumulators, self.read | other.read, tuple(tiles.values()), explicit, self.threads)

    @property
    def key(self) -> Any:
        tiles = frozenset((tile, str(slot)) for tile, slot in self.tiles)
        return self.accumulators, self.read, tiles, self.explicit, self.threads


State = tuple[Group, ...]  # the groups that may run, the youngest first


def wait_wgmma(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def change(body: Stmt, threads: Threads) -> Stmt:
        if not issues_wgmma(body):
            return body
        waits = _Waits(body, env.state(SharedPlan).places, bool(LATE_RELEASES.value_in(env.config)))
        lowered, state = waits.statement(body, ())
        return seq([lowered, *waits.wait(state, next(iter(_unwaited_ages(state)), len(state)))])

    return func.with_body(each_kernel(func.body, change))


class _Waits:
    """Inserts waits. Each method returns the statement with its waits and the groups that run after it."""

    def __init__(self, body: Stmt, places: Mapping[Var, tuple[int, int]], has_late_releases: bool = False) -> None:
        self.has_late_releases = has_late_releases
        self.barrier_writes, self.places = BarrierWrites(body), places
        self.threads: ThreadRange | None = None  # the threads that run the current code
        self.jumps: list[dict[type, State]] = []  # for each enclosing loop: the groups that run at breaks and continues
        self.written: frozenset[Var] = frozenset()  # what the innermost loop around the code writes
        self.in_scope: frozenset[Var] = frozenset()  # the registers whose allocations are in scope

    def statement(self, node: Stmt, state: State) -> tuple[Stmt, State]:
        if isinstance(node, SeqStmt):
            return self._sequence(node, state)
        if isinstance(node, AttrStmt) and node.attr_key == CudaStatementAttr.WGMMA_GROUP:
            return self._issue(node, state)
        if range_of(node) is not None:
            return self._ranged(node, state)
        if isinstance(node, (Break, Continue)):
            kind = type(node)
            self.jumps[-1][kind] = _merged_states(self.jumps[-1][kind], state)
            return node, ()  # the code after a jump is not reached
        left = instructions.groups_left(node)
        if left is not None:
            return seq([node, *self._settle_finished(state, left)]), state[:left]
        if _is_leaf(node):
            age = self._first_conflict(node, state)
            return seq([*self.wait(state, age), node]), state[:age]
        if isinstance(node, AttrStmt):
            body, state = self.statement(node.body, state)
            return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span), state
        return self._branch(node, state) if isinstance(node, IfThenElse) else self._loop(node, state)

    def _sequence(self, node: SeqStmt, state: State) -> tuple[Stmt, State]:
        parts, outer, releases = [], self.in_scope, list[Stmt]()
        for part in node.seq:
            if self.has_late_releases and is_release(part) and self._first_conflict(part, state) < len(state):
                releases.append(part)
                continue
            if releases:
                ended, state, releases = self._end_groups(part, releases, state)
                parts += ended
            lowered, state = self.statement(part, state)
            parts.append(lowered)
            if isinstance(part, AllocBuffer):
                self.in_scope |= {part.buffer}
        for release in releases:
            lowered, state = self.statement(release, state)
            parts.append(lowered)
        self.in_scope = outer
        return seq(parts), state

    def _end_groups(self, part: Stmt, releases: list[Stmt], state: State) -> tuple[list[Stmt], State, list[Stmt]]:
        """In front of a statement: the waits that it needs, and the releases that then wait for nothing or must not
        move behind it; the groups that run after these; the releases that remain."""
        ended: list[Stmt] = []
        if _may_precede_releases(part):
            age = self._first_conflict(part, state) if _is_leaf(part) else len(state)
            ended, state = self.wait(state, age), state[:age]
            later = [release for release in releases if self._first_conflict(release, state) < len(state)]
        else:
            later = []
        for release in releases:
            if release not in later:
                lowered, state = self.statement(release, state)
                ended.append(lowered)
        return ended, state, later

    def _ranged(self, node: Any, state: State) -> tuple[Stmt, State]:
        """Inserts waits into the code of some threads, which does not wait for groups of other threads."""
        threads, outer = range_of(node), self.threads
        assert threads is not None
        own_groups = tuple(g for g in state if g.threads is None or g.threads.meets(threads))
        self.threads = threads
        body, after = self.statement(node.body, own_groups)
        self.threads = outer
        others = tuple(g for g in state if g not in own_groups)
        return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span), (*after, *others)

    def _issue(self, node: AttrStmt, state: State) -> tuple[Stmt, State]:
        before, state = self.statement(seq(statements_of(node.body)[:-1]), state)  # a barrier may stand there
        whole = statements_of(node.body)[-1]
        node = AttrStmt(node.node, node.attr_key, node.value, whole, span=node.span)
        group = replace(_group_of(node), threads=self.threads)
        conflicts = [age for age in _unwaited_ages(state) if _share_registers(group, state[age])]
        oldest = min(conflicts, default=len(state))
        waits, state = self.wait(state, oldest), (group, *state[:oldest])
        if len(state) > MOST_GROUPS:
            state = (*state[: MOST_GROUPS - 1], state[MOST_GROUPS - 1].merged_with(state[MOST_GROUPS]))
        packed = _fences(group.read & self.written) if self.has_late_releases else []
        return seq([before, *waits, *packed, node]), state

    def _first_conflict(self, node: Any, state: State) -> int:
        """The age of the youngest group that must have ended before ``node``; the number of groups for none."""
        if any(
            map(instructions.is_explicit_arrival, collect(node, Call))
        ):  # other threads may write the tiles after it
            return next(iter(_unwaited_ages(state)), len(state))
        if waits_for_threads(node):
            written = self.barrier_writes.at(node)
            written |= overlapping(self.places, written)
            shared = (age for age in _unwaited_ages(state) if any(tile in written for tile, _ in state[age].tiles))
            return next(shared, len(state))
        return _first_conflict(node, state)

    def _branch(self, node: IfThenElse, state: State) -> tuple[Stmt, State]:
        age = self._first_conflict(node.condition, state)
        waits, state = self.wait(state, age), state[:age]
        then, after = self.statement(node.then_case, state)
        other, after_other = None, state
        if node.else_case is not None:
            other, after_other = self.statement(node.else_case, state)
        branch = IfThenElse(node.condition, then, other, span=node.span)
        return seq([*waits, branch]), _merged_states(after, after_other)

    def _loop(self, node: Any, state: State) -> tuple[Stmt, State]:
        heads = [h for h in (getattr(node, name, None) for name in ("min", "extent", "condition")) if h is not None]
        age = min((self._first_conflict(head, state) for head in heads), default=len(state))
        waits, state = self.wait(state, age), state[:age]
        entered, rounds, outer = state, 0, self.written
        self.written = frozenset(store.buffer for store in collect(node.body, BufferStore))
        while True:
            self.jumps.append({Break: (), Continue: ()})
            body, after = self.statement(node.body, entered)
            jumps = self.jumps.pop()
            after = _merged_states(after, jumps[Continue])
            back = tuple(_in_next_iteration(group, node, rounds > MOST_ROUNDS) for group in after)
            merged = _merged_states(entered, back)
            if [g.key for g in merged] == [g.key for g in entered]:
                break
            entered, rounds = merged, rounds + 1
        self.written = outer
        if self.has_late_releases and not entered and issues_wgmma(node.body):
            body = seq([instructions.warpgroup("wait", const(0, "int32")), body])
        loop = with_body(node, body) if isinstance(node, For) else While(node.condition, body, span=node.span)
        ended = _merged_states(state, tuple(_after_loop(group, node) for group in after))
        after_breaks = tuple(_in_next_iteration(group, node, True) for group in jumps[Break])
        return seq([*waits, loop]), _merged_states(ended, after_breaks)

    def wait(self, state: State, age: int) -> list[Stmt]:
        """Statements after which only the ``age`` youngest groups run."""
        if age >= len(state):
            return []
        if len({group.threads for group in state}) > 1:  # the threads differ in which of the groups they issued
            age = 0
        return [instructions.warpgroup("wait", const(age, "int32")), *self._settle_finished(state, age)]

    def _settle_finished(self, state: State, age: int) -> list[Stmt]:
        """After a wait that leaves ``age`` groups: keeps uses of finished accumulators behind the wait.

        Accumulators that are out of scope (of a loop's last iteration, of a block that has ended) have no uses.
        """
        running = {accumulator for group in state[:age] for accumulator in group.accumulators}
        ended = {accumulator for group in state[age:] for accumulator in group.accumulators}
        return _fences((ended - running) & self.in_scope)


def _fences(buffers: Iterable[Var]) -> list[Stmt]:
    """Keeps accesses to registers from moving across this place."""
    ordered = sorted(buffers, key=lambda v: str(v.name))
    zero = const(0, "int32")
    return [instructions.register_fence(load(b, [zero]), int(constant(b.shape[0]) or 0)) for b in ordered]


def _may_precede_releases(part: Stmt) -> bool:
    """Whether a release in front of the statement may move behind it: a group, or code without mbarriers."""
    if isinstance(part, AttrStmt) and part.attr_key == CudaStatementAttr.WGMMA_GROUP:
        return True
    calls = {op_name(call) for call in collect(part, Call)}
    return is_release(part) or (_is_leaf(part) and not calls & {instructions.MBARRIER, instructions.RELEASE})


def _share_registers(group: Group, earlier: Group) -> bool:
    """Whether one of the groups reads registers that the other one writes."""
    return bool(group.read & earlier.accumulators or group.accumulators & earlier.read)


def _is_leaf(node: Stmt) -> bool:
    """Whether no wait may be needed inside of the statement: it issues no group and releases no slot."""
    if not isinstance(node, (For, While, IfThenElse, AttrStmt)):
        return True
    if jumps_out(node):
        return False
    if isinstance(node, AttrStmt) and node.attr_key == StatementAttr.NEST:
        return True
    if any(
        inner.attr_key == CudaStatementAttr.WGMMA_GROUP or range_of(inner) is not None
        for inner in collect(node, AttrStmt)
    ):
        return False
    if any(instructions.groups_left(inner) is not None for inner in collect(node, Evaluate)):
        return False
    return not any(op_name(call) in (instructions.RELEASE, SYNC_THREADS) for call in collect(node, Call))


def _group_of(node: AttrStmt) -> Group:
    accumulators, read = set(), set()
    for call in collect(node, Call):
        name = op_name(call)
        if name == instructions.WGMMA:
            accumulators.add(call.args[3].source)
        elif name == instructions.WGMMA_RS:
            accumulators.add(call.args[2].source)
            read.add(call.args[3].source)
    tiles = [call.args[0] for call in collect(node, Call) if op_name(call) == instructions.DESCRIPTOR]
    tiles_by_key = {(t.source, str(t.indices[0])): (t.source, t.indices[0]) for t in tiles}
    explicit = constant(node.value) == EXPLICIT_WAIT
    return Group(frozenset(accumulators), frozenset(read), tuple(tiles_by_key.values()), explicit)


def _unwaited_ages(state: State) -> list[int]:
    """The ages of the groups that need an inserted wait."""
    return [age for age, group in enumerate(state) if not group.explicit]


# -- conflicts -----------------------------------------------------------------------------------------------------


def _first_conflict(node: Any, state: State) -> int:
    """The age of the youngest group that must have ended before ``node``; the number of groups for none."""
    if not state:
        return 0
    if is_release(node):
        freed = [(e.source, e.indices[0]) for e in node.value.args[2:]]
        return next((age for age in _unwaited_ages(state) if _reads_slot(state[age], freed)), len(state))
    accessed = variables(node)
    written = {store.buffer for store in collect(node, BufferStore)}
    for call in collect(node, Call):  # a call may write its operands
        if op_name(call) not in _READING:
            written |= {element.source for element in call.args if isinstance(element, TensorLoad)}
    for age in _unwaited_ages(state):
        group = state[age]
        if group.accumulators & accessed or group.read & written or any(tile in written for tile, _ in group.tiles):
            return age
    return len(state)


def _reads_slot(group: Group, freed: Iterable[tuple[Var, Any]]) -> bool:
    """Whether the group may read one of the slots (tile, first index) that are released."""
    pairs = [(own_slot, freed_slot) for own_slot in group.tiles for freed_slot in freed]
    return any(tile.same_as(other) and not slots_differ(slot, index) for (tile, slot), (other, index) in pairs)


def _merged_states(a: State, b: State) -> State:
    """The groups that may run where two paths join: merged by age, the youngest first."""
    longest, other = (a, b) if len(a) >= len(b) else (b, a)
    return tuple(g.merged_with(other[age]) if age < len(other) else g for age, g in enumerate(longest))


def _in_next_iteration(group: Group, node: Any, forget: bool) -> Group:
    """A group of an iteration as the next iteration sees it."""
    if forget or not isinstance(node, For):
        return replace(group, tiles=tuple((tile, None) for tile, _ in group.tiles))
    return _at_iteration(group, node, node.loop_var - const(1, dtype_of(node.loop_var)))


def _after_loop(group: Group, node: Any) -> Group:
    """A group of a loop as the code after the loop sees it."""
    if not isinstance(node, For):
        return _in_next_iteration(group, node, True)
    return _at_iteration(group, node, node.min + node.extent - const(1, dtype_of(node.loop_var)))


def _at_iteration(group: Group, node: For, step: Any) -> Group:
    defined_in_loop = defined_variables(node.body)
    tiles = []
    for tile, slot in group.tiles:
        if slot is not None:
            slot = Analyzer().simplify(substitute(slot, {node.loop_var: step}))
            slot = (
                None if variables(slot) & defined_in_loop else slot
            )  # it depends on a value that each iteration defines
        tiles.append((tile, slot))
    return replace(group, tiles=tuple(tiles))


WAIT_WGMMA = Pass("wait_wgmma", wait_wgmma, needs=(SharedPlan,))
