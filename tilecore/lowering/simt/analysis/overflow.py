"""Decides which index expressions may overflow int32; the analyzer simplifies as if nothing overflowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilecore.dtypes import FACTS
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, dtype_of
from tilecore.ir.nodes import Add, Bind, Mul, Range, Stmt, Sub, Var
from tilecore.ir.visit import collect, loads, variables

MAX_UNKNOWN_EXTENT = 1 << 16  # assumed of loops and axes of the grid whose extent is not known at compile time


def data_dependent_variables(body: Stmt, arguments: set[Var]) -> set[Var]:
    """The variables that are computed from loaded values or from the scalar ``arguments`` of the call, and these."""
    data = set(arguments)
    for bind in collect(body, Bind):
        if is_data_dependent(bind.value, data):
            data.add(bind.var)
    return data


def is_data_dependent(value: Any, data: set[Var]) -> bool:
    """Does an expression load from memory, or use one of the variables ``data``?"""
    return bool(loads(value)) or not data.isdisjoint(variables(value))


def may_wrap(value: Any, extents: Mapping[Var, int]) -> bool:
    """Can a sum, difference or product inside an expression leave the range of int32?

    extents: of variables that begin at 0; others are assumed to stay below MAX_UNKNOWN_EXTENT.
    """
    analyzer = Analyzer()
    for var in variables(value):
        facts = FACTS[dtype_of(var)]
        if facts.kind in ("int", "uint"):
            largest = (1 << (facts.bits - 1)) - 1  # of the type
            bind_extent(analyzer, var, min(largest, max(1, extents.get(var, MAX_UNKNOWN_EXTENT))))
    bounds = (analyzer.const_int_bound(node) for node in collect(value, Add, Sub, Mul))
    return any(int(b.min_value) < -(2**31) or int(b.max_value) >= 2**31 for b in bounds)


def bind_extent(analyzer: Analyzer, var: Var, extent: int) -> None:
    """Tells the analyzer that ``var`` is at least 0 and below ``extent``."""
    analyzer.bind(var, Range.from_min_extent(const(0, dtype_of(var)), const(extent, dtype_of(var))))
