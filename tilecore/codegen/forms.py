"""Constructs that C++ expresses by templates, constructors and overloaded operators, and C by function names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tilecore.codegen.text import Text, call, cast

_SUFFIXES: Mapping[str, str] = {"uint32": "u", "int64": "ll", "uint64": "ull"}
_PRINTED: Mapping[str, tuple[str, str]] = {
    "float": ("%g", "double"),
    "int": ("%lld", "long long"),
    "uint": ("%llu", "unsigned long long"),
    "bool": ("%lld", "long long"),
}


@dataclass(frozen=True)
class Forms:
    """How a C-like language writes what its family members write differently.

    narrow_operators: the narrow floats have operators of their own; else they are computed in float32 and rounded.
    typed: the name of a function that is chosen by the type that it returns, from (name, C type, element type).
    from_bits: a narrow float from (its C type, text of its bits).
    narrow: a narrow float from (its C type, a value of any other type). single: a narrow float as a float32.
    sized: the name of a function that is chosen by a number, such as bytes, from (name, number).
    suffixes: of integer constants by element type, where they need one. printed: how numbers of a kind are printed:
    (their place in the text, the type that they are printed as).
    """

    narrow_operators: bool
    typed: Callable[[str, str, str], str]
    from_bits: Callable[[str, str], Text]
    narrow: Callable[[str, Text], Text]
    single: Callable[[str, Text], Text]
    sized: Callable[[str, int], str]
    suffixes: Mapping[str, str] = field(default_factory=lambda: _SUFFIXES)
    printed: Mapping[str, tuple[str, str]] = field(default_factory=lambda: _PRINTED)


CPP = Forms(  # C++: templates, constructors and operators
    narrow_operators=True,
    typed=lambda name, kind, dtype: f"{name}<{kind}>",
    from_bits=lambda kind, bits: Text(f"{kind}::from_bits({bits})"),
    narrow=cast,
    single=cast,
    sized=lambda name, number: f"{name}<{number}>",
)
# `tc_half_from(x)`, `tc_single(x)` and their like are type-generic macros of the backend's header; the functions for
# one type bear its element type's name: `tc_truncate_int32`, those for one size its number: `tc_move_16`
C = Forms(  # plain C: names instead of templates
    narrow_operators=False,
    typed=lambda name, kind, dtype: f"{name}_{dtype}",
    from_bits=lambda kind, bits: Text(f"{kind}_bits({bits})"),
    narrow=lambda kind, value: call(f"{kind}_from", value),
    single=lambda kind, value: call("tc_single", value),
    sized=lambda name, number: f"{name}_{number}",
)
