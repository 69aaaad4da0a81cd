"""The element types of the language: names, sizes and their counterparts in numpy, torch and DLPack.

A :class:`dtype` is a string, so it compares equal to its name and works wherever a name does
(``getattr(torch, T.float16)``, ``T.float16 == "float16"``). Calling one casts a value.
Importing this module imports neither numpy, torch nor TVM.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

# DLPack type codes (dlpack.h, DLDataTypeCode).
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6


@dataclass(frozen=True)
class Facts:
    """What is known of one element type; the core derives all else from it.

    dlpack: type code and bits of a storage element. torch: the attribute of the torch module; of a type that torch
    lacks, the type whose tensors hold the bits. numpy: the attribute of numpy or ml_dtypes. c: the type's name in
    emitted C-family source.

    Of a float, which is laid out as IEEE 754 does it: exponent, significand: bits of the exponent and of the fraction.
    has_infinity: the greatest exponent stands for infinity and NaN alone. Without it that exponent has numbers, too,
    and only the greatest pattern is NaN, if has_nan. unsigned_zero: there is no -0; its pattern is the only NaN, and
    the exponent's bias is greater by 1. is_scale: it has neither sign nor 0: every pattern but the greatest, which is
    NaN, is the power of two with that exponent.
    """

    bits: int
    kind: str  # "int" | "uint" | "float" | "bool"
    dlpack: tuple[int, int]
    torch: str
    numpy: str
    c: str
    exponent: int = 0
    significand: int = 0
    has_infinity: bool = True
    has_nan: bool = True
    unsigned_zero: bool = False
    is_scale: bool = False

    @property
    def bias(self) -> int:
        """Of a float's exponent."""
        return (1 << (self.exponent - 1)) - 1 + self.unsigned_zero

    @property
    def max(self) -> float | None:
        """Largest finite value of a float."""
        return self._value(self.largest_pattern) if self.kind == "float" else None

    @property
    def min_normal(self) -> float | None:
        """Least positive value of a float that has all bits of its fraction."""
        return math.ldexp(1.0, 1 - self.bias - self.is_scale) if self.kind == "float" else None

    @property
    def largest_pattern(self) -> int:
        """The bits of the largest finite value of a float."""
        end = (1 << self.exponent) - self.has_infinity << self.significand
        return end - 1 - (self.has_nan and not self.has_infinity and not self.unsigned_zero)

    def _value(self, pattern: int) -> float:
        fraction = pattern & ((1 << self.significand) - 1) | 1 << self.significand
        return math.ldexp(fraction, (pattern >> self.significand) - self.bias - self.significand)

    @property
    def is_narrow(self) -> bool:
        """A float that is computed in float32, and rounded. Scales are not: passes make bytes of them
        (lowering/buffers/decode_scales.py)."""
        return self.kind == "float" and self.bits < 32 and not self.is_scale

    @property
    def in_ml_dtypes(self) -> bool:
        """A type that numpy has only through ml_dtypes."""
        return self.bits < 8 or self.is_scale or (self.is_narrow and self.numpy != "float16")

    @property
    def integer_range(self) -> tuple[int, int]:
        """Least and largest value of this integer type, or bool."""
        if self.kind == "bool":
            return 0, 1
        high = (1 << (self.bits - (self.kind == "int"))) - 1
        return (-high - 1 if self.kind == "int" else 0), high

    def wrapped(self, value: int) -> int:
        """An integer brought into the range of this integer type, modulo 2**bits."""
        value %= 1 << self.bits
        return value - (1 << self.bits) if self.kind == "int" and value >> (self.bits - 1) else value


_C_INTEGERS = {
    8: ("signed char", "unsigned char"),
    16: ("short", "unsigned short"),
    32: ("int", "unsigned"),
    64: ("long long", "unsigned long long"),
}


def _ints() -> dict[str, Facts]:
    table: dict[str, Facts] = {}
    for bits in (8, 16, 32, 64):
        signed, unsigned = _C_INTEGERS[bits]
        table[f"int{bits}"] = Facts(bits, "int", (_INT, bits), f"int{bits}", f"int{bits}", signed)
        table[f"uint{bits}"] = Facts(bits, "uint", (_UINT, bits), f"uint{bits}", f"uint{bits}", unsigned)
    table["int4"] = Facts(4, "int", (_INT, 8), "int8", "int4", "signed char")
    table["uint4"] = Facts(4, "uint", (_UINT, 8), "uint8", "uint4", "unsigned char")
    table["bool"] = Facts(8, "bool", (_BOOL, 8), "bool", "bool", "bool")
    return table


FACTS: dict[str, Facts] = {  # the facts of each element type, by its name
    "float64": Facts(64, "float", (_FLOAT, 64), "float64", "float64", "double", 11, 52),
    "float32": Facts(32, "float", (_FLOAT, 32), "float32", "float32", "float", 8, 23),
    "tfloat32": Facts(32, "float", (_FLOAT, 32), "float32", "float32", "float", 8, 10),
    "float16": Facts(16, "float", (_FLOAT, 16), "float16", "float16", "tc_half", 5, 10),
    "bfloat16": Facts(16, "float", (_BFLOAT, 16), "bfloat16", "bfloat16", "tc_bfloat16", 8, 7),
    # OCP 8-bit floating point specification 1.0, table 1; codes as in dlpack.h.
    "float8_e4m3fn": Facts(8, "float", (10, 8), "float8_e4m3fn", "float8_e4m3fn", "tc_fp8_e4m3", 4, 3, False),
    "float8_e5m2": Facts(8, "float", (12, 8), "float8_e5m2", "float8_e5m2", "tc_fp8_e5m2", 5, 2),
    # Finite, with an unsigned zero: Noune et al., 8-bit Numerical Formats for Deep Neural Networks, 2022, section 3.
    "float8_e4m3fnuz": Facts(
        8, "float", (11, 8), "float8_e4m3fnuz", "float8_e4m3fnuz", "tc_fp8_e4m3fnuz", 4, 3, False, unsigned_zero=True
    ),
    "float8_e5m2fnuz": Facts(
        8, "float", (13, 8), "float8_e5m2fnuz", "float8_e5m2fnuz", "tc_fp8_e5m2fnuz", 5, 2, False, unsigned_zero=True
    ),
    # OCP microscaling formats specification 1.0, section 5.4.1: the scale of a block of elements.
    "float8_e8m0fnu": Facts(
        8, "float", (14, 8), "float8_e8m0fnu", "float8_e8m0fnu", "unsigned char", 8, 0, False, is_scale=True
    ),
    **_ints(),
    # OCP microscaling formats specification 1.0, section 5.3.3: no infinity and no NaN; two share a byte, as int4.
    "float4_e2m1fn": Facts(4, "float", (_UINT, 8), "uint8", "float4_e2m1fn", "tc_fp4_e2m1", 2, 1, False, False),
}
NARROW_FLOATS = tuple(name for name, facts in FACTS.items() if facts.is_narrow)  # float types of at most 16 bits
# of tensors whose elements are pairs of 4 bits: dlpack.h's code, bits and lanes; torch's float4_e2m1fn_x2
DLPACK_PAIRS = {"float4_e2m1fn": (17, 4, 2)}
# of torch, which numpy lacks: the integers of the same size
TORCH_BITS = {name: f"uint{facts.bits}" for name, facts in FACTS.items() if facts.in_ml_dtypes and facts.torch == name}

ALIASES = {
    "float": "float32",
    "half": "float16",
    "double": "float64",
    "int": "int32",
    "uint": "uint32",
    "short": "int16",
    "long": "int64",
    "float8_e4m3": "float8_e4m3fn",
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
}

# element types that TileLang names and no target has: they are names, and an error where they are used
UNSUPPORTED = ("float4_e2m1_unpacked", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3b11fnuz")

LANES = (2, 4, 8, 16, 32, 64)  # of vector types: "float32x2" is a vector of two float32
_VECTOR = re.compile(rf"(\w+?)_?x({'|'.join(map(str, LANES))})")  # torch spells float4_e2m1fn_x2


class dtype(str):
    """An element type; behaves as its name. ``dtype("float16")``, ``dtype(torch.float16)``, ``dtype(numpy.int8)``.

    ``dtype("float16x4")`` is a vector of four float16: ``lanes`` is 4, ``element`` the type of one of them.
    """

    __slots__ = ()

    def __new__(cls, value: Any) -> dtype:
        return str.__new__(cls, canonical_name(value))

    @property
    def facts(self) -> Facts:
        if self.lanes > 1:
            raise _no_vector(self)
        return FACTS[str(self)]

    @property
    def lanes(self) -> int:
        """The number of elements of a vector type; 1 of an element type."""
        return 1 if str(self) in FACTS else split_vector(self)[1]

    @property
    def element(self) -> dtype:
        """The type of one lane of a vector type; an element type itself."""
        return self if str(self) in FACTS else dtype(split_vector(self)[0])

    @property
    def bits(self) -> int:
        """Bits of one element; of a vector type those of one lane."""
        return FACTS[str(self.element)].bits

    @property
    def bytes(self) -> int:
        """Bytes of one element or vector, rounded up (a packed pair of 4-bit ones shares one)."""
        return (self.bits * self.lanes + 7) // 8

    @property
    def itemsize(self) -> int:
        """The same as ``bytes``."""
        return self.bytes

    @property
    def type_code(self) -> int:
        """DLPack's code of the kind of element: 0 of integers, 1 of unsigned ones, 2 of floats, and others."""
        element = str(self.element)
        return DLPACK_PAIRS.get(element, FACTS[element].dlpack)[0]

    def with_lanes(self, lanes: int) -> dtype:
        """The vector type of so many elements of this type; of 1 the element type itself."""
        return self.element if lanes == 1 else dtype(f"{self.element}x{lanes}")

    @property
    def is_float(self) -> bool:
        return FACTS[str(self.element)].kind == "float"

    @property
    def is_integer(self) -> bool:
        return FACTS[str(self.element)].kind in ("int", "uint")

    def as_torch(self) -> Any:
        """The torch dtype that holds such elements (pairs of 4-bit ones are held as int8 or uint8, those of
        float4_e2m1fn as float4_e2m1fn_x2 where torch has it, since version 2.8). Of the vector types torch has
        float4_e2m1fnx2 alone; for others it raises LanguageError."""
        import torch

        if self in ("float4_e2m1fn", "float4_e2m1fnx2") and hasattr(torch, "float4_e2m1fn_x2"):
            return torch.float4_e2m1fn_x2
        return getattr(torch, str(self.facts.torch))

    def as_numpy(self) -> Any:
        """The numpy dtype; bfloat16, float8 and the 4-bit types come from ml_dtypes. Raises ImportError without it."""
        import numpy

        name = self.facts.numpy
        if not self.facts.in_ml_dtypes:
            return numpy.dtype(name)
        try:
            import ml_dtypes
        except ImportError as error:  # tilecore-runtime does not depend on it
            raise ImportError(f"arrays of {self!s} need the package ml-dtypes: pip install ml-dtypes") from error
        return numpy.dtype(getattr(ml_dtypes, name))

    def __call__(self, *values: Any) -> Any:
        """Cast a value: an expression inside a kernel. A vector type makes a vector of the values of its lanes, too.
        Raises TypeError before ``tilecore.language`` is imported."""
        if _cast is None:
            raise TypeError(f"{self!r}(...) is a cast in a kernel: import tilecore.language first")
        return _cast(values, self)

    def __repr__(self) -> str:
        return f"T.{self!s}"


class UnsupportedType(str):
    """The name of an element type that no target has. It compares equal to its name; every use of it as an element
    type raises LanguageError."""

    __slots__ = ()

    def __call__(self, *values: Any) -> Any:
        raise _unknown(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _unknown(self)

    def __repr__(self) -> str:
        return f"T.{self!s}"


_cast: Callable[[tuple[Any, ...], dtype], Any] | None = None


def set_cast(cast: Callable[[tuple[Any, ...], dtype], Any]) -> None:
    """What a call of an element type with values does: the language's cast of a value to it."""
    global _cast
    _cast = cast


def canonical_name(value: Any) -> str:
    """The language's name of an element type given as a name, a torch dtype, a numpy dtype or type, a Python type."""
    if isinstance(value, dtype):
        return str(value)
    if isinstance(value, str):
        name = value.removeprefix("torch.").removeprefix("T.")
        name = ALIASES.get(name, name)
        if name in FACTS:
            return name
        element, lanes = split_vector(name)
        if lanes > 1:
            return f"{element}x{lanes}"
        raise _unknown(value)
    if value is bool:
        return "bool"
    if value is int:
        return "int32"
    if value is float:
        return "float32"
    text = str(value)
    if text.startswith("torch."):
        return canonical_name(text.removeprefix("torch."))
    type_name = getattr(value, "name", None) or getattr(value, "__name__", None)
    if isinstance(type_name, str) and ALIASES.get(type_name, type_name) in FACTS:
        return ALIASES.get(type_name, type_name)
    if text in FACTS or text in ALIASES:
        return ALIASES.get(text, text)
    raise _unknown(value)


def split_vector(name: str) -> tuple[str, int]:
    """Of the name of a vector type, "float32x2", the element type and the number of lanes; of another name, 1 lane."""
    match = _VECTOR.fullmatch(name)
    element = ALIASES.get(match[1], match[1]) if match else name
    if match is None or element not in FACTS or element in ("bool", "tfloat32"):
        return name, 1
    return element, int(match[2])


def element_type(value: Any) -> dtype:
    """The element type that ``value`` names. Raises LanguageError for a vector type."""
    kind = dtype(value)
    if kind.lanes > 1:
        raise _no_vector(kind)
    return kind


def _no_vector(vector: dtype) -> Exception:
    from tilecore.caller import at_caller
    from tilecore.errors import LanguageError

    return at_caller(
        LanguageError(
            f"the vector type {vector!s} stands where an element type is expected",
            found=f"a type of {vector.lanes} lanes",
            expected=f"an element type, such as {vector.element!s}",
            hint="vector types are for buffers (T.alloc_local, T.alloc_shared, T.view, T.Tensor), T.alloc_var, T.cast",
        )
    )


def resolve_torch_storage_dtype(value: Any) -> dtype:
    """The element type of the torch tensor that holds elements of the type ``value``: of packed ones, which torch has
    no type for, int8 or float4_e2m1fnx2."""
    kind = dtype(value)
    if kind == "float4_e2m1fn":
        import torch

        return dtype("float4_e2m1fnx2" if hasattr(torch, "float4_e2m1fn_x2") else "int8")
    return dtype("int8") if kind.bits < 8 and kind.lanes == 1 else kind


def nearest_types(name: str, candidates: Collection[str], most: int = 3) -> list[str]:
    """The types among ``candidates`` of the kind of type ``name``: first those that hold its values, the nearest first.

    For an unsigned integer type the signed ones count too, and the other way round.
    """
    requested = FACTS[name]
    kinds = {"int": ("int", "uint"), "uint": ("uint", "int")}.get(requested.kind, (requested.kind,))

    def distance(other: str) -> tuple[bool, int, int, int]:
        facts = FACTS[other]
        holds = facts.bits >= requested.bits and facts.significand >= requested.significand
        gap = abs(facts.bits - requested.bits), abs(facts.significand - requested.significand)
        return (not holds, *gap, kinds.index(facts.kind))

    return sorted((n for n in candidates if n in FACTS and n != name and FACTS[n].kind in kinds), key=distance)[:most]


def _unknown(value: Any) -> Exception:
    from tilecore.caller import at_caller
    from tilecore.errors import LanguageError
    from tilecore.nearest import did_you_mean

    if str(value) in UNSUPPORTED:
        return at_caller(
            LanguageError(
                f"{value!s} is an element type that no target has",
                hint="hold its bits in T.uint8, and decode them with shifts and T.reinterpret",
            )
        )
    return at_caller(
        LanguageError(
            f"unknown dtype {value!r}",
            expected="one of " + ", ".join(FACTS),
            hint=did_you_mean(value, [*FACTS, *ALIASES]),
        )
    )


def __getattr__(name: str) -> Any:
    """The element types by name: ``tilecore.dtypes.float16``. ``_TORCH_DTYPE_TO_STR``, which programs written for
    TileLang read, maps the dtypes of torch to the names of element types."""
    if name == "_TORCH_DTYPE_TO_STR":
        import torch

        kinds = ((getattr(torch, facts.torch, None), kind) for kind, facts in FACTS.items() if facts.torch == kind)
        return {torch_type: kind for torch_type, kind in kinds if torch_type is not None}
    if name in FACTS or (name in ALIASES and name.isidentifier()):
        return dtype(name)
    if name in UNSUPPORTED:
        return UnsupportedType(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
