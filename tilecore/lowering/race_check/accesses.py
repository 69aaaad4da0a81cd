"""Lists the effects of a statement in the order in which a thread executes them, each with the conditions around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.ir.build import op_name
from tilecore.ir.nodes import And, BufferStore, Call, Evaluate, Or, Ramp, Select, TensorLoad
from tilecore.ir.visit import collect
from tilecore.lowering.race_check.effects import Access, AnyAccess, AsyncAccess, Effect, bytes_of, effects_of
from tilecore.lowering.race_check.program import Program

Guards = tuple[tuple[Any, bool], ...]  # (condition, the value that it must have)


@dataclass(frozen=True)
class GuardedEffect:
    """An effect that happens where all of its guards hold."""

    effect: Effect
    guards: Guards


class Accesses:
    """Lists the effects of a kernel's statements.

    unknown: calls with an argument in shared memory whose effects no backend describes.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.unknown: list[Call] = []

    def of(self, node: Any) -> list[GuardedEffect]:
        """The effects of a simple statement, or of an expression."""
        effects: list[GuardedEffect] = []
        if isinstance(node, BufferStore):
            for index in node.indices:
                self._expression(index, (), effects)
            self._expression(node.value, (), effects)
            if self.program.start_of(node.buffer) is not None:
                effects.append(GuardedEffect(_element(node, node.buffer, True), ()))
        elif isinstance(node, Evaluate):
            self._expression(node.value, (), effects, is_statement=True)
        else:
            value = getattr(node, "value", node)
            if value is not None and hasattr(value, "__chandle__"):
                self._expression(value, (), effects)
        return effects

    def _expression(self, node: Any, guards: Guards, effects: list[GuardedEffect], is_statement: bool = False) -> None:
        if not self._matters(node):
            return
        if isinstance(node, Call):
            self._call(node, guards, effects, is_statement)
        elif isinstance(node, Select):
            self._choice((node.condition, node.true_value, node.false_value), guards, effects)
        elif isinstance(node, (And, Or)):
            self._expression(node.a, guards, effects)
            self._expression(node.b, (*guards, (node.a, isinstance(node, And))), effects)
        elif isinstance(node, TensorLoad):
            for index in node.indices:
                self._expression(index, guards, effects)
            if self.program.start_of(node.source) is not None:
                effects.append(GuardedEffect(_element(node, node.source, False), guards))
        else:
            for part in _parts(node):
                self._expression(part, guards, effects)

    def _matters(self, node: Any) -> bool:
        """Does the expression access shared memory, or call an operation with effects?"""
        if any(self.program.start_of(load.source) is not None for load in collect(node, TensorLoad)):
            return True
        return any(effects_of(call, self.program.func) for call in collect(node, Call))

    def _choice(self, parts: tuple[Any, Any, Any], guards: Guards, effects: list[GuardedEffect]) -> None:
        condition, yes, no = parts
        self._expression(condition, guards, effects)
        self._expression(yes, (*guards, (condition, True)), effects)
        self._expression(no, (*guards, (condition, False)), effects)

    def _call(self, node: Call, guards: Guards, effects: list[GuardedEffect], is_statement: bool) -> None:
        name = op_name(node)
        if name.endswith("if_then_else"):
            self._choice((node.args[0], node.args[1], node.args[2]), guards, effects)
            return
        call_effects = effects_of(node, self.program.func)
        if call_effects is None:
            if is_statement and "." in name and not name.startswith("tile."):
                self.unknown.append(node)
            for part in node.args:
                self._expression(part, guards, effects)
            return
        kinds = (Access, AnyAccess, AsyncAccess)
        named = [e.element for e in call_effects if isinstance(e, kinds) and e.element is not None]
        for part in node.args:
            if isinstance(part, TensorLoad) and (not name.startswith("tile.") or any(part.same_as(n) for n in named)):
                for index in part.indices:  # the argument is an address and is not loaded
                    self._expression(index, guards, effects)
            else:
                self._expression(part, guards, effects)
        for effect in call_effects:
            element = getattr(effect, "element", None)
            if element is None or self.program.start_of(element.source) is not None:
                effects.append(GuardedEffect(effect, guards))


def _element(node: Any, buffer: Any, writes: bool) -> Access:
    """The access of a load or store, scalar or vector."""
    index = node.indices[0]
    count = int(index.lanes) if isinstance(index, Ramp) else 1
    return Access(StoredElement(buffer, index), bytes_of(StoredElement(buffer, index), count), writes)


@dataclass(frozen=True)
class StoredElement:
    """An element that is stored, in the form of a load."""

    source: Any
    index: Any

    @property
    def indices(self) -> tuple[Any, ...]:
        return (self.index,)


def _parts(node: Any) -> list[Any]:
    """The direct operands of an expression."""
    names = ("a", "b", "value", "base", "stride", "condition", "true_value", "false_value", "var", "body")
    parts = [part for name in names if hasattr(part := getattr(node, name, None), "__chandle__")]
    for name in ("vectors", "indices"):
        parts += list(getattr(node, name, ()))
    return parts
