"""Makes the control core wait for the engines (``tpu.poll``) before it accesses memory that they may still access.

Commands are asynchronous: the control core goes on while they run. The pass tracks what the commands since the last
poll read and write. It inserts a poll before the control core reads what a pending command writes, and before it writes
what a pending command accesses. Two tensors are different memory if they are different parameters, and two local
buffers if their addresses do not overlap (so this pass runs after plan_local). A statement without commands is one
step, which waits once, at its start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tile_tpu.ir.accesses import Access, accesses_of, aliases_of, all_accesses, heads, is_leaf
from tile_tpu.ir.attributes import TpuFunctionAttr
from tile_tpu.ir.instructions import CONTROL, command, instruction_of
from tile_tpu.lowering.kernels import of_each_kernel
from tile_tpu.lowering.passes.plan_local import bytes_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import seq
from tilecore.ir.nodes import (
    AttrStmt,
    Break,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    Return,
    SeqStmt,
    Stmt,
    Var,
    While,
)
from tilecore.ir.visit import collect


@dataclass(frozen=True)
class Pending:
    """The buffers that commands since the last poll may read and write. None in its place marks unreachable code."""

    reads: frozenset[Var] = frozenset()
    writes: frozenset[Var] = frozenset()

    def __or__(self, other: Pending | None) -> Pending:
        return self if other is None else Pending(self.reads | other.reads, self.writes | other.writes)


def order_engines(func: PrimFunc, env: PassEnv) -> PrimFunc:
    body, _ = _Walk(func).transform(func.body, Pending())
    return func.with_body(body)


def has_commands(node: Stmt) -> bool:
    return any(instruction_of(inner) is not None for inner in collect(node, Evaluate))


@dataclass
class _Loop:
    """An enclosing loop. head: the accesses of its condition, before every iteration. leaving, again: the pending
    accesses at its breaks and continues."""

    head: list[Access]
    leaving: list[Pending] = field(default_factory=list)
    again: list[Pending] = field(default_factory=list)


State = Pending | None


class _Walk:
    """The methods return the statement with polls inserted, and the pending accesses after it."""

    def __init__(self, func: PrimFunc) -> None:
        self.roots = aliases_of(func.body)
        self.addresses = {str(k): int(v) for k, v in func.attrs[TpuFunctionAttr.LOCAL_ADDRESSES].items()}
        self.loops: list[_Loop] = []

    def transform(self, node: Stmt, state: State) -> tuple[Stmt, State]:
        if isinstance(node, SeqStmt):
            parts = []
            for part in node.seq:
                statement, state = self.transform(part, state)
                parts.append(statement)
            return seq(parts), state
        if isinstance(node, (Break, Continue, Return)):
            return self._leave(node, state)
        if isinstance(node, AttrStmt):
            statement, state = self.transform(node.body, state)
            return AttrStmt(node.node, node.attr_key, node.value, statement, span=node.span), state
        if instruction_of(node) is not None:
            return self._command(node, state)
        if not has_commands(node) and not _leaves(node):
            accesses = [] if isinstance(node, DeclBuffer) else list(all_accesses(node))
            wait, state = self._waited(accesses, state)
            return seq([*wait, node]), state
        if isinstance(node, IfThenElse):
            return self._branches(node, state)
        if isinstance(node, (For, While)):
            return self._loop(node, state)
        raise TypeError(f"order_engines does not support the statement {type(node).__name__}")

    # -- one step -----------------------------------------------------------------------------------------------

    def _waited(self, accesses: list[Access], state: State) -> tuple[list[Stmt], State]:
        """A poll if an access by the control core needs one, and the state after it."""
        if state is None or not any(self._collides(t, state) for t in accesses if t.engine == CONTROL):
            return [], state
        return [command("poll")], Pending()

    def _collides(self, access: Access, state: Pending) -> bool:
        others = state.writes | state.reads if access.writes else state.writes
        return any(self._same_memory(access.buffer, other) for other in others)

    def _same_memory(self, a: Var, b: Var) -> bool:
        a, b = self.roots.get(a, a), self.roots.get(b, b)
        first, second = self.addresses.get(str(a.name)), self.addresses.get(str(b.name))
        if a.same_as(b) or str(a.scope()) != str(b.scope()) or first is None or second is None:
            return bool(a.same_as(b))
        return first < second + bytes_of(b) and second < first + bytes_of(a)

    def _command(self, node: Stmt, state: State) -> tuple[Stmt, State]:
        accesses = accesses_of(node)
        wait, state = self._waited(accesses, state)
        instruction = instruction_of(node)
        if instruction is not None and instruction.name == "poll":
            return node, Pending()
        if state is not None:
            command_accesses = [t for t in accesses if t.engine != CONTROL]
            reads = frozenset(t.buffer for t in command_accesses if t.reads)
            state = state | Pending(reads, frozenset(t.buffer for t in command_accesses if t.writes))
        return seq([*wait, node]), state

    # -- branches, loops ----------------------------------------------------------------------------------------

    def _branches(self, node: IfThenElse, state: State) -> tuple[Stmt, State]:
        wait, state = self._waited(accesses_of(node.condition), state)
        then, after = self.transform(node.then_case, state)
        other, otherwise = (None, state) if node.else_case is None else self.transform(node.else_case, state)
        branch = IfThenElse(node.condition, then, other, span=node.span)
        return seq([*wait, branch]), _either(after, otherwise)

    def _loop(self, node: For | While, state: State) -> tuple[Stmt, State]:
        head = [access for part in heads(node) for access in accesses_of(part)]
        wait, state = self._waited(head, state)
        while True:
            loop = _Loop(head)
            self.loops.append(loop)
            body, after = self.transform(node.body, state)
            self.loops.pop()
            again, after = self._waited(head, after)
            merged = state
            for other in (after, *loop.again):
                merged = _either(merged, other)
            if merged == state:
                break
            state = merged
        for other in loop.leaving:
            state = _either(state, other)
        return seq([*wait, _with_body(node, seq([body, *again]))]), state

    def _leave(self, node: Stmt, state: State) -> tuple[Stmt, State]:
        wait: list[Stmt] = []
        if state is not None and self.loops and isinstance(node, Continue):
            wait, state = self._waited(self.loops[-1].head, state)
            self.loops[-1].again.append(state or Pending())
        elif state is not None and self.loops and isinstance(node, Break):
            self.loops[-1].leaving.append(state)
        return seq([*wait, node]), None


def _either(a: State, b: State) -> State:
    return b if a is None else a | b


def _leaves(node: Stmt) -> bool:
    """Whether ``node`` contains a break, continue or return."""
    return not is_leaf(node) and bool(collect(node, Break, Continue, Return))


def _with_body(node: For | While, body: Stmt) -> Stmt:
    if isinstance(node, While):
        return While(node.condition, body, span=node.span)
    return For(
        node.loop_var, node.min, node.extent, node.kind, body, annotations=_plain(node.annotations), span=node.span
    )


def _plain(annotations: Any) -> dict[str, Any]:
    return dict(annotations.items())


ORDER_ENGINES = Pass("order_engines", of_each_kernel(order_engines))
