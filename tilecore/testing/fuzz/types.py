"""Properties of element types for the generator: the range in which whole numbers are exact, and common types."""

from __future__ import annotations

from tilecore.dtypes import FACTS

NARROW = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
FLOATS = ("float64", "float32", "float16", "bfloat16", *NARROW)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SMALL = ("int4", "uint4")  # two share a byte of a tensor


def is_float(dtype: str) -> bool:
    return FACTS[dtype].kind == "float"


def is_integer(dtype: str) -> bool:
    return FACTS[dtype].kind in ("int", "uint")


def limit(dtype: str) -> float:
    """The largest magnitude of an integer type; for a float, that up to which all whole numbers are exact."""
    facts = FACTS[dtype]
    if facts.kind == "bool":
        return 1
    if facts.kind == "float":
        return 2.0 ** (facts.significand + 1)
    return 2.0**facts.bits if facts.kind == "uint" else 2.0 ** (facts.bits - 1)


def common_type(a: str, b: str) -> str:
    """The element type of an operation on both, by the rules of the language."""
    from tilecore.language.conversions import promoted

    return promoted(a, b)


def sum_type(a: str, b: str) -> str:
    """The element type of a sum or product of both: int32 for bools."""
    result_type = common_type(a, b)
    return "int32" if result_type == "bool" else result_type
