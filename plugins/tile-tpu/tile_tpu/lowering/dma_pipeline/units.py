"""Splits the body of a loop into units: statements that a pipeline moves, or does not move, as a whole."""

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

UNKNOWN_TRIPS = 4  # the assumed iterations of a loop whose extent is not a constant


@dataclass
class Unit:
    """One unit of a loop's body.

    accesses: the accesses of commands and of the control core to local memory and tensors. engines: the engines of its
    commands. control_reads, control_writes: the buffers, also variables of the control core, that the control core
    reads and writes. is_fixed: the unit must not be reordered with any other. waits_for_cores: it synchronizes the
    cores. line: the user's line. reason: why the unit is not moved.
    """

    node: Stmt
    accesses: list[Access]
    engines: frozenset[str]
    control_reads: frozenset[Var]
    control_writes: frozenset[Var]
    is_fixed: bool
    waits_for_cores: bool
    line: int | None = None
    reason: str = field(default="", compare=False)

    @property
    def written(self) -> set[Var]:
        return {t.buffer for t in self.accesses if t.writes} | set(self.control_writes)

    @property
    def read(self) -> set[Var]:
        return {t.buffer for t in self.accesses if t.reads} | set(self.control_reads)

    @property
    def accessed(self) -> set[Var]:
        return self.written | self.read

    def of_commands(self) -> list[Access]:
        return [t for t in self.accesses if t.engine != CONTROL]


def units_of(body: Stmt, aliases: Mapping[Var, Var]) -> list[Unit]:
    """The units of a loop's body in order, with aliases replaced by the buffers that they name. A condition around
    several statements becomes a condition around each of them, where its value cannot change between them."""
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
    control_reads = {load.source for load in collect(node, TensorLoad)}
    control_reads |= {call.args[0] for call in collect(node, Call) if op_name(call) == ELEMENT}
    control_writes = {s.buffer for s in collect(node, BufferStore)}
    control_writes |= {t.buffer for t in accesses if t.engine == CONTROL and t.writes}
    control_reads, control_writes = (
        {aliases.get(b, b) for b in buffers} for buffers in (control_reads, control_writes)
    )
    leaves = bool(collect(node, Break, Continue, Return)) and not isinstance(node, For)
    fixed = any(c.engine == CONTROL for c in commands) or leaves or _acts(node)
    span = node.span if node.span is not None else next((s.span for s in children(node) if s.span is not None), None)
    line = None if span is None else int(span.line)
    waits = any(c.name == "sync_all" for c in commands)
    return Unit(node, accesses, engines, frozenset(control_reads), frozenset(control_writes), fixed, waits, line)


def _acts(node: Stmt) -> bool:
    return any(instruction_of(e) is None and effect_in(e) is not None for e in collect(node, Evaluate)) or any(
        effect_in(part) is not None for part in collect(node, BufferStore, Bind)
    )


def cost_of(node: Stmt) -> int:
    """An estimate of the work of a unit on the tensor unit: the elements of its commands in a lane, times the depth for
    matrix products."""
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
