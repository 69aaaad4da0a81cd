"""Expressions of the target IR as LLVM instructions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tilecore.backends.cpu.llvm import arithmetic, choices, conversions, mathematics
from tilecore.backends.cpu.llvm.arithmetic import same
from tilecore.backends.cpu.llvm.conversions import stored_form
from tilecore.backends.cpu.llvm.function import Function, Memory
from tilecore.backends.cpu.llvm.intrinsics import suffix
from tilecore.backends.cpu.llvm.narrow import narrow, widen
from tilecore.backends.cpu.llvm.refusal import refuse
from tilecore.backends.cpu.llvm.types import Value, computed, is_narrow, literal, split, stored, vector
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Call, Expr, Ramp, TensorLoad, Var
from tilecore.ir.thread_calls import ATOMIC_ELEMENT
from tilecore.lowering.loops.lane_ops import ACROSS, MASKED_LOAD, RAW_LOAD

_AFFINE = ("Add", "Sub", "Mul", "Cast", "Ramp", "Broadcast")


class Expressions:
    """Emits expressions into a function. ``env``: values of variables; ``memory``: places of buffers."""

    def __init__(self, fn: Function) -> None:
        self.fn = fn
        self.env: dict[Var, Value] = {}
        self.memory: dict[Var, Memory] = {}
        self.analyzer = Analyzer()
        self.exact = False  # integer sums and products are those of an index

    def value(self, node: Expr) -> Value:
        """The value of ``node`` in its computed form."""
        value = self.lazy(node)
        return widen(self.fn, value) if not value.text else value

    def lazy(self, node: Expr) -> Value:
        """As :meth:`value`, but a narrow float may be in its stored form only."""
        name = type(node).__name__
        before, self.exact = self.exact, self.exact and name in _AFFINE
        try:
            return _HANDLERS.get(name, _refused)(self, node)
        finally:
            self.exact = before

    def offset(self, node: Expr) -> Value:
        """The value of an index: sums and products in it do not overflow, as no buffer reaches so far."""
        before, self.exact = self.exact, True
        try:
            return self.value(node)
        finally:
            self.exact = before

    # -- leaves -----------------------------------------------------------------------------------------------

    def _int(self, node: Any) -> Value:
        return literal(int(node.value), *split(dtype_of(node)))

    def _float(self, node: Any) -> Value:
        number, (dtype, lanes) = float(node.value), split(dtype_of(node))
        if not math.isinf(number) or not choices.loses_infinities(dtype):
            return literal(number, dtype, lanes)
        raw = choices.infinity_bits(number, dtype)  # in its stored form, as rounding saturates
        return Value("", dtype, lanes, str(raw) if lanes == 1 else f"splat ({stored(dtype)} {raw})")

    def _var(self, node: Var) -> Value:
        value = self.env[node]  # its other form, once made, is not there on every way from here: a copy gets it
        return Value(value.text, value.dtype, value.lanes, value.raw)

    def _ramp(self, node: Any) -> Value:
        return self.fn.ramp(self.value(node.base), self.value(node.stride), int(node.lanes))

    def _broadcast(self, node: Any) -> Value:
        """One value for all lanes; where rounding would change an infinity, it is moved in its stored form."""
        value, lanes = self.lazy(node.value), int(node.lanes)
        if not value.raw or value.lanes == lanes or not choices.loses_infinities(value.dtype):
            return self.fn.broadcast(widen(self.fn, value), lanes)
        kind = vector(stored(value.dtype), lanes)
        first = self.fn.op(f"insertelement {kind} poison, {stored(value.dtype)} {value.raw}, i64 0")
        spread = self.fn.op(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")
        return Value("", value.dtype, lanes, spread)

    def _shuffle(self, node: Any) -> Value:
        """Lanes picked from one or two vectors; narrow floats are moved in their stored form."""
        parts = [self.lazy(v) for v in node.vectors]
        if len(parts) > 2 or any(p.lanes != parts[0].lanes for p in parts):
            return refuse(node)
        if len(parts) == 1:
            parts = parts * 2
        numbers = [constant(i) for i in node.indices]
        lanes, first = len(numbers), parts[0]
        raw = is_narrow(first.dtype)
        kind = first.stored_type if raw else first.type
        a, b = (narrow(self.fn, p) if raw else p.text for p in parts)
        picked = ", ".join(f"i32 {n}" for n in numbers)
        text = self.fn.op(f"shufflevector {kind} {a}, {kind} {b}, <{lanes} x i32> <{picked}>")
        return Value("", first.dtype, lanes, text) if raw else Value(text, first.dtype, lanes)

    # -- memory -----------------------------------------------------------------------------------------------

    def _load(self, node: TensorLoad) -> Value:
        memory = self.memory[node.source]
        (index,) = node.indices
        _, lanes = split(dtype_of(node))
        if memory.lanes > 1 or lanes == 1:
            pointer = self.fn.address(memory, self.offset(index))
            return self._read(memory, pointer, lanes)
        if isinstance(index, Ramp) and constant(index.stride) == 1:
            pointer = self.fn.address(memory, self.offset(index.base))
            return self._read(memory, pointer, lanes)
        return self._gather(memory, self.offset(index), lanes, None, None)

    def _read(self, memory: Memory, pointer: str, lanes: int) -> Value:
        kind = vector(stored(memory.dtype), lanes)
        text = self.fn.op(f"load {kind}, ptr {pointer}, align {self.fn.align(memory)}{self.fn.tag(memory)}")
        return self.loaded(text, memory.dtype, lanes)

    def loaded(self, text: str, dtype: str, lanes: int) -> Value:
        """A value from its stored form."""
        if is_narrow(dtype):
            return Value("", dtype, lanes, text)
        if dtype == "bool":
            return Value(self.fn.op(f"trunc {vector('i8', lanes)} {text} to {vector('i1', lanes)}"), dtype, lanes)
        return Value(text, dtype, lanes)

    def stored_form(self, value: Value) -> str:
        return stored_form(self.fn, value)

    def _masked_load(self, node: Call) -> Value:
        element, mask, other = node.args
        memory = self.memory[element.source]
        (index,) = element.indices
        _, lanes = split(dtype_of(node))
        active, rest = self.value(mask), self.stored_form(self.lazy(other))
        if not (isinstance(index, Ramp) and constant(index.stride) == 1):
            return self._gather(memory, self.offset(index), lanes, active, rest)
        pointer = self.fn.address(memory, self.offset(index.base), inbounds=False)
        kind = vector(stored(memory.dtype), lanes)
        name = f"llvm.masked.load.{suffix(kind)}.p0"
        self.fn.module.declare(name, f"{kind} {{}}(ptr, i32, <{lanes} x i1>, {kind})")
        arguments = f"ptr {pointer}, i32 {self.fn.align(memory)}, {active.type} {active.text}, {kind} {rest}"
        text = self.fn.op(f"call {kind} @{name}({arguments}){self.fn.tag(memory)}")
        # of a choice between it and another value LLVM makes a masked load where the choice stands, behind stores that
        # came after this one: not if it is frozen
        return self.loaded(self.fn.op(f"freeze {kind} {text}"), memory.dtype, lanes)

    def pointers(self, memory: Memory, index: Value) -> str:
        kind = stored(memory.dtype)
        return self.fn.op(f"getelementptr {kind}, ptr {memory.pointer}, {index.type} {index.text}", "p")

    def _gather(self, memory: Memory, index: Value, lanes: int, mask: Value | None, other: str | None) -> Value:
        kind = vector(stored(memory.dtype), lanes)
        places = self.pointers(memory, index)
        name = f"llvm.masked.gather.{suffix(kind)}.v{lanes}p0"
        self.fn.module.declare(name, f"{kind} {{}}(<{lanes} x ptr>, i32, <{lanes} x i1>, {kind})")
        active = mask.text if mask is not None else literal(True, "bool", lanes).text
        align = self.fn.align(memory)
        arguments = f"<{lanes} x ptr> {places}, i32 {align}, <{lanes} x i1> {active}, {kind} {other or 'poison'}"
        return self.loaded(self.fn.op(f"call {kind} @{name}({arguments}){self.fn.tag(memory)}"), memory.dtype, lanes)

    # -- calls ------------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Value:
        name = op_name(node)
        handler = _CALLS.get(name)
        if handler is not None:
            return handler(self, node)
        result = mathematics.function(self, name, node)
        return result if result is not None else refuse(node)

    def _raw_load(self, node: Call) -> Value:
        element = node.args[0]
        memory = self.memory[element.source]
        pointer = self.fn.address(memory, self.offset(element.indices[0]))
        dtype, lanes = split(dtype_of(node))
        kind = vector(computed(dtype), lanes)
        text = self.fn.op(f"load {kind}, ptr {pointer}, align {self.fn.align(memory)}{self.fn.tag(memory)}")
        return Value(text, dtype, lanes)

    def _dot_product(self, node: Call) -> Value:
        """VDPBF16PS or VPDPBUSD on 512-bit vectors."""
        total, a, b = (self.value(arg) for arg in node.args)
        if op_name(node) == "cpu.dot_bfloat16":
            name, kind = "llvm.x86.avx512bf16.dpbf16ps.512", "<32 x bfloat>"
        else:
            name, kind = "llvm.x86.avx512.vpdpbusd.512", "<64 x i8>"
        self.fn.module.declare(name, f"{total.type} {{}}({total.type}, {kind}, {kind})")
        x, y = (self.fn.op(f"bitcast {v.type} {v.text} to {kind}") for v in (a, b))
        return same(self.fn, total, f"call {total.type} @{name}({total.type} {total.text}, {kind} {x}, {kind} {y})")

    def _pairs(self, node: Call) -> Value:
        """VPMADDWD: the products of two int16 each, added."""
        a, b = (self.value(arg) for arg in node.args)
        name = {8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}[a.lanes]
        kind = f"<{2 * a.lanes} x i16>"
        self.fn.module.declare(name, f"{a.type} {{}}({kind}, {kind})")
        x, y = (self.fn.op(f"bitcast {v.type} {v.text} to {kind}") for v in (a, b))
        return same(self.fn, a, f"call {a.type} @{name}({kind} {x}, {kind} {y})")

    def _round_to_bfloat16(self, node: Call) -> Value:
        """VCVTNEPS2BF16 on 16 lanes."""
        value = self.value(node.args[0])
        name, kind = "llvm.x86.avx512bf16.cvtneps2bf16.512", "<16 x bfloat>"
        self.fn.module.declare(name, f"{kind} {{}}({value.type})")
        rounded = self.fn.op(f"call {kind} @{name}({value.type} {value.text})")
        return Value("", "bfloat16", value.lanes, self.fn.op(f"bitcast {kind} {rounded} to <16 x i16>"))

    def _across(self, node: Call) -> Value:
        return mathematics.across(self.fn, self.value(node.args[0]), str(node.args[1].value))

    def _atomic(self, node: Call) -> Value:
        from tilecore.backends.cpu.llvm.effects import atomic_element

        return atomic_element(self, node)

    def _let(self, node: Any) -> Value:
        self.env[node.var] = self.value(node.value)
        return self.value(node.body)


def _refused(emit: Expressions, node: Any) -> Value:
    refuse(node)


_CALLS: dict[str, Callable[[Expressions, Any], Value]] = {
    "if_then_else": choices.if_then_else,
    "reinterpret": conversions.reinterpret,
    "likely": lambda self, node: self.value(node.args[0]),
    MASKED_LOAD: Expressions._masked_load,
    ACROSS: Expressions._across,
    RAW_LOAD: Expressions._raw_load,
    "cpu.dot_bfloat16": Expressions._dot_product,
    "cpu.dot_uint8_int8": Expressions._dot_product,
    "cpu.dot_int16": Expressions._pairs,
    "cpu.round_to_bfloat16": Expressions._round_to_bfloat16,
    ATOMIC_ELEMENT: Expressions._atomic,
}
_HANDLERS: dict[str, Callable[[Expressions, Any], Value]] = {
    "IntImm": Expressions._int,
    "FloatImm": Expressions._float,
    "Var": Expressions._var,
    "Ramp": Expressions._ramp,
    "Broadcast": Expressions._broadcast,
    "Shuffle": Expressions._shuffle,
    **arithmetic.HANDLERS,
    **choices.HANDLERS,
    "Cast": conversions.cast,
    "Let": Expressions._let,
    "TensorLoad": Expressions._load,
    "Call": Expressions._call,
}
