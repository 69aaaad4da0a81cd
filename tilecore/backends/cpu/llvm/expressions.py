"""Expressions of the target IR as LLVM instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.backends.cpu.llvm import mathematics
from tilecore.backends.cpu.llvm.function import Function, Memory
from tilecore.backends.cpu.llvm.narrow import narrow, widen
from tilecore.backends.cpu.llvm.types import (
    Value,
    computed,
    is_float,
    is_narrow,
    is_signed,
    literal,
    split,
    stored,
    vector,
)
from tilecore.dtypes import FACTS
from tilecore.errors import UnsupportedError
from tilecore.frontend.source import location_of_span
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Analyzer, Call, Expr, Ramp, TensorLoad, Var
from tilecore.ir.visit import collect
from tilecore.lowering.lane_ops import ACROSS, MASKED_LOAD, RAW_LOAD

_ARITHMETIC = {"Add": "add", "Sub": "sub", "Mul": "mul"}
_BITS = {"BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor", "LShift": "shl", "RShift": "shr"}
_AFFINE = (*_ARITHMETIC, "Cast", "Ramp", "Broadcast")
_COMPARE = {"LT": "lt", "LE": "le", "GT": "gt", "GE": "ge", "EQ": "eq", "NE": "ne"}


class Expressions:
    """Emits expressions into a function. ``env``: values of variables; ``memory``: places of buffers."""

    def __init__(self, fn: Function) -> None:
        self.fn = fn
        self.env: dict[Var, Value] = {}
        self.memory: dict[Var, Memory] = {}
        self.analyzer = Analyzer()
        self.fast = "contract "
        self.exact = False  # integer sums and products are those of an index

    def value(self, node: Expr) -> Value:
        """The value of ``node`` in its computed form."""
        made = self.lazy(node)
        return widen(self.fn, made) if not made.text else made

    def lazy(self, node: Expr) -> Value:
        """As :meth:`value`, but a narrow float may be in its stored form only."""
        name = type(node).__name__
        before, self.exact = self.exact, self.exact and name in _AFFINE
        try:
            return _HANDLERS.get(name, Expressions._unknown)(self, node)
        finally:
            self.exact = before

    def offset(self, node: Expr) -> Value:
        """The value of an index: sums and products in it do not overflow, as no buffer reaches so far."""
        before, self.exact = self.exact, True
        try:
            return self.value(node)
        finally:
            self.exact = before

    def _unknown(self, node: Any) -> Value:
        name = op_name(node) or type(node).__name__
        raise UnsupportedError(
            f"{name} has no form on target cpu", location=location_of_span(getattr(node, "span", None))
        )

    # -- leaves -----------------------------------------------------------------------------------------------

    def _int(self, node: Any) -> Value:
        return literal(int(node.value), *split(dtype_of(node)))

    def _float(self, node: Any) -> Value:
        return literal(float(node.value), *split(dtype_of(node)))

    def _var(self, node: Var) -> Value:
        return self.env[node]

    def _ramp(self, node: Any) -> Value:
        return self.fn.ramp(self.value(node.base), self.value(node.stride), int(node.lanes))

    def _broadcast(self, node: Any) -> Value:
        return self.fn.broadcast(self.value(node.value), int(node.lanes))

    def _shuffle(self, node: Any) -> Value:
        """Lanes picked from one or two vectors; narrow floats are moved in their stored form."""
        parts = [self.lazy(v) for v in node.vectors]
        if len(parts) > 2 or any(p.lanes != parts[0].lanes for p in parts):
            return self._unknown(node)
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

    # -- arithmetic -------------------------------------------------------------------------------------------

    def _binary(self, node: Any) -> Value:
        name = type(node).__name__
        a, b = self.value(node.a), self.value(node.b)
        word = _ARITHMETIC[name]
        if is_float(a.dtype):
            return self._same(a, f"f{word} {self.fast}{a.type} {a.text}, {b.text}")
        flag = "nsw " if self.exact and is_signed(a.dtype) and a.lanes == 1 else ""
        return self._wrapped(self._same(a, f"{word} {flag}{a.type} {a.text}, {b.text}"))

    def _same(self, like: Value, text: str) -> Value:
        return Value(self.fn.op(text), like.dtype, like.lanes)

    def _wrapped(self, value: Value) -> Value:
        """An integer brought back into the range of its type: a 4-bit one stands in a byte."""
        if FACTS[value.dtype].bits >= 8:
            return value
        if not is_signed(value.dtype):
            return self._same(value, f"and {value.type} {value.text}, {literal(15, value.dtype, value.lanes).text}")
        four = literal(4, value.dtype, value.lanes).text
        high = self.fn.op(f"shl {value.type} {value.text}, {four}")
        return self._same(value, f"ashr {value.type} {high}, {four}")

    def _div(self, node: Any) -> Value:
        a, b = self.value(node.a), self.value(node.b)
        if is_float(a.dtype):
            return self._same(a, f"fdiv {a.type} {a.text}, {b.text}")
        return self._wrapped(self._same(a, f"{'s' if is_signed(a.dtype) else 'u'}div {a.type} {a.text}, {b.text}"))

    def _mod(self, node: Any) -> Value:
        a, b = self.value(node.a), self.value(node.b)
        return self._same(a, f"{'s' if is_signed(a.dtype) else 'u'}rem {a.type} {a.text}, {b.text}")

    def _floor(self, node: Any) -> Value:
        """Division rounded down, or its remainder: shifts for powers of two, else C's division put right."""
        is_div = type(node).__name__ == "FloorDiv"
        a, b = self.value(node.a), self.value(node.b)
        if is_float(a.dtype):
            quotient = self._same(a, f"fdiv {a.type} {a.text}, {b.text}")
            whole = mathematics.call(self.fn, "floor", [quotient])
            if is_div:
                return whole
            return self._same(a, f"fsub {a.type} {a.text}, {self.fn.op(f'fmul {a.type} {whole.text}, {b.text}')}")
        divisor = constant(node.b.value) if type(node.b).__name__ == "Broadcast" else constant(node.b)
        if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
            number = divisor.bit_length() - 1 if is_div else divisor - 1
            shift = "ashr" if is_signed(a.dtype) else "lshr"
            word = shift if is_div else "and"
            return self._same(a, f"{word} {a.type} {a.text}, {literal(number, a.dtype, a.lanes).text}")
        if not is_signed(a.dtype):
            return self._same(a, f"u{'div' if is_div else 'rem'} {a.type} {a.text}, {b.text}")
        rest = self.fn.op(f"srem {a.type} {a.text}, {b.text}")
        zero = literal(0, a.dtype, a.lanes).text
        test = vector("i1", a.lanes)
        inexact = self.fn.op(f"icmp ne {a.type} {rest}, {zero}")
        opposite = self.fn.op(f"icmp slt {a.type} {self.fn.op(f'xor {a.type} {rest}, {b.text}')}, {zero}")
        wrong = self.fn.op(f"and {test} {inexact}, {opposite}")
        if is_div:
            quotient_text = self.fn.op(f"sdiv {a.type} {a.text}, {b.text}")
            less = self.fn.op(f"sext {test} {wrong} to {a.type}")
            return self._wrapped(self._same(a, f"add {a.type} {quotient_text}, {less}"))
        fix = self.fn.op(f"select {test} {wrong}, {a.type} {b.text}, {a.type} {zero}")
        return self._same(a, f"add {a.type} {rest}, {fix}")

    def _extreme(self, node: Any) -> Value:
        name = "max" if type(node).__name__ == "Max" else "min"
        a, b = self.value(node.a), self.value(node.b)
        if is_float(a.dtype):
            return mathematics.call(self.fn, f"{name}num", [a, b])
        word = ("s" if is_signed(a.dtype) else "u") + name
        return mathematics.intrinsic(self.fn, word, [a, b])

    def _compare(self, node: Any) -> Value:
        word = _COMPARE[type(node).__name__]
        a, b = self.value(node.a), self.value(node.b)
        if is_float(a.dtype):
            text = f"fcmp {'une' if word == 'ne' else 'o' + word} {a.type} {a.text}, {b.text}"
        else:
            sign = "" if word in ("eq", "ne") else ("s" if is_signed(a.dtype) else "u")
            text = f"icmp {sign}{word} {a.type} {a.text}, {b.text}"
        return Value(self.fn.op(text), "bool", a.lanes)

    def _logic(self, node: Any) -> Value:
        word = "and" if type(node).__name__ == "And" else "or"
        a = self.value(node.a)
        if a.lanes > 1 or not collect(node.b, TensorLoad):
            b = self.value(node.b)
            return self._same(a, f"{word} {a.type} {a.text}, {b.text}")
        stop = literal(word == "or", "bool")
        return self._branch(a, *((node.b, stop) if word == "and" else (stop, node.b)))

    def _bits(self, node: Any) -> Value:
        a, b = self.value(node.a), self.value(node.b)
        word = _BITS[type(node).__name__]
        if word == "shr":
            word = "ashr" if is_signed(a.dtype) else "lshr"
        return self._wrapped(self._same(a, f"{word} {a.type} {a.text}, {b.text}"))

    def _bitwise_not(self, node: Any) -> Value:
        a = self.value(node.a)
        ones = literal(True if a.dtype == "bool" else -1, a.dtype, a.lanes)
        return self._wrapped(self._same(a, f"xor {a.type} {a.text}, {ones.text}"))

    def _not(self, node: Any) -> Value:
        a = self.value(node.a)
        return self._same(a, f"xor {a.type} {a.text}, {literal(True, 'bool', a.lanes).text}")

    # -- choices ----------------------------------------------------------------------------------------------

    def _select(self, node: Any) -> Value:
        condition = self.value(node.condition)
        return self._chosen(condition, self.lazy(node.true_value), self.lazy(node.false_value))

    def _chosen(self, condition: Value, a: Value, b: Value) -> Value:
        """Narrow floats that are only chosen between stay in their stored form, bit for bit."""
        test = f"select {condition.type} {condition.text}"
        if a.raw and b.raw:
            text = f"{test}, {a.stored_type} {a.raw}, {b.stored_type} {b.raw}"
            return Value("", a.dtype, a.lanes, self.fn.op(text))
        a, b = widen(self.fn, a), widen(self.fn, b)
        return self._same(a, f"{test}, {a.type} {a.text}, {b.type} {b.text}")

    def _if_then_else(self, node: Call) -> Value:
        condition = self.value(node.args[0])
        if condition.lanes > 1 or not any(collect(side, TensorLoad, Call) for side in node.args[1:]):
            return self._chosen(condition, self.lazy(node.args[1]), self.lazy(node.args[2]))
        return self._branch(condition, node.args[1], node.args[2])

    def _branch(self, condition: Value, then: Any, orelse: Any) -> Value:
        """Evaluates only the chosen side. A narrow float leaves it in its stored form."""
        fn = self.fn
        yes, no, end = (fn.new_label(s) for s in ("then", "else", "join"))
        fn.branch(condition.text, yes, no)
        sides = []
        for label, side in ((yes, then), (no, orelse)):
            fn.label(label)
            made = side if isinstance(side, Value) else self.lazy(side)
            text = narrow(fn, made) if is_narrow(made.dtype) else made.text
            sides.append((made, text, fn.block))
            fn.jump(end)
        fn.label(end)
        (a, first, from_yes), (_, second, from_no) = sides
        kind = a.stored_type if is_narrow(a.dtype) else a.type
        text = fn.op(f"phi {kind} [ {first}, %{from_yes} ], [ {second}, %{from_no} ]")
        return Value("", a.dtype, a.lanes, text) if is_narrow(a.dtype) else Value(text, a.dtype, a.lanes)

    # -- conversions ------------------------------------------------------------------------------------------

    def _cast(self, node: Any) -> Value:
        return self.convert(self.value(node.value), split(dtype_of(node))[0])

    def convert(self, value: Value, target: str) -> Value:
        """A value in another element type; floats to integers truncate and saturate, NaN becomes 0."""
        source = value.dtype
        if source == target:
            return value
        fn, lanes = self.fn, value.lanes
        if is_float(source) and is_float(target):
            text = self._resize_float(value, target)
            if not is_narrow(target):
                return Value(text, target, lanes)
            made = Value(text, target, lanes)
            raw = narrow(fn, made)
            return Value("", target, lanes, raw)
        if target == "bool":
            word = "fcmp une" if is_float(source) else "icmp ne"
            return Value(fn.op(f"{word} {value.type} {value.text}, {literal(0, source, lanes).text}"), "bool", lanes)
        to = vector(computed(target), lanes)
        if is_float(target):
            word = "sitofp" if is_signed(source) else "uitofp"
            made = Value(fn.op(f"{word} {value.type} {value.text} to {to}"), target, lanes)
            return made if not is_narrow(target) else Value("", target, lanes, narrow(fn, made))
        if is_float(source):
            word = "fptosi" if is_signed(target) else "fptoui"
            return self._limited(mathematics.saturating(fn, word, value, target))
        return self._wrapped(Value(self._resize_int(value, target), target, lanes))

    def _limited(self, value: Value) -> Value:
        """A 4-bit integer in a byte, out of its range set to the nearest limit."""
        if FACTS[value.dtype].bits >= 8:
            return value
        low, high, sign = (-8, 7, "s") if is_signed(value.dtype) else (0, 15, "u")
        above = mathematics.intrinsic(self.fn, f"{sign}max", [value, literal(low, value.dtype, value.lanes)])
        return mathematics.intrinsic(self.fn, f"{sign}min", [above, literal(high, value.dtype, value.lanes)])

    def _resize_float(self, value: Value, target: str) -> str:
        have, want = computed(value.dtype), computed(target)
        if have == want:
            return value.text
        word = "fpext" if want == "double" else "fptrunc"
        return self.fn.op(f"{word} {value.type} {value.text} to {vector(want, value.lanes)}")

    def _resize_int(self, value: Value, target: str) -> str:
        have, want = computed(value.dtype), computed(target)
        if have == want:
            return value.text
        wider = "sext" if is_signed(value.dtype) else "zext"
        word = "trunc" if int(want[1:]) < int(have[1:]) else wider
        if not value.text.startswith(("%", "<", "splat")):
            return literal(
                int(value.text) if value.text not in ("true", "false") else value.text == "true", target
            ).text
        return self.fn.op(f"{word} {value.type} {value.text} to {vector(want, value.lanes)}")

    def _reinterpret(self, node: Call) -> Value:
        target, lanes = split(dtype_of(node))
        value = self.lazy(node.args[0])
        raw = narrow(self.fn, value) if is_narrow(value.dtype) else self._as_stored(value)
        text = raw
        if value.stored_type != vector(stored(target), lanes):
            text = self.fn.op(f"bitcast {value.stored_type} {raw} to {vector(stored(target), lanes)}")
        return Value("", target, lanes, text) if is_narrow(target) else Value(text, target, lanes)

    def _as_stored(self, value: Value) -> str:
        """The stored form of a value that is not a narrow float: only bool differs."""
        if value.dtype != "bool":
            return value.text
        return self.fn.op(f"zext {value.type} {value.text} to {vector('i8', value.lanes)}")

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
        return narrow(self.fn, value) if is_narrow(value.dtype) else self._as_stored(value)

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
        name = f"llvm.masked.load.{_suffix(kind)}.p0"
        self.fn.module.declare(name, f"{kind} {{}}(ptr, i32, <{lanes} x i1>, {kind})")
        arguments = f"ptr {pointer}, i32 {self.fn.align(memory)}, {active.type} {active.text}, {kind} {rest}"
        return self.loaded(self.fn.op(f"call {kind} @{name}({arguments}){self.fn.tag(memory)}"), memory.dtype, lanes)

    def pointers(self, memory: Memory, index: Value) -> str:
        kind = stored(memory.dtype)
        return self.fn.op(f"getelementptr {kind}, ptr {memory.pointer}, {index.type} {index.text}", "p")

    def _gather(self, memory: Memory, index: Value, lanes: int, mask: Value | None, other: str | None) -> Value:
        kind = vector(stored(memory.dtype), lanes)
        places = self.pointers(memory, index)
        name = f"llvm.masked.gather.{_suffix(kind)}.v{lanes}p0"
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
        made = mathematics.function(self, name, node)
        return made if made is not None else self._unknown(node)

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
        return self._same(total, f"call {total.type} @{name}({total.type} {total.text}, {kind} {x}, {kind} {y})")

    def _across(self, node: Call) -> Value:
        return mathematics.across(self.fn, self.value(node.args[0]), str(node.args[1].value))

    def _atomic(self, node: Call) -> Value:
        from tilecore.backends.cpu.llvm.effects import atomic_element

        return atomic_element(self, node)

    def _let(self, node: Any) -> Value:
        self.env[node.var] = self.value(node.value)
        return self.value(node.body)


def _suffix(kind: str) -> str:
    """An LLVM type as it stands in the name of an intrinsic."""
    if not kind.startswith("<"):
        return {"float": "f32", "double": "f64", "half": "f16"}.get(kind, kind)
    lanes, _, element = kind[1:-1].partition(" x ")
    return f"v{lanes}{_suffix(element)}"


suffix = _suffix

_CALLS: dict[str, Callable[[Expressions, Any], Value]] = {
    "if_then_else": Expressions._if_then_else,
    "reinterpret": Expressions._reinterpret,
    "likely": lambda self, node: self.value(node.args[0]),
    MASKED_LOAD: Expressions._masked_load,
    ACROSS: Expressions._across,
    RAW_LOAD: Expressions._raw_load,
    "cpu.dot_bfloat16": Expressions._dot_product,
    "cpu.dot_uint8_int8": Expressions._dot_product,
    "tile.atomic_element": Expressions._atomic,
}
_HANDLERS: dict[str, Callable[[Expressions, Any], Value]] = {
    "IntImm": Expressions._int,
    "FloatImm": Expressions._float,
    "Var": Expressions._var,
    "Ramp": Expressions._ramp,
    "Broadcast": Expressions._broadcast,
    "Shuffle": Expressions._shuffle,
    **dict.fromkeys(_ARITHMETIC, Expressions._binary),
    "Div": Expressions._div,
    "Mod": Expressions._mod,
    **dict.fromkeys(("FloorDiv", "FloorMod"), Expressions._floor),
    **dict.fromkeys(("Min", "Max"), Expressions._extreme),
    **dict.fromkeys(_COMPARE, Expressions._compare),
    **dict.fromkeys(("And", "Or"), Expressions._logic),
    "Not": Expressions._not,
    **dict.fromkeys(_BITS, Expressions._bits),
    "BitwiseNot": Expressions._bitwise_not,
    "Select": Expressions._select,
    "Cast": Expressions._cast,
    "Let": Expressions._let,
    "TensorLoad": Expressions._load,
    "Call": Expressions._call,
}
