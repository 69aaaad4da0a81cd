"""The accesses of a statement in the order in which a thread does them, each with the conditions it stands under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.ir.build import op_name
from tilecore.ir.nodes import And, BufferStore, Call, Evaluate, Or, Ramp, Select, TensorLoad
from tilecore.ir.visit import collect
from tilecore.lowering.race_check.effects import AnyTouch, Effect, Start, Touch, bytes_of, effects_of
from tilecore.lowering.race_check.program import Program

Guards = tuple[tuple[Any, bool], ...]  # (condition, what it must be)


@dataclass(frozen=True)
class Access:
    effect: Effect
    guards: Guards


class Accesses:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.unknown: list[Call] = []  # calls that are given shared memory, and that nobody has described

    def of(self, node: Any) -> list[Access]:
        """Of a simple statement, or of an expression."""
        found: list[Access] = []
        if isinstance(node, BufferStore):
            for index in node.indices:
                self._expression(index, (), found)
            self._expression(node.value, (), found)
            if self.program.start_of(node.buffer) is not None:
                found.append(Access(_element(node, node.buffer, True), ()))
        elif isinstance(node, Evaluate):
            self._expression(node.value, (), found, is_statement=True)
        else:
            value = getattr(node, "value", node)
            if value is not None and hasattr(value, "__chandle__"):
                self._expression(value, (), found)
        return found

    def _expression(self, node: Any, guards: Guards, found: list[Access], is_statement: bool = False) -> None:
        if not self._matters(node):
            return
        if isinstance(node, Call):
            self._call(node, guards, found, is_statement)
        elif isinstance(node, Select):
            self._choice((node.condition, node.true_value, node.false_value), guards, found)
        elif isinstance(node, (And, Or)):
            self._expression(node.a, guards, found)
            self._expression(node.b, (*guards, (node.a, isinstance(node, And))), found)
        elif isinstance(node, TensorLoad):
            for index in node.indices:
                self._expression(index, guards, found)
            if self.program.start_of(node.source) is not None:
                found.append(Access(_element(node, node.source, False), guards))
        else:
            for part in _parts(node):
                self._expression(part, guards, found)

    def _matters(self, node: Any) -> bool:
        """Does it name shared memory, or call something that others have to do with?"""
        if any(self.program.start_of(load.source) is not None for load in collect(node, TensorLoad)):
            return True
        return any(effects_of(call, self.program.func) for call in collect(node, Call))

    def _choice(self, parts: tuple[Any, Any, Any], guards: Guards, found: list[Access]) -> None:
        condition, yes, no = parts
        self._expression(condition, guards, found)
        self._expression(yes, (*guards, (condition, True)), found)
        self._expression(no, (*guards, (condition, False)), found)

    def _call(self, node: Call, guards: Guards, found: list[Access], is_statement: bool) -> None:
        name = op_name(node)
        if name.endswith("if_then_else"):
            self._choice((node.args[0], node.args[1], node.args[2]), guards, found)
            return
        effects = effects_of(node, self.program.func)
        if effects is None:
            if is_statement and "." in name and not name.startswith("tile."):
                self.unknown.append(node)
            for part in node.args:
                self._expression(part, guards, found)
            return
        named = [e.element for e in effects if isinstance(e, (Touch, AnyTouch, Start)) and e.element is not None]
        for part in node.args:
            if isinstance(part, TensorLoad) and (not name.startswith("tile.") or any(part.same_as(n) for n in named)):
                for index in part.indices:  # an address, no load
                    self._expression(index, guards, found)
            else:
                self._expression(part, guards, found)
        for effect in effects:
            element = getattr(effect, "element", None)
            if element is None or self.program.start_of(element.source) is not None:
                found.append(Access(effect, guards))


def _element(node: Any, buffer: Any, writes: bool) -> Touch:
    index = node.indices[0]
    count = int(index.lanes) if isinstance(index, Ramp) else 1
    return Touch(Place(buffer, index), bytes_of(Place(buffer, index), count), writes)


@dataclass(frozen=True)
class Place:
    """An element that is stored to, as a load would name it."""

    source: Any
    index: Any

    @property
    def indices(self) -> tuple[Any, ...]:
        return (self.index,)


def _parts(node: Any) -> list[Any]:
    """The expressions directly inside one."""
    names = ("a", "b", "value", "base", "stride", "condition", "true_value", "false_value", "var", "body")
    found = [part for name in names if hasattr(part := getattr(node, name, None), "__chandle__")]
    for name in ("vectors", "indices"):
        found += list(getattr(node, name, ()))
    return found
