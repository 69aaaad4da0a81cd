"""The body of a loop as a list of units: statements that a pipeline moves or leaves as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tile_tpu.ir.accesses import Access, all_accesses, by_memory
from tile_tpu.ir.instructions import CONTROL, ELEMENT, as_command, instruction_of
from tilecore.ir.build import constant, op_name, statements_of
from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    Break,
    BufferStore,
    Call,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    Return,
    Stmt,
    TensorLoad,
    Var,
    tirx,
)
from tilecore.ir.visit import children, collect

UNKNOWN_TRIPS = 4


@dataclass
class Unit:
    """touches: of commands and of the control core, on local memory and tensors. engines: of its commands. asks:
    buffers that the control core reads for it, its own variables too. sets: those that the control core writes.
    is_fixed: it does something that keeps its place among all others. waits_for_cores: that of other cores too."""

    node: Stmt
    accesses: list[Access]
    engines: frozenset[str]
    asks: frozenset[Var]
    sets: frozenset[Var]
    is_fixed: bool
    waits_for_cores: bool
    line: int | None = None
    why: str = field(default="", compare=False)  # it did not move

    @property
    def written(self) -> set[Var]:
        return {t.buffer for t in self.accesses if t.writes} | set(self.sets)

    @property
    def read(self) -> set[Var]:
        return {t.buffer for t in self.accesses if t.reads} | set(self.asks)

    @property
    def accessed(self) -> set[Var]:
        return self.written | self.read

    def of_commands(self) -> list[Access]:
        return [t for t in self.accesses if t.engine != CONTROL]


def units_of(body: Stmt, aliases: Mapping[Var, Var]) -> list[Unit]:
    """In order; memory under its own names. A condition around several statements is put around each, where its value
    is the same for all."""
    return [_unit(node, aliases) for statement in statements_of(body) for node in _split(statement)]


def _split(node: Stmt) -> list[Stmt]:
    if not isinstance(node, IfThenElse) or collect(node.condition, TensorLoad, Call):
        return [node]
    then = [part for inner in statements_of(node.then_case) for part in _split(inner)]
    other = [] if node.else_case is None else [p for i in statements_of(node.else_case) for p in _split(i)]
    if any(isinstance(part, (AllocBuffer, DeclBuffer, Bind)) for part in [*then, *other]):
        return [node]
    negated = tirx.Not(node.condition)
    guarded = [IfThenElse(node.condition, part, None, span=part.span or node.span) for part in then]
    return guarded + [IfThenElse(negated, part, None, span=part.span or node.span) for part in other]


def _unit(node: Stmt, aliases: Mapping[Var, Var]) -> Unit:
    accesses = [] if isinstance(node, (AllocBuffer, DeclBuffer)) else by_memory(all_accesses(node), aliases)
    commands = [instruction for e in collect(node, Evaluate) if (instruction := instruction_of(e)) is not None]
    engines = frozenset(c.engine for c in commands if c.engine != CONTROL)
    asks = {load.source for load in collect(node, TensorLoad)}
    asks |= {call.args[0] for call in collect(node, Call) if op_name(call) == ELEMENT}
    sets = {s.buffer for s in collect(node, BufferStore)}
    sets |= {t.buffer for t in accesses if t.engine == CONTROL and t.writes}
    asks, sets = ({aliases.get(b, b) for b in buffers} for buffers in (asks, sets))
    leaves = bool(collect(node, Break, Continue, Return)) and not isinstance(node, For)
    fixed = any(c.engine == CONTROL for c in commands) or leaves or _acts(node)
    span = node.span if node.span is not None else next((s.span for s in children(node) if s.span is not None), None)
    line = None if span is None else int(span.line)
    waits = any(c.name == "sync_all" for c in commands)
    return Unit(node, accesses, engines, frozenset(asks), frozenset(sets), fixed, waits, line)


def _acts(node: Stmt) -> bool:
    return any(instruction_of(e) is None and effect_in(e) is not None for e in collect(node, Evaluate)) or any(
        effect_in(part) is not None for part in collect(node, BufferStore, Bind)
    )


def cost_of(node: Stmt) -> int:
    """Of a unit's commands on the tensor unit: elements that it works on in a lane, products times their depth."""
    command = as_command(node) if isinstance(node, Evaluate) else None
    if command is not None:
        views = command.views()
        if not views:
            return 0
        depth = _size(command.operands["a"].shape[3]) if command.instruction.name.startswith("mm") else 1
        n, c, h, w = (_size(s) for s in (views[0].shape))
        return max(1, n * -(-c // 64) * h * w * depth)
    inner = sum(cost_of(child) for child in children(node))
    return inner * _size(node.extent, UNKNOWN_TRIPS) if isinstance(node, For) else inner


def _size(extent: Any, unknown: int = 64) -> int:
    constant_extent = constant(extent)
    return unknown if constant_extent is None else max(constant_extent, 1)
