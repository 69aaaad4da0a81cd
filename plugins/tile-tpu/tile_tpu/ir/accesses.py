"""The accesses of a statement to memory that commands and the control core share: local memory and tensors.

C variables of the control core (scopes ``local``, ``local.var``) do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tile_tpu.ir.instructions import CONTROL, ELEMENT, SET_ELEMENT, as_command
from tile_tpu.ir.views import LOCAL, View
from tilecore.ir.build import constant, op_name
from tilecore.ir.intrinsics import ADDRESS
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    Stmt,
    TensorLoad,
    Var,
    While,
)
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import children, collect

SHARED_SCOPES = ("global", LOCAL)


@dataclass(frozen=True)
class Access:
    """One access.

    engine: TENSOR, DMA or CONTROL. view: the operand of a command; None where the control core reads or writes an
    element. offset: the offset of that element in a tensor; None where it is unknown, or the element is in local
    memory.
    """

    buffer: Var
    engine: str
    reads: bool
    writes: bool
    view: View | None = None
    offset: Any = None
    span: Any = None

    @property
    def is_local(self) -> bool:
        return str(self.buffer.scope()) == LOCAL


def accesses_of(node: Any) -> list[Access]:
    """The accesses of one leaf of the statement tree, or of an expression. Accesses in the expressions of operands come
    first."""
    span = getattr(node, "span", None)
    command = as_command(node) if isinstance(node, Evaluate) else None
    if command is None:
        return _of_control(node, span)
    accesses = _of_control(node, span)
    engine = command.instruction.engine
    for operand in command.instruction.operands:
        name, _, kind = operand.partition(":")
        view = command.operands[name]
        if isinstance(view, View):
            kind = kind.split("|")[0]
            reads = kind in ("r", "rw") and not (kind == "rw" and _overwrites(command.operands))
            accesses.append(Access(view.buffer, engine, reads, kind != "r", view, span=span))
    return accesses


def _overwrites(operands: dict[str, Any]) -> bool:
    """Whether the command is a matrix product that does not add to its result."""
    return constant(operands.get("accumulate")) == 0 if "accumulate" in operands else False


def _of_control(node: Any, span: Any) -> list[Access]:
    accesses: list[Access] = []
    atomic_targets = [
        call.dst for call in map(as_tile_call, collect(node, Call)) if call and call.op.name == "atomic_element"
    ]
    for inner in collect(node, TensorLoad, Call, BufferStore):
        if isinstance(inner, TensorLoad):
            writes = any(inner.same_as(target) for target in atomic_targets)
            accesses.append(Access(inner.source, CONTROL, True, writes, offset=_only(inner.indices), span=span))
        elif isinstance(inner, BufferStore):
            accesses.append(Access(inner.buffer, CONTROL, False, True, offset=_only(inner.indices), span=span))
        elif op_name(inner) == ELEMENT:
            writes = any(inner.same_as(target) for target in atomic_targets)
            accesses.append(Access(inner.args[0], CONTROL, True, writes, span=span))
        elif op_name(inner) == SET_ELEMENT:
            accesses.append(Access(inner.args[0], CONTROL, False, True, span=span))
        elif op_name(inner) == ADDRESS:
            accesses.append(Access(inner.args[0].source, CONTROL, True, "w" in str(inner.args[1].value), span=span))
    return sorted((t for t in accesses if str(t.buffer.scope()) in SHARED_SCOPES), key=lambda t: t.writes)


def _only(indices: Any) -> Any:
    return indices[0] if len(indices) == 1 else None


def is_leaf(node: Stmt) -> bool:
    return not any(True for _ in children(node))


def heads(node: Stmt) -> list[Any]:
    """The expressions that a compound statement evaluates when it is reached."""
    if isinstance(node, For):
        return [node.min, node.extent]
    return [node.condition] if isinstance(node, (IfThenElse, While)) else []


def all_accesses(node: Stmt) -> Iterator[Access]:
    """The accesses of a statement and of everything inside it."""
    if is_leaf(node):
        if not isinstance(node, (AllocBuffer, DeclBuffer)):
            yield from accesses_of(node)
        return
    for part in heads(node):
        yield from accesses_of(part)
    for child in children(node):
        yield from all_accesses(child)


def aliases_of(body: Stmt) -> dict[Var, Var]:
    """The buffers that are views of other buffers: {view: the buffer whose memory it names}."""
    direct = {d.buffer: d.data.args[0] for d in collect(body, DeclBuffer)}
    return {alias: _root(alias, direct) for alias in direct}


def by_memory(accesses: Iterable[Access], aliases: Mapping[Var, Var]) -> list[Access]:
    """The accesses, with aliases replaced by the buffers whose memory they name. Which part of that buffer an alias
    accesses is not known."""
    return [
        replace(t, buffer=aliases[t.buffer], view=None, offset=None) if t.buffer in aliases else t for t in accesses
    ]


def _root(buffer: Var, direct: dict[Var, Var]) -> Var:
    while buffer in direct:
        buffer = direct[buffer]
    return buffer
