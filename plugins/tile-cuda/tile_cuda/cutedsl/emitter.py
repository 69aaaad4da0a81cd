"""Emits kernels as Python of CuTe DSL: the dialect, and an emitter that overrides what Python writes otherwise than C.

The text of a kernel is a function decorated with ``cute.kernel``, and one with ``cute.jit`` that launches it. Memory is
an Array of device.py: ``x[i]`` loads an element, ``tc.store(x, i, value)`` stores one. Numbers have the types of CuTe
DSL; those of fewer than 32 bits are computed in Int32, as C computes them in int, and brought back.
"""

from __future__ import annotations

import keyword
import math
import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tile_cuda.cutedsl.instructions import STATEMENTS, VALUES
from tile_cuda.cutedsl.names import LAUNCH, TYPES
from tilecore.codegen.dialect import Dialect, KernelHead
from tilecore.codegen.forms import C
from tilecore.codegen.literals import as_single
from tilecore.codegen.refusal import refuse
from tilecore.codegen.source_emitter import EmittedKernel, SourceEmitter
from tilecore.codegen.syntax import Memory, Parameter
from tilecore.codegen.text import UNARY, Text, call, within
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import BufferStore, Call, PrimFunc, Ramp, TensorLoad
from tilecore.ir.visit import collect

_LITERAL = re.compile(r"-?\d+")
_MODULE_NAMES = "cuda cutlass cute tc float blocks_x blocks_y blocks_z stream shared"

DIALECT = Dialect(
    kind="cuda",
    block_index=tuple(f"cute.arch.block_idx()[{axis}]" for axis in range(3)),  # type: ignore[arg-type]
    thread_index=tuple(f"cute.arch.thread_idx()[{axis}]" for axis in range(3)),  # type: ignore[arg-type]
    types=TYPES,
    statements=STATEMENTS,
    values=VALUES,
    unroll="",
    reserved=frozenset({*keyword.kwlist, *keyword.softkwlist, *_MODULE_NAMES.split(), *TYPES.values()}),
    forms=replace(C, suffixes={}),
)


class CuteDslEmitter(SourceEmitter):
    """Emits one kernel in CuTe DSL."""

    comment = "#"
    block_start = ":"
    block_end = ""
    otherwise = "else:"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._unrolled: int | None = None  # the factor for the next loop, 0: wholly
        self._first_line = 0  # where declarations of memory stand

    # -- numbers ------------------------------------------------------------------------------------------------

    def integer(self, value: int, dtype: str) -> Text:
        """A number of Python for the types that are computed in Int32; others have their type."""
        number = FACTS[dtype].wrapped(value)
        if FACTS[dtype].bits > 32 or dtype == "uint32":
            return call(self.type_of(dtype), str(number))
        return Text(str(number), UNARY if number < 0 else Text("").level)

    def floating(self, value: float, dtype: str) -> Text:
        if dtype in ("float16", "bfloat16"):
            from tilecore.codegen.literals import narrow_bits, narrow_number

            value = narrow_number(narrow_bits(value, dtype), dtype)
        elif dtype != "float64":
            value = as_single(value)
        return call(self.type_of(dtype), _float_text(value, is_double=dtype == "float64"))

    def boolean(self, value: bool) -> Text:
        return Text(str(value))

    def _typed(self, dtype: str, value: Text) -> Text:
        """A number of Python with its type; other values as they are."""
        return call(self.type_of(dtype), value) if _LITERAL.fullmatch(value.text) else value

    def typed_binary(self, symbol: str, level: int, a: Text, b: Text, dtype: str) -> Text:
        kind, bits = FACTS[dtype].kind, FACTS[dtype].bits
        if kind == "float":
            if symbol == "*":
                return call("tc.product", a, b)
            return self.binary(symbol, level, a, b)
        if kind != "bool" and bits < 32:  # C computes them in int
            a, b = (value if _LITERAL.fullmatch(value.text) else call("Int32", value) for value in (a, b))
        if symbol == "/":  # CuTe DSL's // rounds down; its % has the sign of a, as here
            return call("tc.divide", self._typed(dtype, a), b)
        if symbol in ("<<", ">>"):
            own = dtype if bits >= 32 else "int32"
            b = call(self.type_of(own), b)
        return self.binary(symbol, level, a, b)

    def unary(self, symbol: str, value: Text) -> Text:
        return Text(f"(not {within(value, UNARY)})") if symbol == "!" else super().unary(symbol, value)

    def cast(self, dtype: str, value: Text) -> Text:
        return call(self.type_of(dtype), value)

    def widened(self, value: Text) -> Text:
        return self.cast("float32", value)

    def narrowed(self, dtype: str, value: Text) -> Text:
        return self.cast(dtype, value)

    def choice(self, condition: Text, yes: Text, no: Text) -> Text:
        return Text(f"({yes} if {condition} else {no})")

    def function(self, name: str, *arguments: Text | str) -> Text:
        return call(f"tc.{name.removeprefix('tc_')}", *arguments)

    def typed_function(self, name: str, dtype: str, *arguments: Text | str) -> Text:
        return self.function(name, self.type_of(dtype), *arguments)

    def sized_function(self, name: str, number: int, *arguments: Text | str) -> Text:
        return self.function(name, str(number), *arguments)

    # -- expressions --------------------------------------------------------------------------------------------

    def cast_value(self, node: Any) -> Text:
        source, target = dtype_of(node.value), dtype_of(node)
        if target == "bfloat16" and source in ("int64", "uint64") and constant(node.value) is None:
            refuse(node, self.dialect.kind, "go through float64", f"a conversion of {source} to bfloat16 in CuTe DSL")
        return super().cast_value(node)

    def select_value(self, node: Any) -> Text:
        if _may_fail(node.true_value) or _may_fail(node.false_value):
            return self._chosen(node.condition, node.true_value, node.false_value)
        values = (self.value(part) for part in (node.condition, node.true_value, node.false_value))
        return call("tc.select", *values, self.type_of(dtype_of(node), node))

    def if_then_else_value(self, node: Call) -> Text:
        return self._chosen(*node.args)

    def _chosen(self, condition: Any, yes: Any, no: Any) -> Text:
        """One of two values, of which only the one chosen is evaluated: both get one type, as the DSL wants."""
        kind = self.type_of(dtype_of(yes), yes)
        return self.choice(self.value(condition), *(call(kind, self.value(part)) for part in (yes, no)))

    def and_value(self, node: Any) -> Text:
        if not _may_fail(node.b):
            return super().and_value(node)
        return self.choice(self.value(node.a), call("Boolean", self.value(node.b)), call("Boolean", "False"))

    def or_value(self, node: Any) -> Text:
        if not _may_fail(node.b):
            return super().or_value(node)
        return self.choice(self.value(node.a), call("Boolean", "True"), call("Boolean", self.value(node.b)))

    def binary(self, symbol: str, level: int, a: Text, b: Text) -> Text:
        return super().binary({"&&": "and", "||": "or"}.get(symbol, symbol), level, a, b)

    def address(self, node: Any) -> Text:
        return Text(self.place(node))

    def atomic_value(self, node: Call) -> Text:
        element, kind = node.args[0], str(node.args[2].value)
        dtype = dtype_of(element)
        is_float, bits = FACTS[dtype].kind == "float", FACTS[dtype].bits
        works = kind in ("load", "store") or (kind == "add" if is_float else bits >= 32 or kind == "cas")
        if not works or bits < 16 or (kind == "cas" and is_float):
            hint = "integers of 32 and 64 bits have all atomic operations, floats atomic additions"
            refuse(node, self.dialect.kind, hint, f"an atomic {kind} of {dtype} in CuTe DSL")
        return super().atomic_value(node)

    def atomic(self, kind: str, element: Any, operands: Sequence[Text], order: str) -> Text:
        word = "acquire" if order == "consume" else order
        orders = [] if word == "relaxed" else [f'"{word}"']
        return self.function(f"tc_atomic_{kind}", self.address(element), *operands, *orders)

    # -- memory -------------------------------------------------------------------------------------------------

    def named(self, memory: Memory, index: Text) -> Text:
        return self.access(memory, index)

    def stored(self, memory: Memory, index: Text, value: Text) -> str:
        return f"tc.store({memory.name}, {index}, {value})"

    def pointer(self, memory: Memory, index: Text) -> Text:
        return Text(memory.name) if index.text == "0" else call("tc.at", memory.name, index)

    def emit_store(self, node: BufferStore) -> None:
        (index,) = node.indices
        if isinstance(index, Ramp):
            self.vector_move(node, index)
            return
        memory = self.memory[node.buffer]
        self.line(self.stored(memory, self.place_in(memory, index), self.value(node.value)))

    def vector_move(self, node: BufferStore, index: Ramp) -> None:
        hint, self.move_hint = self.move_hint, ""  # hints may be ignored
        super().vector_move(node, index)
        self.move_hint = hint

    def emit_atomic_add(self, node: Any) -> None:
        target, values, count, order = node.value.args
        word = str(order.value)
        orders = [] if word == "relaxed" else [f'"{word}"']
        arguments = [self.place(target), self.place(values), *orders]
        self.call_line(self.function(f"tc_atomic_add_x{self.known_number(node, count)}", *arguments))

    # -- declarations -------------------------------------------------------------------------------------------

    def constant(self, dtype: str, name: str, value: Text) -> str:
        return f"{name} = {self._typed(dtype, value)}"

    def indices(self, names: Sequence[tuple[str, str]]) -> str:
        left, right = (", ".join(parts) for parts in zip(*names, strict=True))
        return f"{left} = {right}"

    def emit_indices(self, func: PrimFunc, threads: tuple[int, int, int]) -> None:
        super().emit_indices(func, threads)
        for parameter in self.parameters:
            if parameter.is_buffer:
                kind = self.type_of(parameter.dtype)
                self._plain_line(f"{parameter.name} = tc.tensor({_address(parameter)}, {kind})")
        self._first_line = len(self.lines)

    def emit_allocation(self, node: Any) -> None:
        before = len(self.lines)
        super().emit_allocation(node)
        self._hoist(before)

    def emit_view(self, node: Any) -> None:
        before = len(self.lines)
        super().emit_view(node)
        self._hoist(before)

    def _hoist(self, before: int) -> None:
        """Moves the lines behind ``before``, declarations of memory, in front of the code: memory that a loop declared
        would grow in every iteration."""
        declared = [line.strip() for line in self.lines[before:]]
        del self.lines[before:]
        self.lines[self._first_line : self._first_line] = [f"  {line}" for line in declared]
        self._first_line += len(declared)

    def variable(self, dtype: str, name: str, align: int) -> str:
        return self.local_array(dtype, name, 1, align)

    def local_array(self, dtype: str, name: str, count: int, align: int) -> str:
        return f"{name} = tc.local({self.type_of(dtype)}, {count}{f', {align}' if align else ''})"

    def shared_arena(self, size: int) -> str:
        self.lines.insert(self._first_line, f"  {self.dialect.arena_name} = tc.shared({size})")
        self._first_line += 1
        return ""

    def shared_array(self, memory: Memory, count: int | None, offset: int) -> str:
        return f"{memory.name} = tc.in_shared({self.dialect.arena_name}, {offset}, {self.type_of(memory.dtype)})"

    def view(self, memory: Memory, source: Memory, read_only: bool) -> str:
        return f"{memory.name} = tc.view({source.name}, {self.type_of(memory.dtype)})"

    # -- control flow -------------------------------------------------------------------------------------------

    def unroll_line(self, factor: int) -> str:
        self._unrolled = factor
        return ""

    def for_head(self, dtype: str, name: str, first: Text, stop: Text) -> str:
        words = {None: "", 0: ", unroll_full=True"}
        unrolled = words.get(self._unrolled, f", unroll={self._unrolled}")
        self._unrolled = None
        if dtype != "int32":
            first, stop = (call(self.type_of(dtype), bound) for bound in (first, stop))
        bounds = str(stop) if first.text == "0" else f"{first}, {stop}"
        return f"for {name} in cutlass.range({bounds}{unrolled})"

    def while_head(self, condition: Text) -> str:
        return f"while {condition}"

    def if_head(self, condition: Text) -> str:
        return f"if {condition}"

    def else_if_head(self, condition: Text) -> str:
        return f"elif {condition}"

    def empty_block(self) -> str:
        return "pass"

    def emit_break(self, node: Any) -> None:
        refuse(node, self.dialect.kind, "use a condition in T.While", "a break out of a loop in CuTe DSL")

    def emit_continue(self, node: Any) -> None:
        refuse(node, self.dialect.kind, "put the rest of the loop into an if", "a continue of a loop in CuTe DSL")

    def call_statement(self, call: Text) -> str:
        return str(call)

    def emit_print(self, node: Any) -> None:
        refuse(node.value, self.dialect.kind, "print with another execution backend", "a print in CuTe DSL")

    def emit_device_assert(self, node: Any) -> None:
        hint = "check it with another execution backend"
        refuse(node.value, self.dialect.kind, hint, "a device assertion in CuTe DSL")

    def emit_assume(self, node: Any) -> None:
        """A hint that may be ignored."""

    def extern_value(self, node: Call) -> Text:
        hint = "call it with another execution backend"
        return refuse(node, self.dialect.kind, hint, "a function of CUDA C++ source text in CuTe DSL")

    # -- kernels ------------------------------------------------------------------------------------------------

    def parameter_type(self, parameter: Parameter) -> str:
        return "Int64" if parameter.is_buffer else self.type_of(parameter.dtype)

    def kernel_head(self, head: KernelHead) -> str:
        names = self._parameter_names()
        parameters = ", ".join(f"{name}: {kind}" for name, (kind, _) in zip(names, head.parameters, strict=True))
        return f"@cute.kernel\ndef {head.symbol}({parameters})"

    def _parameter_names(self) -> list[str]:
        return [_address(p) if p.is_buffer else p.name for p in self.parameters]

    def kernel(self, func: PrimFunc) -> tuple[str, EmittedKernel]:
        text, facts = super().kernel(func)
        return f"{text.rstrip()}\n\n\n{self._launcher(func, facts)}", facts

    def _launcher(self, func: PrimFunc, facts: EmittedKernel) -> str:
        """The function that launches the kernel: its parameters, the blocks along each axis and the stream."""
        from tilecore.ir.attributes import FunctionAttr

        names = self._parameter_names()
        kinds = [self.parameter_type(parameter) for parameter in self.parameters]
        blocks = ("blocks_x", "blocks_y", "blocks_z")
        parameters = [f"{name}: {kind}" for name, kind in zip(names, kinds, strict=True)]
        parameters += [*(f"{name}: Int32" for name in blocks), "stream: cuda.CUstream"]
        threads = ", ".join(str(constant(extent)) for extent in func.attrs[FunctionAttr.THREADS])
        launch = f"grid=({', '.join(blocks)}), block=({threads}), smem={facts.shared_bytes}, stream=stream"
        return (
            f"@cute.jit\ndef {LAUNCH}{self.symbol}({', '.join(parameters)}):\n"
            f"  {self.symbol}({', '.join(names)}).launch({launch})"
        )

    def module_head(self) -> str:
        return (
            "# tilecore: CuTe DSL\n"
            "import cuda.bindings.driver as cuda\n"
            "import cutlass\n"
            "import cutlass.cute as cute\n"
            f"from cutlass import {', '.join(sorted(set(TYPES.values())))}\n"
            "from tile_cuda.cutedsl import device as tc\n"
        )


def _address(parameter: Parameter) -> str:
    """The name of a kernel's parameter with the address of a tensor."""
    return f"{parameter.name}_address"


def _may_fail(node: Any) -> bool:
    """Whether a value must not be evaluated where it is not asked for: it reads memory or takes part in a call."""
    return bool(collect(node, TensorLoad)) or bool(collect(node, Call))


def _float_text(value: float, is_double: bool) -> str:
    """A number of Python that becomes this float64, or this float32."""
    if math.isnan(value):
        return 'float("nan")'
    if math.isinf(value):
        return 'float("-inf")' if value < 0 else 'float("inf")'
    packing = "<d" if is_double else "<f"
    for digits in (6, 9):
        short = f"{value:.{digits}g}"
        number = float(short) if is_double else as_single(float(short))
        if struct.pack(packing, number) == struct.pack(packing, value):
            return short if any(mark in short for mark in ".e") else f"{short}.0"
    return repr(value)
