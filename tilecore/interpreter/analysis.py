"""Finds facts about a function, or a part of it, that its compilation needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilecore.element_values import value_type
from tilecore.errors import UnsupportedError
from tilecore.interpreter.state import location_of
from tilecore.ir.attributes import KernelHint
from tilecore.ir.nodes import (
    Break,
    BufferStore,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    Return,
    Stmt,
    TensorLoad,
    Var,
    structural_walk,
)
from tilecore.ir.parallel_nests import written_operands
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.views import address_in

ON_CHIP = ("shared", "shared.dyn", "local.fragment", "local", "local.var")


@dataclass
class FunctionFacts:
    """Facts of a whole function.

    roots: for a view, the buffer whose memory it views, which may be a view itself.
    units: for a buffer with views, the bytes of the smallest element type among it and its views.
    safe_values, reducers: from hints, by buffer. written: the owners of the memory that the function writes.
    """

    roots: dict[Var, Var] = field(default_factory=dict)
    units: dict[Var, int] = field(default_factory=dict)
    safe_values: dict[Var, Any] = field(default_factory=dict)
    reducers: dict[Var, str] = field(default_factory=dict)
    written: set[Var] = field(default_factory=set)

    def root(self, buffer: Var) -> Var:
        """The buffer that owns the memory of ``buffer``."""
        while buffer in self.roots:
            buffer = self.roots[buffer]
        return buffer


def facts_of(body: Stmt) -> FunctionFacts:
    facts = FunctionFacts()

    def declare(statement: DeclBuffer) -> None:
        source = viewed_buffer(statement)
        if source is not None:
            facts.roots[statement.buffer] = source

    def evaluate(statement: Evaluate) -> None:
        call = as_tile_call(statement)
        if call is None or call.op.name != "annotate" or not call.rest:
            return
        if call.key in (KernelHint.SAFE_VALUE, KernelHint.REDUCER) and isinstance(call.rest[0], TensorLoad):
            buffer = call.rest[0].source
            if call.key == KernelHint.SAFE_VALUE:
                facts.safe_values[buffer] = call.rest[1]
            else:
                facts.reducers[buffer] = str(call.rest[1].value)

    structural_walk(body, [(DeclBuffer, declare), (Evaluate, evaluate)])
    facts.written = {facts.root(buffer) for buffer in written_buffers(body)}
    for view in facts.roots:
        root = facts.root(view)
        sizes = [value_type(str(b.dtype)) for b in (view, root)]
        if sizes[0].name != sizes[1].name and any(kind.packed for kind in sizes):
            raise UnsupportedError(
                f"{view.name} views packed 4-bit elements as another type", found=f"{sizes[1].name} as {sizes[0].name}"
            )
        unit = min(kind.storage.itemsize for kind in sizes)
        facts.units[root] = min(unit, facts.units.get(root, unit))
    return facts


def written_buffers(body: Stmt) -> set[Var]:
    """The buffers that something in ``body`` writes."""
    written: set[Var] = set()

    def store(statement: BufferStore) -> None:
        written.add(statement.buffer)

    def tile(node: Call) -> None:
        written.update(written_operands(node))

    structural_walk(body, [(BufferStore, store), (Call, tile)])
    return written


def viewed_buffer(statement: DeclBuffer) -> Var | None:
    """The buffer whose memory a DeclBuffer views; None for a tensor at an address."""
    data = statement.data
    if address_in(statement) is not None:
        return None
    if isinstance(data, Call) and getattr(data.op, "name", "") == "tirx.buffer_data":
        return data.args[0]
    raise UnsupportedError(
        f"{statement.buffer.name} is declared over something that is not a buffer's data",
        location=location_of(statement.span),
        found=str(data),
        expected="buffer_data(another buffer)",
    )


def mentions(node: Any, variables: set[Var]) -> bool:
    """Does ``node`` contain one of ``variables``?"""
    is_mentioned = False

    def variable(var: Var) -> None:
        nonlocal is_mentioned
        is_mentioned = is_mentioned or var in variables

    structural_walk(node, [(Var, variable)])
    return is_mentioned


def has_jump(node: Any) -> bool:
    """Does ``node`` contain a break, continue or return?"""
    jumps = False

    def jump(_: Any) -> None:
        nonlocal jumps
        jumps = True

    def call(node: Call) -> None:
        nonlocal jumps
        jumps = jumps or getattr(node.op, "name", "") in ("tirx.thread_return", "tirx.break_loop", "tirx.continue_loop")

    structural_walk(node, [(Break, jump), (Continue, jump), (Return, jump), (Call, call)])
    return jumps
