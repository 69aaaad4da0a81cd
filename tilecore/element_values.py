"""Element types as the interpreter carries them: how a value is held, rounded, converted, stored and loaded.

A value is *carried* in a numpy array (or scalar) of the type's carrier: integers and bool in themselves (int4 and
uint4 in int8 and uint8), float64 and float32 in themselves, every narrower float in float32 that holds a value which
the narrow type represents exactly. It is *stored* in an array of its own size: bfloat16 and the 8-bit floats as their
bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from tilecore.dtypes import FACTS, Facts
from tilecore.errors import UnsupportedError

Value = Any  # a numpy scalar (the same in all lanes) or an array that broadcasts to the lanes


@dataclass(frozen=True)
class ValueType:
    """One element type.

    carrier: numpy dtype of values. storage: numpy dtype of memory. element: the numpy dtype that callers pass.
    low, high: range of an integer; of a float, its lowest and largest finite value.
    """

    name: str
    kind: str  # "int" | "uint" | "float" | "bool"
    bits: int
    carrier: np.dtype
    storage: np.dtype
    element: np.dtype
    low: Any
    high: Any
    saturates: bool = False
    decode: Callable[[Value], Value] = field(default=lambda raw: raw, compare=False, repr=False)
    encode: Callable[[Value], Value] = field(default=lambda value: value, compare=False, repr=False)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def packed(self) -> bool:
        """Whether two elements share one byte of a caller's array."""
        return self.bits < 8

    def const(self, value: Any) -> Value:
        """A Python number as a value of this type: integers wrap, floats round."""
        if self.kind == "bool":
            return np.bool_(bool(value))
        if self.is_float:
            return round_to(self, np.float64(value))
        span = 1 << self.bits
        value = int(value) % span
        if self.kind == "int" and value >= span // 2:
            value -= span
        return self.carrier.type(value)

    def constant(self, value: Any) -> Value:
        """The value of a constant of the IR: as :meth:`const`, but an infinity stays one in a type that has it."""
        if self.saturates and FACTS[self.name].has_infinity and np.isinf(value):
            return self.carrier.type(value)
        return self.const(value)


@cache
def value_type(name: str) -> ValueType:
    """The element type of this name; raises UnsupportedError for handles, vectors and types that are not in the
    language."""
    facts = FACTS.get(name)
    if facts is None:
        raise UnsupportedError(
            f"the interpreter has no values of type {name!r}", expected="a scalar of " + ", ".join(FACTS)
        )
    if facts.kind == "bool":
        plain = np.dtype(bool)
        return ValueType(name, "bool", 8, plain, plain, plain, False, True)
    if facts.kind in ("int", "uint"):
        return _integer(name, facts)
    return _float(name, facts)


def _integer(name: str, facts: Facts) -> ValueType:
    kind, bits = facts.kind, facts.bits
    carrier = np.dtype(f"{kind}{max(bits, 8)}")
    low, high = facts.integer_range
    element = np.dtype(getattr(ml_dtypes, name)) if facts.in_ml_dtypes else carrier
    return ValueType(name, kind, bits, carrier, carrier, element, low, high)


def _float(name: str, facts: Facts) -> ValueType:
    bits, largest = facts.bits, float(facts.max or 0.0)
    if name == "float64":
        plain = np.dtype(np.float64)
        return ValueType(name, "float", bits, plain, plain, plain, -largest, largest)
    single = np.dtype(np.float32)
    if name in ("float32", "tfloat32"):
        return ValueType(name, "float", bits, single, single, single, -largest, largest)
    if name == "float16":
        half = np.dtype(np.float16)
        return ValueType(
            name, "float", bits, single, half, half, -largest, largest, False, _from_half, lambda x: x.astype(half)
        )
    element = np.dtype(getattr(ml_dtypes, name))
    if facts.is_scale:
        raw = np.dtype(np.uint8)
        return ValueType(
            name, "float", bits, single, raw, element, facts.min_normal, largest, True, _from_scale, _to_scale
        )
    storage = np.dtype(f"uint{max(bits, 8)}")

    def encode(value: Value) -> Value:
        raw = value.astype(element).view(storage)
        return _with_bits_of_nan(raw, value, facts) if facts.has_infinity else raw

    def encode_without_nan(value: Value) -> Value:
        return encode(np.where(np.isnan(value), value.dtype.type(largest), value))

    decode = _from_bfloat16 if bits == 16 else _table_decoder(element, facts)
    return ValueType(
        name, "float", bits, single, storage, element, -largest, largest, bits <= 8, decode,
        encode if facts.has_nan else encode_without_nan,
    )  # fmt: skip


def _from_half(raw: Value) -> Value:
    return raw.astype(np.float32)


def _from_bfloat16(raw: Value) -> Value:
    return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _from_scale(raw: Value) -> Value:
    """The powers of two of float8_e8m0fnu, from 2**-127 to 2**127, and NaN for 255."""
    exponents = np.asarray(raw).astype(np.int32) - 127
    return np.where(exponents == 128, np.float32(np.nan), np.ldexp(np.float32(1), exponents)).astype(np.float32)[()]


def _to_scale(value: Value) -> Value:
    """The bits of the least power of two that is not below the magnitude; the least of all for 0, and the largest for
    what is beyond it."""
    fraction, exponents = np.frexp(np.abs(value))  # in [0.5, 1)
    exponents = np.where(fraction == 0.5, exponents - 1, exponents)
    exponents = np.where(fraction == 0, -127, np.where(np.isinf(value), 127, exponents))
    bits = np.clip(exponents, -127, 127) + 127
    return np.where(np.isnan(value), 255, bits).astype(np.uint8)[()]


def _scale_of_integer(value: Value) -> Value:
    """The least power of two that is not below the magnitude of an integer, which float64 may not hold."""
    wide = np.asarray(value)
    magnitude = np.where(wide < 0, -wide.astype(np.int64), wide).astype(np.uint64)
    less = magnitude - (magnitude > 0).astype(np.uint64)
    halves = [np.frexp((part).astype(np.float64))[1] for part in (less >> np.uint64(32), less & np.uint64(2**32 - 1))]
    length = np.where(halves[0] > 0, halves[0] + 32, halves[1])  # the bits of magnitude - 1
    return _from_scale(np.where(magnitude == 0, 0, 127 + length).astype(np.uint8))


def _table_decoder(element: np.dtype, facts: Facts) -> Callable[[Value], Value]:
    raw = np.arange(256, dtype=np.uint8)
    table = raw.view(element).astype(np.float32)
    if facts.has_infinity:
        # the exponent of a NaN is all ones in both types, the sign and the fraction lie at the top
        nan, high, fraction_bits = np.isnan(table), raw.astype(np.uint32), facts.significand
        fraction = (high & ((1 << fraction_bits) - 1)) << (23 - fraction_bits)
        exact = (high & 128) << 24 | np.uint32(0x7F800000) | fraction
        table[nan] = exact.view(np.float32)[nan]
    return lambda raw: table[raw]


def _with_bits_of_nan(raw: Value, value: Value, facts: Facts) -> Value:
    """``raw``, which encodes ``value`` in a type of 8 or 16 bits, with the sign and the first bits of the fraction of
    each NaN, so that a NaN that is only moved keeps its bits. Which NaN arithmetic gives is not defined."""
    nan = np.isnan(value)
    if value.dtype != np.float32 or not np.any(nan):
        return raw
    bits, fraction_bits = facts.bits, facts.significand
    single = np.asarray(value).view(np.uint32)
    fraction = (single & np.uint32(0x7FFFFF)) >> np.uint32(23 - fraction_bits)
    fraction = np.where(fraction == 0, np.uint32(1 << (fraction_bits - 1)), fraction)  # 0 would be an infinity
    exponent = np.uint32((1 << (bits - 1)) - (1 << fraction_bits))
    sign = (single >> np.uint32(31)) << np.uint32(bits - 1)
    return np.where(nan, sign | exponent | fraction, raw).astype(raw.dtype)[()]


def wrap(kind: ValueType, value: Value) -> Value:
    """``value``, an integer in the carrier of ``kind``, brought into its range modulo 2**bits."""
    if kind.bits >= 8:
        return value
    high = value & kind.carrier.type(15)
    return (high ^ kind.carrier.type(8)) - kind.carrier.type(8) if kind.kind == "int" else high


def quiet(value: Value) -> Value:
    """The floats with no signalling NaN among them: of one and a number numpy's fmin and fmax give either."""
    return value * value.dtype.type(1)


def round_to(kind: ValueType, value: Value) -> Value:
    """A float32 or float64 value rounded once, to nearest even, to the float type ``kind``.

    The magnitude of float8_e8m0fnu is rounded up, to a power of two. The other 8-bit and 4-bit floats saturate: what is
    beyond their largest finite value becomes that value, and NaN, which 4-bit floats have not, becomes their largest
    value. The others overflow to infinity.
    """
    if kind.storage == kind.carrier:
        return value.astype(kind.carrier)
    if FACTS[kind.name].is_scale:
        return kind.decode(kind.encode(value))
    if kind.saturates:
        value = np.clip(value, kind.low, kind.high)
    if value.dtype == np.float64 and kind.name != "float16":
        value = _to_single_odd(value)
    return kind.decode(kind.encode(value))


def _to_single_odd(value: Value) -> Value:
    """float64 to float32, rounded to odd when inexact, so that rounding once more to a narrower type is as if it had
    been done at once."""
    near = value.astype(np.float32)
    uneven = (near.astype(np.float64) != value) & ~np.isnan(value) & (near.view(np.uint32) & np.uint32(1) == 0)
    if not np.any(uneven):
        return near
    towards = np.where(near.astype(np.float64) > value, np.float32(-np.inf), np.float32(np.inf))
    return np.where(uneven, np.nextafter(near, towards, dtype=np.float32), near)


def cast(source: ValueType, target: ValueType, value: Value) -> Value:
    """``value`` of type ``source`` converted to ``target``.

    To a float: rounded once to nearest even, as :func:`round_to`. Float to integer: towards zero; out of range goes to
    the nearest end of the range and NaN to 0. Integer to integer: modulo 2**bits. To bool: whether it is not zero.
    """
    if source is target:
        return value
    if target.kind == "bool":
        return value != source.carrier.type(0)
    if target.is_float:
        if source.is_float or target.carrier == target.storage:
            return round_to(target, value)
        if FACTS[target.name].is_scale:
            return _scale_of_integer(value)
        return round_to(target, value.astype(np.float64))
    if source.is_float:
        return _truncate(target, value)
    return wrap(target, value.astype(target.carrier))


def _truncate(target: ValueType, value: Value) -> Value:
    whole = np.trunc(value.astype(np.float64))
    below, above = whole < float(target.low), whole >= float(target.high) + 1.0
    odd = below | above | np.isnan(whole)
    if not np.any(odd):
        return whole.astype(target.carrier)
    inside = np.where(odd, 0.0, whole).astype(target.carrier)
    low, high = target.carrier.type(target.low), target.carrier.type(target.high)
    return np.where(below, low, np.where(above, high, inside))


def zero(kind: ValueType) -> Value:
    return kind.carrier.type(0)
