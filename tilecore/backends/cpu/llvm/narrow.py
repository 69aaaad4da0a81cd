"""Conversions between narrow floats as they are stored and float32 as they are computed.

float16 has an LLVM type; the others are made from integer arithmetic on the bits, rounding to nearest even.
float8 layouts: OCP 8-bit floating point specification 1.0, section 5; those with an unsigned zero: tilecore/dtypes.py;
float4: OCP microscaling formats 1.0, 5.3.3.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tilecore.backends.cpu.llvm.function import Function
from tilecore.backends.cpu.llvm.intrinsics import call
from tilecore.backends.cpu.llvm.types import Value, bytes_of, is_narrow, vector
from tilecore.dtypes import FACTS, Facts


def widen(fn: Function, value: Value) -> Value:
    """The computed form of a narrow float; a value that has it is returned as it is."""
    if value.text:
        return value
    text = _WIDEN[value.dtype](fn, value.raw, value.lanes)
    value.text = text
    return value


def narrow(fn: Function, value: Value) -> str:
    """The stored form of a narrow float."""
    return value.raw or _NARROW[value.dtype](fn, value.text, value.lanes)


def settled(fn: Function, value: Value) -> Value:
    """The value as it would be read back from memory: a narrow float that was computed is rounded."""
    if not is_narrow(value.dtype) or value.raw or not value.text.startswith("%"):
        return value
    raw = narrow(fn, value)
    return Value(_WIDEN[value.dtype](fn, raw, value.lanes), value.dtype, value.lanes, raw)


def single_to_odd(fn: Function, value: Value) -> str:
    """A float64 as float32, whose last bit is set where it is not exact: rounded once more, to a narrower type, that is
    as if it had been done at once."""
    b, tests, double = _Bits(fn, value.lanes), vector("i1", value.lanes), value.type
    near = fn.op(f"fptrunc {double} {value.text} to {b.float}")
    again = fn.op(f"fpext {b.float} {near} to {double}")
    bits = b.cast("bitcast", near, "float", "i32")
    even = b.compare("eq", b.op("and", bits, 1), 0)
    inexact = fn.op(f"fcmp one {double} {again}, {value.text}")
    size, whole = (call(fn, "fabs", [Value(text, "float64", value.lanes)]).text for text in (again, value.text))
    beyond = fn.op(f"fcmp ogt {double} {size}, {whole}")
    odd = b.select(beyond, b.op("add", bits, -1), b.op("add", bits, 1))
    wrong = fn.op(f"and {tests} {inexact}, {even}")
    return b.cast("bitcast", b.select(wrong, odd, bits), "i32", "float")


class _Bits:
    """Short names for integer arithmetic on vectors of 32 bits."""

    def __init__(self, fn: Function, lanes: int) -> None:
        self.fn = fn
        self.lanes = lanes
        self.int = vector("i32", lanes)
        self.float = vector("float", lanes)

    def const(self, number: int) -> str:
        number = number - 2**32 if number >= 2**31 else number
        return str(number) if self.lanes == 1 else f"splat (i32 {number})"

    def op(self, name: str, a: str, b: str | int) -> str:
        other = self.const(b) if isinstance(b, int) else b
        return self.fn.op(f"{name} {self.int} {a}, {other}")

    def cast(self, name: str, value: str, frm: str, to: str) -> str:
        return self.fn.op(f"{name} {vector(frm, self.lanes)} {value} to {vector(to, self.lanes)}")

    def select(self, test: str, a: str, b: str | int) -> str:
        other = self.const(b) if isinstance(b, int) else b
        return self.fn.op(f"select {vector('i1', self.lanes)} {test}, {self.int} {a}, {self.int} {other}")

    def compare(self, name: str, a: str, b: int) -> str:
        return self.fn.op(f"icmp {name} {self.int} {a}, {self.const(b)}")

    def add_float(self, bits: str, number: int) -> str:
        """The float of ``bits`` plus the float whose bits are ``number``, as bits."""
        a = self.cast("bitcast", bits, "i32", "float")
        b = self.cast("bitcast", self.const(number), "i32", "float")
        return self.cast("bitcast", self.fn.op(f"fadd {self.float} {a}, {b}"), "float", "i32")


def _widen_half(fn: Function, raw: str, lanes: int) -> str:
    return fn.op(f"fpext {vector('half', lanes)} {raw} to {vector('float', lanes)}")


def _narrow_half(fn: Function, text: str, lanes: int) -> str:
    return fn.op(f"fptrunc {vector('float', lanes)} {text} to {vector('half', lanes)}")


def _widen_bfloat(fn: Function, raw: str, lanes: int) -> str:
    b = _Bits(fn, lanes)
    return b.cast("bitcast", b.op("shl", b.cast("zext", raw, "i16", "i32"), 16), "i32", "float")


def _narrow_bfloat(fn: Function, text: str, lanes: int) -> str:
    b = _Bits(fn, lanes)
    bits = b.cast("bitcast", text, "float", "i32")
    odd = b.op("and", b.op("lshr", bits, 16), 1)
    rounded = b.op("lshr", b.op("add", b.op("add", bits, 0x7FFF), odd), 16)
    quiet = b.op("or", b.op("lshr", bits, 16), 0x40)
    unordered = fn.op(f"fcmp uno {b.float} {text}, {text}")
    return b.cast("trunc", b.select(unordered, quiet, rounded), "i32", "i16")


def _widen_small(fn: Function, raw: str, lanes: int, facts: Facts) -> str:
    """Of a type of at most 8 bits: exponent and fraction are moved into place, then scaled by the difference of the
    exponents' biases, which also makes denormals right."""
    if facts.exponent == 5 and facts.has_infinity:
        return _widen_high_byte(fn, raw, lanes)
    b = _Bits(fn, lanes)
    sign_bit, fraction = 1 << (facts.bits - 1), facts.significand
    bits = b.cast("zext", raw, "i8", "i32")
    size = b.op("shl", b.op("and", bits, sign_bit - 1), 23 - fraction)
    scale = b.cast("bitcast", b.const((127 + 127 - facts.bias) << 23), "i32", "float")
    value = fn.op(f"fmul {b.float} {b.cast('bitcast', size, 'i32', 'float')}, {scale}")
    text = b.cast("bitcast", value, "float", "i32")
    if facts.has_infinity:
        is_special = b.compare("ugt", b.op("and", bits, sign_bit - 1), facts.largest_pattern)
        text = b.select(is_special, b.op("or", text, 0x7F800000), text)
    elif facts.unsigned_zero:
        text = b.select(b.compare("eq", bits, sign_bit), b.const(0x7FC00000), text)
    elif facts.has_nan:
        is_nan = b.compare("eq", b.op("and", bits, sign_bit - 1), sign_bit - 1)
        text = b.select(is_nan, b.const(0x7FC00000), text)
    sign = b.op("shl", b.op("and", bits, sign_bit), 32 - facts.bits)
    return b.cast("bitcast", b.op("or", text, sign), "i32", "float")


def _widen_high_byte(fn: Function, raw: str, lanes: int) -> str:
    """float8_e5m2 is the upper half of a float16."""
    b = _Bits(fn, lanes)
    wide = fn.op(f"zext {vector('i8', lanes)} {raw} to {vector('i16', lanes)}")
    eight = "8" if lanes == 1 else "splat (i16 8)"
    shifted = fn.op(f"shl {vector('i16', lanes)} {wide}, {eight}")
    return b.cast("fpext", b.cast("bitcast", shifted, "i16", "half"), "half", "float")


def _narrow_small(fn: Function, text: str, lanes: int, facts: Facts) -> str:
    """Saturating conversion to a type of at most 8 bits. Without a NaN of its own, NaN becomes the largest value."""
    fraction, bias, width = facts.significand, facts.bias, facts.bits
    largest = (facts.largest_pattern << (23 - fraction)) + ((127 - bias) << 23)  # as a float32
    b = _Bits(fn, lanes)
    bits = b.cast("bitcast", text, "float", "i32")
    if not facts.has_nan:
        bits = b.select(b.compare("ugt", b.op("and", bits, 0x7FFFFFFF), 0x7F800000), b.const(largest), bits)
    size = b.op("and", bits, 0x7FFFFFFF)
    size = b.select(b.compare("ugt", size, largest), b.const(largest), size)
    drop = 23 - fraction
    odd = b.op("and", b.op("lshr", size, drop), 1)
    rounded = b.op("lshr", b.op("add", b.op("add", size, (1 << (drop - 1)) - 1), odd), drop)
    normal = b.op("sub", rounded, (127 - bias) << fraction)
    # adding 2^k aligns the last kept bit of a denormal with the last bit of the float
    aligner = (127 + (1 - bias - fraction) + 23) << 23
    denormal = b.op("sub", b.add_float(size, aligner), aligner)
    is_normal = b.compare("uge", size, (127 + 1 - bias) << 23)
    converted = b.select(is_normal, normal, denormal)
    sign_bit = 1 << (width - 1)
    sign = b.op("and", b.op("lshr", bits, 32 - width), sign_bit)
    if facts.unsigned_zero:
        sign = b.select(b.compare("eq", converted, 0), b.const(0), sign)
        sign = b.select(b.compare("ugt", b.op("and", bits, 0x7FFFFFFF), 0x7F800000), b.const(sign_bit), sign)
        converted = b.select(b.compare("ugt", b.op("and", bits, 0x7FFFFFFF), 0x7F800000), b.const(0), converted)
    elif facts.has_nan:
        nan = sign_bit - 1
        converted = b.select(b.compare("ugt", b.op("and", bits, 0x7FFFFFFF), 0x7F800000), b.const(nan), converted)
    return b.cast("trunc", b.op("or", converted, sign), "i32", "i8")


def neighbour(fn: Function, x: Value, y: Value) -> Value:
    """The narrow float after ``x`` in the direction of ``y`` (both in their computed form)."""
    lanes, floats, tests = x.lanes, vector("float", x.lanes), vector("i1", x.lanes)
    width = 8 * bytes_of(x.dtype)
    kind = vector(f"i{width}", lanes)

    def number(value: int) -> str:
        return str(value) if lanes == 1 else f"splat (i{width} {value})"

    def bits(value: Value) -> str:
        raw = narrow(fn, value)
        return raw if value.stored_type == kind else fn.op(f"bitcast {value.stored_type} {raw} to {kind}")

    def choose(test: str, a: str, b: str) -> str:
        return fn.op(f"select {tests} {test}, {kind} {a}, {kind} {b}")

    old, sign = bits(x), -(1 << (width - 1))
    up = fn.op(f"fcmp olt {floats} {x.text}, {y.text}")
    away = fn.op(f"xor {tests} {up}, {fn.op(f'icmp slt {kind} {old}, {number(0)}')}")
    moved = fn.op(f"add {kind} {old}, {choose(away, number(1), number(-1))}")
    size = fn.op(f"and {kind} {old}, {number(~sign)}")
    from_zero = choose(up, number(1), number(sign + 1))
    moved = choose(fn.op(f"icmp eq {kind} {size}, {number(0)}"), from_zero, moved)
    if FACTS[x.dtype].unsigned_zero:
        moved = choose(fn.op(f"icmp eq {kind} {moved}, {number(sign)}"), number(0), moved)
    moved = choose(fn.op(f"fcmp oeq {floats} {x.text}, {y.text}"), bits(y), moved)
    nan = bits(Value(fn.op(f"fadd {floats} {x.text}, {y.text}"), x.dtype, lanes))
    moved = choose(fn.op(f"fcmp uno {floats} {x.text}, {y.text}"), nan, moved)
    if x.stored_type != kind:
        moved = fn.op(f"bitcast {kind} {moved} to {x.stored_type}")
    return Value("", x.dtype, lanes, moved)


_SMALL = {name: facts for name, facts in FACTS.items() if facts.is_narrow and facts.bits <= 8}
_WIDEN: dict[str, Callable[[Function, str, int], str]] = {
    "float16": _widen_half,
    "bfloat16": _widen_bfloat,
    **{name: partial(_widen_small, facts=facts) for name, facts in _SMALL.items()},
}
_NARROW: dict[str, Callable[[Function, str, int], str]] = {
    "float16": _narrow_half,
    "bfloat16": _narrow_bfloat,
    **{name: partial(_narrow_small, facts=facts) for name, facts in _SMALL.items()},
}
