"""Element types as LLVM knows them: in memory, and in registers.

Narrow floats (float16, bfloat16, float8) are stored as they are and computed as float32; 4-bit elements are held in a
byte.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

from tilecore.dtypes import FACTS

_STORED = {"float64": "double", "float32": "float", "float16": "half", "bfloat16": "i16", "bool": "i8"}
_COMPUTED = {"float64": "double", "bool": "i1"}


def stored(dtype: str) -> str:
    """LLVM type of one element in memory."""
    name = _STORED.get(dtype)
    if name:
        return name
    facts = FACTS[dtype]
    return "i8" if facts.bits < 8 or facts.kind == "float" else f"i{facts.bits}"


def computed(dtype: str) -> str:
    """LLVM type of one element in a register."""
    name = _COMPUTED.get(dtype)
    if name:
        return name
    facts = FACTS[dtype]
    if facts.kind == "float":
        return "float"
    return f"i{max(8, facts.bits)}"


def is_float(dtype: str) -> bool:
    return FACTS[dtype].kind == "float"


def is_signed(dtype: str) -> bool:
    return FACTS[dtype].kind == "int"


def is_narrow(dtype: str) -> bool:
    """A float that is computed wider than it is stored."""
    return is_float(dtype) and FACTS[dtype].bits < 32


def vector(element: str, lanes: int) -> str:
    return element if lanes == 1 else f"<{lanes} x {element}>"


def bytes_of(dtype: str) -> int:
    return max(1, FACTS[dtype].bits // 8)


def split(dtype: str) -> tuple[str, int]:
    """``"float32x16"`` as ``("float32", 16)``."""
    name, mark, lanes = dtype.rpartition("x")
    return (name, int(lanes)) if mark and lanes.isdigit() and name in FACTS else (dtype, 1)


@dataclass
class Value:
    """A value in a register. text: in its computed form ("" until needed); raw: in its stored form, if it came in that,
    and then text is exactly it: a narrow float without raw was computed, and is not rounded yet."""

    text: str
    dtype: str
    lanes: int = 1
    raw: str = field(default="")

    @property
    def type(self) -> str:
        return vector(computed(self.dtype), self.lanes)

    @property
    def stored_type(self) -> str:
        return vector(stored(self.dtype), self.lanes)


def literal(value: float | int | bool, dtype: str, lanes: int = 1) -> Value:
    """A constant, the same in all lanes."""
    element = computed(dtype)
    if is_float(dtype):
        number = rounded(float(value), dtype)
        if element == "float" and number == number and abs(number) != float("inf"):
            number = struct.unpack("f", struct.pack("f", number))[0]
        text = f"0x{struct.unpack('>Q', struct.pack('>d', number))[0]:016X}"
    elif dtype == "bool":
        text = "true" if value else "false"
    else:
        bits = int(element[1:])
        number = int(value) % (1 << bits)
        text = str(number - (1 << bits) if number >= 1 << (bits - 1) else number)
    return Value(text if lanes == 1 else f"splat ({element} {text})", dtype, lanes)


def rounded(number: float, dtype: str) -> float:
    """``number`` rounded to nearest even to a float type; out of range it is infinite, or the largest of a type of 8 or
    4 bits, and so is NaN in 4 bits."""
    facts = FACTS[dtype]
    if facts.bits < 8 and math.isnan(number):
        return float(facts.max or 0)
    if facts.bits >= 32 or math.isnan(number) or (math.isinf(number) and facts.bits > 8):
        return number
    largest = float(facts.max or 0)
    if abs(number) <= 2 * largest:
        exponent = max(math.frexp(number)[1], math.frexp(float(facts.min_normal or 0))[1])
        step = math.ldexp(1.0, exponent - 1 - facts.significand)
        size = round(abs(number) / step) * step
        number = math.copysign(size, number) if size or not facts.unsigned_zero else 0.0
    if abs(number) <= largest:
        return number
    return math.copysign(largest if facts.bits <= 8 else math.inf, number)
