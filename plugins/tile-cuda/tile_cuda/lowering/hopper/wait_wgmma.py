"""Waits for products of warpgroups, each as late as may be; T.wgmma_gemm's are the kernel's own to wait for.

A group of products runs on its own from where it is issued. Until it is done nobody may touch its sums, write the
registers or the tiles that it reads, or hand a slot of a ring that it reads back to who fills it; further products may
be issued, also into the same sums. The wait stands in front of the first statement that does one of these, and leaves
as many later groups running as it can. A tile that threads write is free for them after a barrier: products that read
it are done before that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.hopper.wgmma import PRODUCTS, UNWAITED, issues_products
from tile_cuda.lowering.hopper.written_tiles import written_by_threads
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, load, op_name, seq, statements_of, with_body
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    Call,
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
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.simt.analysis.accesses import apart
from tilecore.lowering.simt.insert_barriers import BARRIER, NEST, is_barrier

MOST = 4  # groups that are told apart; what is older is taken for one of this age
ROUNDS = 6  # of a loop that are looked at before the slots of its rings are taken for any
_READING = (instructions.STMATRIX, instructions.TENSOR_STORE, "if_then_else")


@dataclass(frozen=True)
class Group:
    """Products on their way. sums: registers that they write. read: registers that they read. tiles: (tile, its first
    index) in shared memory that they read; None for an index that is not known any more. explicit: the kernel itself
    waits for them. threads: of whose code they are, None: of all."""

    sums: frozenset[Var] = frozenset()
    read: frozenset[Var] = frozenset()
    tiles: tuple[tuple[Var, Any], ...] = ()
    explicit: bool = False
    threads: ThreadRange | None = None

    def joined(self, other: Group) -> Group:
        tiles = {(tile, str(slot)): (tile, slot) for tile, slot in (*self.tiles, *other.tiles)}
        explicit = self.explicit and other.explicit
        return Group(self.sums | other.sums, self.read | other.read, tuple(tiles.values()), explicit, self.threads)

    @property
    def key(self) -> Any:
        tiles = frozenset((tile, str(slot)) for tile, slot in self.tiles)
        return self.sums, self.read, tiles, self.explicit, self.threads


State = tuple[Group, ...]  # the youngest first


def wait_wgmma(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def change(body: Stmt, threads: Threads) -> Stmt:
        if not issues_products(body):
            return body
        waits = _Waits(body)
        made, state = waits.statement(body, ())
        return seq([made, *waits.wait(state, next(iter(_ours(state)), len(state)))])

    return func.with_body(each_kernel(func.body, change))


class _Waits:
    """Each method: (the statement with its waits, the groups that run after it)."""

    def __init__(self, body: Stmt) -> None:
        self.written = written_by_threads(body)
        self.threads: ThreadRange | None = None  # whose code it is
        self.in_scope: frozenset[Var] = frozenset()  # registers that are allocated here or around

    def statement(self, node: Stmt, state: State) -> tuple[Stmt, State]:
        if isinstance(node, SeqStmt):
            return self._sequence(node, state)
        if isinstance(node, AttrStmt) and node.attr_key == PRODUCTS:
            return self._issue(node, state)
        if range_of(node) is not None:
            return self._ranged(node, state)
        left = instructions.groups_left(node)
        if left is not None:
            return seq([node, *self._settled(state, left)]), state[:left]
        if _is_leaf(node):
            age = self._first_met(node, state)
            return seq([*self.wait(state, age), node]), state[:age]
        if isinstance(node, AttrStmt):
            body, state = self.statement(node.body, state)
            return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span), state
        return self._branch(node, state) if isinstance(node, IfThenElse) else self._loop(node, state)

    def _sequence(self, node: SeqStmt, state: State) -> tuple[Stmt, State]:
        parts, around = [], self.in_scope
        for part in node.seq:
            made, state = self.statement(part, state)
            parts.append(made)
            if isinstance(part, AllocBuffer):
                self.in_scope |= {part.buffer}
        self.in_scope = around
        return seq(parts), state

    def _ranged(self, node: Any, state: State) -> tuple[Stmt, State]:
        """Code of some threads: groups of others are none of theirs."""
        threads, around = range_of(node), self.threads
        assert threads is not None
        mine = tuple(g for g in state if g.threads is None or g.threads.meets(threads))
        self.threads = threads
        body, after = self.statement(node.body, mine)
        self.threads = around
        others = tuple(g for g in state if g not in mine)
        return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span), (*after, *others)

    def _issue(self, node: AttrStmt, state: State) -> tuple[Stmt, State]:
        before, state = self.statement(seq(statements_of(node.body)[:-1]), state)  # a barrier may have been put there
        whole = statements_of(node.body)[-1]
        node = AttrStmt(node.node, node.attr_key, node.value, whole, span=node.span)
        group = replace(_group_of(node), threads=self.threads)
        met = [age for age in _ours(state) if group.read & state[age].sums or group.sums & state[age].read]
        oldest = min(met, default=len(state))
        waits, state = self.wait(state, oldest), (group, *state[:oldest])
        if len(state) > MOST:
            state = (*state[: MOST - 1], state[MOST - 1].joined(state[MOST]))
        return seq([before, *waits, node]), state

    def _first_met(self, node: Any, state: State) -> int:
        """The age of the youngest group that must be done before ``node``; the number of groups for none."""
        if any(map(instructions.is_explicit_arrival, collect(node, Call))):  # what was read may be written after it
            return next(iter(_ours(state)), len(state))
        if is_barrier(node):
            shared = (age for age in _ours(state) if any(tile in self.written for tile, _ in state[age].tiles))
            return next(shared, len(state))
        return _first_met(node, state)

    def _branch(self, node: IfThenElse, state: State) -> tuple[Stmt, State]:
        age = self._first_met(node.condition, state)
        waits, state = self.wait(state, age), state[:age]
        then, after = self.statement(node.then_case, state)
        other, after_other = None, state
        if node.else_case is not None:
            other, after_other = self.statement(node.else_case, state)
        return seq([*waits, IfThenElse(node.condition, then, other, span=node.span)]), _merged(after, after_other)

    def _loop(self, node: Any, state: State) -> tuple[Stmt, State]:
        heads = [h for h in (getattr(node, name, None) for name in ("min", "extent", "condition")) if h is not None]
        age = min((self._first_met(head, state) for head in heads), default=len(state))
        waits, state = self.wait(state, age), state[:age]
        entered, rounds = state, 0
        while True:
            body, after = self.statement(node.body, entered)
            back = tuple(_carried(group, node, rounds > ROUNDS) for group in after)
            merged = _merged(entered, back)
            if [g.key for g in merged] == [g.key for g in entered]:
                break
            entered, rounds = merged, rounds + 1
        made = with_body(node, body) if isinstance(node, For) else While(node.condition, body, span=node.span)
        return seq([*waits, made]), _merged(state, tuple(_left(group, node) for group in after))

    def wait(self, state: State, age: int) -> list[Stmt]:
        """Statements after which only the ``age`` youngest groups run."""
        if age >= len(state):
            return []
        if len({group.threads for group in state}) > 1:  # each of the threads has some of them
            age = 0
        return [instructions.warpgroup("wait", const(age, "int32")), *self._settled(state, age)]

    def _settled(self, state: State, age: int) -> list[Stmt]:
        """After a wait that leaves ``age`` groups: the compiler moves no use of sums that are done in front of it. Sums
        that are not in scope any more (of the last step of a loop, of a block that has ended) are used no more."""
        running = {sums for group in state[:age] for sums in group.sums}
        done = {sums for group in state[age:] for sums in group.sums if sums not in running and sums in self.in_scope}
        settled = []
        for sums in sorted(done, key=lambda v: str(v.name)):
            settled.append(instructions.settle(load(sums, [const(0, "int32")]), int(constant(sums.shape[0]) or 0)))
        return settled


def _is_leaf(node: Stmt) -> bool:
    """A statement that no wait goes into: it issues nothing and releases nothing."""
    if not isinstance(node, (For, While, IfThenElse, AttrStmt)):
        return True
    if isinstance(node, AttrStmt) and node.attr_key == NEST:
        return True
    if any(inner.attr_key == PRODUCTS or range_of(inner) is not None for inner in collect(node, AttrStmt)):
        return False
    if any(instructions.groups_left(inner) is not None for inner in collect(node, Evaluate)):
        return False
    return not any(op_name(call) in (instructions.RELEASE, BARRIER) for call in collect(node, Call))


def _group_of(node: AttrStmt) -> Group:
    sums, read = set(), set()
    for call in collect(node, Call):
        name = op_name(call)
        if name == instructions.WGMMA:
            sums.add(call.args[3].source)
        elif name == instructions.WGMMA_HELD:
            sums.add(call.args[2].source)
            read.add(call.args[3].source)
    tiles = [call.args[0] for call in collect(node, Call) if op_name(call) == instructions.OPERAND]
    found = {(t.source, str(t.indices[0])): (t.source, t.indices[0]) for t in tiles}
    return Group(frozenset(sums), frozenset(read), tuple(found.values()), constant(node.value) == UNWAITED)


def _ours(state: State) -> list[int]:
    """The ages of the groups that the kernel does not wait for itself."""
    return [age for age, group in enumerate(state) if not group.explicit]


# -- what meets ------------------------------------------------------------------------------------------------------


def _first_met(node: Any, state: State) -> int:
    """The age of the youngest group that must be done before ``node``; the number of groups for none."""
    if not state:
        return 0
    if isinstance(node, Evaluate) and op_name(node.value) == instructions.RELEASE:
        freed = [(e.source, e.indices[0]) for e in node.value.args[2:]]
        return next((age for age in _ours(state) if _holds(state[age], freed)), len(state))
    touched = variables(node)
    written = {store.buffer for store in collect(node, BufferStore)}
    for call in collect(node, Call):  # a call may write what it names
        if op_name(call) not in _READING:
            written |= {element.source for element in call.args if isinstance(element, TensorLoad)}
    for age in _ours(state):
        group = state[age]
        if group.sums & touched or group.read & written or any(tile in written for tile, _ in group.tiles):
            return age
    return len(state)


def _holds(group: Group, freed: Iterable[tuple[Var, Any]]) -> bool:
    return any(tile.same_as(other) and not apart(slot, at) for other, at in freed for tile, slot in group.tiles)


def _merged(a: State, b: State) -> State:
    """What may run where two ways meet: by age, the youngest first."""
    longest, other = (a, b) if len(a) >= len(b) else (b, a)
    return tuple(g.joined(other[age]) if age < len(other) else g for age, g in enumerate(longest))


def _carried(group: Group, node: Any, forget: bool) -> Group:
    """A group of a step of a loop as the next step sees it."""
    if forget or not isinstance(node, For):
        return replace(group, tiles=tuple((tile, None) for tile, _ in group.tiles))
    return _elsewhere(group, node, node.loop_var - const(1, dtype_of(node.loop_var)))


def _left(group: Group, node: Any) -> Group:
    """A group of a loop as what comes after the loop sees it."""
    if not isinstance(node, For):
        return _carried(group, node, True)
    return _elsewhere(group, node, node.min + node.extent - const(1, dtype_of(node.loop_var)))


def _elsewhere(group: Group, node: For, step: Any) -> Group:
    own = {bind.var for bind in collect(node.body, Bind)} | {loop.loop_var for loop in collect(node.body, For)}
    tiles = []
    for tile, slot in group.tiles:
        if slot is not None:
            slot = Analyzer().simplify(substitute(slot, {node.loop_var: step}))
            slot = None if variables(slot) & own else slot  # of something that each step defines anew
        tiles.append((tile, slot))
    return replace(group, tiles=tuple(tiles))


WAIT_WGMMA = Pass("wait_wgmma", wait_wgmma)
