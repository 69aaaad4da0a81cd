"""The words of Python and of CuTe DSL: how numbers, operators, memory and control flow are written.

Memory is an Array of device.py: ``x[i]`` loads an element, ``tc.store(x, i, value)`` stores one. Numbers have the types
of CuTe DSL; those of fewer than 32 bits are computed in Int32, as C computes them in int, and brought back.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from typing import Any

from tilecore.codegen.literals import as_single, narrow_bits, narrow_number
from tilecore.codegen.source_emitter import SourceEmitter
from tilecore.codegen.syntax import Memory, Parameter
from tilecore.codegen.text import PRIMARY, UNARY, Text, call, within
from tilecore.dtypes import FACTS

_LITERAL = re.compile(r"-?\d+")


class CuteDslSyntax(SourceEmitter):
    """Writes the words of CuTe DSL."""

    comment = "#"
    block_start = ":"
    block_end = ""
    otherwise = "else:"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._unrolled: int | None = None  # the factor for the next loop, 0: wholly

    def integer(self, value: int, dtype: str) -> Text:
        """A number of Python for the types that are computed in Int32; others have their type."""
        number = FACTS[dtype].wrapped(value)
        if FACTS[dtype].bits > 32 or dtype == "uint32":
            return call(self.type_of(dtype), str(number))
        return Text(str(number), UNARY if number < 0 else PRIMARY)

    def floating(self, value: float, dtype: str) -> Text:
        if dtype in ("float16", "bfloat16"):
            value = narrow_number(narrow_bits(value, dtype), dtype)
        elif dtype != "float64":
            value = as_single(value)
        if value == 0 and math.copysign(1, value) < 0:
            return self.function("tc_negative_zero", self.type_of(dtype))
        return call(self.type_of(dtype), _float_text(value, is_double=dtype == "float64"))

    def boolean(self, value: bool) -> Text:
        return Text(str(value))

    def _typed(self, dtype: str, value: Text) -> Text:
        """A number of Python with its type; other values as they are."""
        return call(self.type_of(dtype), value) if _LITERAL.fullmatch(value.text) else value

    def typed_binary(self, symbol: str, level: int, a: Text, b: Text, dtype: str) -> Text:
        kind, bits = FACTS[dtype].kind, FACTS[dtype].bits
        if kind == "float":
            name = {"+": "sum", "-": "difference", "*": "product"}.get(symbol)
            if name is not None:
                return call(f"tc.{name}", a, b)
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

    def binary(self, symbol: str, level: int, a: Text, b: Text) -> Text:
        return super().binary({"&&": "and", "||": "or"}.get(symbol, symbol), level, a, b)

    def named(self, memory: Memory, index: Text) -> Text:
        return self.access(memory, index)

    def stored(self, memory: Memory, index: Text, value: Text) -> str:
        return f"tc.store({memory.name}, {index}, {value})"

    def pointer(self, memory: Memory, index: Text) -> Text:
        return Text(memory.name) if index.text == "0" else call("tc.at", memory.name, index)

    def constant(self, dtype: str, name: str, value: Text) -> str:
        return f"{name} = {self._typed(dtype, value)}"

    def indices(self, names: Sequence[tuple[str, str]]) -> str:
        left, right = (", ".join(parts) for parts in zip(*names, strict=True))
        return f"{left} = {right}"

    def variable(self, dtype: str, name: str, align: int) -> str:
        return self.local_array(dtype, name, 1, align)

    def local_array(self, dtype: str, name: str, count: int, align: int) -> str:
        return f"{name} = tc.local({self.type_of(dtype)}, {count}{f', {align}' if align else ''})"

    def shared_array(self, memory: Memory, count: int | None, offset: int) -> str:
        return f"{memory.name} = tc.in_shared({self.dialect.arena_name}, {offset}, {self.type_of(memory.dtype)})"

    def view(self, memory: Memory, source: Memory, read_only: bool) -> str:
        return f"{memory.name} = tc.view({source.name}, {self.type_of(memory.dtype)})"

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

    def call_statement(self, call: Text) -> str:
        return str(call)

    def parameter_type(self, parameter: Parameter) -> str:
        return "Int64" if parameter.is_buffer else self.type_of(parameter.dtype)


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
