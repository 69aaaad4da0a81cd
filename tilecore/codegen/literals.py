"""Emits constants as C literals that are exact to the bit."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from tilecore.codegen.text import PRIMARY, UNARY, Text
from tilecore.dtypes import FACTS

if TYPE_CHECKING:
    from tilecore.codegen.dialect import Dialect


def integer(value: int, dtype: str, dialect: Dialect) -> Text:
    """An integer constant of ``dtype``, wrapped into its range."""
    facts = FACTS[dtype]
    value = facts.wrapped(value)
    suffix = dialect.forms.suffixes.get(dtype)
    if suffix is not None:
        if dtype == "int64" and value == -(2**63):
            return Text(f"(-9223372036854775807{suffix} - 1)")
        return Text(f"{value}{suffix}", PRIMARY if value >= 0 else UNARY)
    if value == -(2**31):
        return Text("(-2147483647 - 1)")
    return Text(str(value), PRIMARY if value >= 0 else UNARY)


def floating(value: float, dtype: str, dialect: Dialect) -> Text:
    """A float constant. Those of narrow types are given by their bits, with the value in words."""
    if dtype == "float64":
        return _plain(value, "")
    if dtype in ("float32", "tfloat32"):
        return _plain(as_single(value), "f")
    return from_bits(narrow_bits(value, dtype), dtype, dialect)


def from_bits(bits: int, dtype: str, dialect: Dialect) -> Text:
    """The value of a narrow float type with these bits, and in a comment the number."""
    number = narrow_number(bits, dtype)
    return dialect.forms.from_bits(dialect.types[dtype], f"0x{bits:0{FACTS[dtype].bits // 4}x} /* {number:g} */")


def narrow_number(bits: int, dtype: str) -> float:
    """The number that these bits are in a narrow float type."""
    import numpy as np

    from tilecore.element_values import value_type

    kind = value_type(dtype)
    return float(kind.decode(np.asarray(bits, f"uint{8 * kind.storage.itemsize}").view(kind.storage)))


def quoted(message: str) -> str:
    """``message`` as a C string."""
    simple = {"\n": "\\n", '"': '\\"', "\\": "\\\\", "?": "\\?"}
    parts = []
    for char in message:
        if char in simple:
            parts.append(simple[char])
        elif 32 <= ord(char) < 127:
            parts.append(char)
        else:
            parts.extend(f"\\{byte:03o}" for byte in char.encode())
    return '"' + "".join(parts) + '"'


def as_single(value: float) -> float:
    """The float32 nearest to ``value``."""
    import numpy as np

    with np.errstate(over="ignore"):
        return float(np.float32(value))


def narrow_bits(value: float, dtype: str) -> int:
    """The bits of ``value`` in a narrow float type, rounded once; of an infinity those of the type's, if it has one."""
    import numpy as np

    from tilecore.element_values import value_type

    kind = value_type(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        stored = np.asarray(kind.encode(kind.constant(value)))
    return int(stored.view(f"uint{8 * stored.itemsize}"))


def _plain(value: float, suffix: str) -> Text:
    if math.isnan(value):
        return Text("TC_NAN" if suffix else "(double)TC_NAN", PRIMARY if suffix else UNARY)
    if math.isinf(value):
        text = "TC_INFINITY" if suffix else "(double)TC_INFINITY"
        return Text(f"-{text}" if value < 0 else text, PRIMARY if suffix and value > 0 else UNARY)
    short = f"{value:.6g}"
    if "." not in short and "e" not in short:
        short += ".0"
    packing = "<f" if suffix else "<d"
    same = struct.pack(packing, _parsed(short, suffix)) == struct.pack(packing, value)
    text = (short if same else _hex(value)) + suffix
    return Text(text, UNARY if text.startswith("-") else PRIMARY)


def _parsed(text: str, suffix: str) -> float:
    return as_single(float(text)) if suffix else float(text)


def _hex(value: float) -> str:
    """``value`` as C's hexadecimal float, without needless zeros."""
    mantissa, _, exponent = value.hex().partition("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}p{exponent}"
