"""Compiles a function to closures, and runs it on arguments: the entry points of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tilecore.caller import keywords_checked
from tilecore.errors import ArgumentError
from tilecore.interpreter.analysis import facts_of
from tilecore.interpreter.arguments import (
    TensorArgument,
    check_layout,
    scalar_argument,
    scalar_type,
    tensor_argument,
)
from tilecore.interpreter.memory import Storage, View
from tilecore.interpreter.pointers import PointedMemory, null_view
from tilecore.interpreter.scope import Scope, VariableInfo
from tilecore.interpreter.sizes import Equation, equation, solve
from tilecore.interpreter.state import Options, State
from tilecore.interrupts import held_back
from tilecore.ir.contraction import contracted
from tilecore.ir.dialect_calls import refuse_dialects
from tilecore.ir.nodes import PrimFunc, is_buffer_var


class Program:
    """A tile IR function ready to be interpreted, any number of times.

    The function is compiled once; UnsupportedError or LanguageError says where it uses what has no meaning.
    """

    def __init__(self, func: PrimFunc) -> None:
        with held_back():
            self._compile(getattr(func, "ir", func))

    def _compile(self, func: PrimFunc) -> None:
        refuse_dialects(func.body, "the interpreter, which knows the core's language only")
        func = contracted(func)
        self.params = list(func.params)
        self.names = [str(param.name) for param in self.params]
        self.scope = Scope(facts_of(func.body))
        self.symbols: dict[str, VariableInfo] = {}
        self.shapes: dict[int, list[Equation]] = {}
        self.strides: dict[int, list[Equation]] = {}
        for param in self.params:
            if is_buffer_var(param):
                self.scope.define_buffer(param)
            else:
                scalar_type(str(param.name), param)
                self.scope.define(param)
        for position, param in enumerate(self.params):
            if is_buffer_var(param):
                self.shapes[position] = self._equations(position, "shape", param.shape)
                self.strides[position] = self._equations(position, "stride", param.strides)
        self.body = self.scope.statement(func.body)

    def _equations(self, position: int, quantity: str, sizes: Any) -> list[Equation]:
        equations = []
        for axis, size in enumerate(sizes):
            equations.append(equation(self.scope, size, (position, quantity, axis), self.symbols))
        return equations

    def __call__(self, *args: Any, options: Options | None = None) -> None:
        """Run on ``args``, one for each parameter in order; outputs are written in place. None for a tensor is a null
        pointer, whose accesses are errors."""
        if len(args) != len(self.params):
            raise ArgumentError(
                f"{len(args)} arguments were given",
                expected=f"{len(self.params)}: {', '.join(self.names)}",
            )
        state = State(self.scope.slots, options or Options())
        with np.errstate(all="ignore"):
            tensors = self._bind(state, args)
            self.body(state)
        for position, tensor in tensors.items():
            if self.params[position] in self.scope.facts.written:
                tensor.write_back()

    def _bind(self, state: State, args: tuple[Any, ...]) -> dict[int, TensorArgument]:
        tensors: dict[int, TensorArgument] = {}
        for position, (param, name, arg) in enumerate(zip(self.params, self.names, args, strict=True)):
            if is_buffer_var(param):
                info = self.scope.buffer(param)
                written = param in self.scope.facts.written
                if arg is None:
                    continue
                tensors[position] = tensor_argument(name, info.kind, info.rank, arg, written)
            else:
                variable = self.scope.variable(param)
                state.env[variable.slot] = scalar_argument(name, variable.kind, arg)
        self._solve(state, tensors)
        for position in self.shapes.keys() - tensors.keys():
            info = self.scope.buffer(self.params[position])
            shape = tuple(int(item.expression(state)) for item in self.shapes[position])
            state.env[info.slot] = null_view(info.name, info.kind, shape)
        for position, tensor in tensors.items():
            declared = self.strides[position]
            check_layout(tensor, tuple(int(item.expression(state)) for item in declared) if declared else None)
            info = self.scope.buffer(self.params[position])
            unit = self.scope.facts.units.get(info.var, info.kind.storage.itemsize)
            storage = Storage(tensor.contiguous.view(np.uint8), unit, None)
            state.env[info.slot] = View(info.name, info.kind, tensor.shape, storage)
        state.pointed = PointedMemory([tensor.array for tensor in tensors.values()])
        return tensors

    def _solve(self, state: State, tensors: dict[int, TensorArgument]) -> None:
        facts: list[tuple[Equation, int, str]] = []
        free: list[tuple[Equation, int, str]] = []
        for position, tensor in tensors.items():
            name = self.names[position]
            for axis, (item, size) in enumerate(zip(self.shapes[position], tensor.shape, strict=True)):
                facts.append((item, size, f"{name}.shape[{axis}]"))
            for axis, item in enumerate(self.strides[position]):
                of_a_step = (item, tensor.strides[axis], f"{name}.strides[{axis}]")
                (facts if tensor.shape[axis] > 1 else free).append(of_a_step)
        solve(state, self.symbols, facts, free, complete=len(tensors) == len(self.shapes))


@keywords_checked
def interpret(
    func: PrimFunc,
    *args: Any,
    check: bool = True,
    strict: bool = False,
    block_order: Literal["natural", "seeded"] = "natural",
    seed: int = 0,
    print_hook: Callable[[str], None] = print,
    block_races: bool = True,
) -> None:
    """Run the tile IR function ``func`` on ``args``, one for each parameter in order; outputs are written in place.

    args: numpy arrays (ml_dtypes for bfloat16, float8 and int4), torch tensors on the CPU, and Python numbers for
    scalar parameters. 4-bit tensors may be int8 or uint8 with pairs along a halved last axis, the even element low.
    check: raise UninitialisedReadError and RaceError. strict: tails are legal, but raise OutOfBoundsError where what
    was read outside of a tensor is stored inside one or decides a reduction (which else warns). block_order: "natural"
    (x fastest) or "seeded" (shuffled with ``seed``).
    print_hook: gets every line of T.print. block_races: with ``check``, also raise RaceError when one block reads what
    another writes, or both write different values; kernels that order their blocks by flags need it off.

    Raises ArgumentError, and errors of the kernel (InterpreterError and its kinds) with the line that went wrong.
    """
    if block_order not in ("natural", "seeded"):
        raise ArgumentError(f"block_order {block_order!r}", expected='"natural" or "seeded"')
    options = Options(check, strict, seed if block_order == "seeded" else None, print_hook, block_races)
    Program(func)(*args, options=options)
