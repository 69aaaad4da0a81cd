"""A small model of a core. It runs commands on numpy in order; in a parallel region, one engine after the other.

Local memory is one array [lane, element] for each buffer; unwritten elements are NaN. ``order`` is the engine that runs
first in a parallel region ("tensor unit" or "dma"): a correct pipeline gives the same results for both. The model
checks that the control core waits: it must not access memory that commands since the last poll access.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tile_tpu.ir.instructions import CORE_INDEX, ELEMENT, SET_ELEMENT, Command, as_command
from tile_tpu.ir.views import LOCAL, View

from tilecore.ir.build import op_name, statements_of
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    Call,
    Evaluate,
    For,
    IfThenElse,
    IntImm,
    Var,
)

_BINARY = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Div": lambda a, b: int(a / b),
    "Mod": lambda a, b: a - int(a / b) * b,
    "Min": min,
    "Max": max,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "And": lambda a, b: a and b,
    "Or": lambda a, b: a or b,
}


@dataclass
class Machine:
    """memory: the tensors by name, as flat arrays. lanes: the lanes of local memory. core: the index of this core."""

    memory: dict[str, np.ndarray]
    lanes: int = 64
    core: int = 0
    order: tuple[str, str] = ("tensor unit", "dma")
    local: dict[Var, np.ndarray] = field(default_factory=dict)
    values: dict[Var, Any] = field(default_factory=dict)
    region: list[tuple[Command, dict]] | None = None
    polls: int = 0
    commands: list[str] = field(default_factory=list)
    overlapped: int = 0  # regions in which both engines had work
    pending_reads: set[str] = field(default_factory=set)
    pending_writes: set[str] = field(default_factory=set)
    strict: bool = False  # check the control core's waits

    # -- values -------------------------------------------------------------------------------------------------

    def value(self, node: Any) -> Any:
        if isinstance(node, (int, float)):
            return node
        kind = type(node).__name__
        if kind in ("IntImm", "FloatImm"):
            return node.value
        if isinstance(node, Var):
            return self.values[node]
        if kind in _BINARY:
            return _BINARY[kind](self.value(node.a), self.value(node.b))
        if kind == "Cast":
            inner = self.value(node.value)
            return int(inner) if "int" in str(node.ty.dtype) else inner
        if kind == "Select":
            return self.value(node.true_value if self.value(node.condition) else node.false_value)
        if kind == "Not":
            return not self.value(node.a)
        if kind in ("TensorLoad", "BufferLoad"):
            self._looks(str(node.source.name))
            return self.memory[str(node.source.name)][self.value(node.indices[0])].item()
        if isinstance(node, Call) and op_name(node) == CORE_INDEX:
            return self.core
        if isinstance(node, Call) and op_name(node) == ELEMENT:
            self._looks(str(node.args[0].name))
            return self.local[node.args[0]][self.value(node.args[1]), self.value(node.args[2])].item()
        raise NotImplementedError(f"{kind} {node}")

    def _looks(self, name: str) -> None:
        assert not self.strict or name not in self.pending_writes, f"the control core reads {name} too early"

    def _changes(self, name: str) -> None:
        early = name in self.pending_writes | self.pending_reads
        assert not self.strict or not early, f"the control core writes {name} too early"

    # -- statements ---------------------------------------------------------------------------------------------

    def run(self, body: Any) -> Machine:
        for node in statements_of(body):
            self.statement(node)
        return self

    def statement(self, node: Any) -> None:
        if isinstance(node, For):
            first = self.value(node.min)
            for number in range(first, first + self.value(node.extent)):
                self.values[node.loop_var] = number
                self.run(node.body)
        elif isinstance(node, IfThenElse):
            if self.value(node.condition):
                self.run(node.then_case)
            elif node.else_case is not None:
                self.run(node.else_case)
        elif isinstance(node, AllocBuffer):
            size = int(node.buffer.shape[0])
            if str(node.buffer.scope()) == LOCAL:
                self.local[node.buffer] = np.full((self.lanes, size), np.nan)
            else:
                whole = "int" in str(node.buffer.dtype)
                self.memory[str(node.buffer.name)] = np.full(size, -1 if whole else np.nan)
        elif isinstance(node, Bind):
            self.values[node.var] = self.value(node.value)
        elif isinstance(node, AttrStmt):
            self.run(node.body)
        elif isinstance(node, BufferStore):
            value = self.value(node.value)
            self._changes(str(node.buffer.name))
            self.memory[str(node.buffer.name)][self.value(node.indices[0])] = value
        elif isinstance(node, Evaluate):
            self._evaluate(node)
        else:
            raise NotImplementedError(str(node))

    def _evaluate(self, node: Evaluate) -> None:
        command = as_command(node)
        if command is not None:
            self._command(command)
        elif op_name(node.value) == SET_ELEMENT:
            buffer, lane, offset, value = node.value.args
            element_value = self.value(value)
            self._changes(str(buffer.name))
            self.local[buffer][self.value(lane), self.value(offset)] = element_value
        elif not isinstance(node.value, IntImm):
            self.value(node.value)

    def _command(self, command: Command) -> None:
        name = command.instruction.name
        self.commands.append(name)
        if name == "parallel_start":
            assert self.region is None
            self.region = []
        elif name == "parallel_end":
            region, self.region = self.region, None
            assert region is not None
            self.overlapped += len({c.instruction.engine for c, _ in region}) == 2
            for engine in self.order:
                for each, values in region:
                    if each.instruction.engine == engine:
                        self._execute(each, values)
        elif name == "poll":
            self.polls += 1
            self.pending_reads.clear()
            self.pending_writes.clear()
        elif name in ("flush_cache", "invalidate_cache"):
            pass
        else:
            values = {key: self._operand(operand) for key, operand in command.operands.items()}
            self.pending_reads |= {str(v.buffer.name) for v in command.read()}
            self.pending_writes |= {str(v.buffer.name) for v in command.written()}
            if self.region is not None:
                self.region.append((command, values))
            else:
                self._execute(command, values)

    def _operand(self, operand: Any) -> Any:
        if isinstance(operand, str):
            return operand
        if not isinstance(operand, View):
            return self.value(operand)
        numbers = lambda group: tuple(self.value(n) for n in group)  # noqa: E731
        return View(
            operand.buffer,
            self.value(operand.lane),
            self.value(operand.offset),
            numbers(operand.shape),  # type: ignore[arg-type]
            numbers(operand.strides),  # type: ignore[arg-type]
        )

    # -- commands -----------------------------------------------------------------------------------------------

    def _places(self, view: View) -> tuple[np.ndarray, Any]:
        n, c, h, w = np.ogrid[tuple(slice(0, s) for s in view.shape)]
        sn, sc, sh, sw = view.strides
        if not view.is_local:
            return self.memory[str(view.buffer.name)], view.offset + n * sn + c * sc + h * sh + w * sw
        lane = view.lane + c
        return self.local[view.buffer], (
            np.broadcast_to(lane % self.lanes, view.shape),
            view.offset + n * sn + lane // self.lanes * sc + h * sh + w * sw,
        )

    def _get(self, operand: Any) -> Any:
        if not isinstance(operand, View):
            return operand
        array, places = self._places(operand)
        return array[places].copy()

    def _put(self, view: View, value: Any) -> None:
        array, places = self._places(view)
        array[places] = value

    def _execute(self, command: Command, operands: dict[str, Any]) -> None:
        name = command.instruction.name
        get = {key: self._get(operand) for key, operand in operands.items()}
        if name in ("load", "store", "move_global", "shift", "copy"):
            self._put(operands["dst"], get["src"])
        elif name == "fill":
            self._put(operands["dst"], get["value"])
        elif name == "load_table":
            self._put(operands["table"], 1.0)
        elif name in ("add", "sub", "mul"):
            self._put(
                operands["dst"], {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name](get["a"], get["b"])
            )
        elif name == "mm":
            product = get["a"][0, :, 0, :] @ get["b"][0, :, 0, :]
            before = get["c"] if operands["accumulate"] else 0
            self._put(operands["c"], product[None, :, None, :] + before)
        else:
            raise NotImplementedError(name)
