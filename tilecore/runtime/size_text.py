"""Formats sizes, shapes and symbols for error messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tilecore.artifact.dims import Dim, DimExpr, evaluate
from tilecore.runtime.call_plan import BoundSymbol, CallPlan, storage_dtypes

if TYPE_CHECKING:
    from tilecore.artifact.records import TensorParam


def storage_text(declared: TensorParam) -> str:
    return " or ".join(storage_dtypes(declared))


def shape_text(declared: TensorParam) -> str:
    """The declared shape of the tensor that the caller passes: ``(m, 32)``."""
    dims = [expression_text(dim) for dim in declared.shape]
    if declared.packed > 1:
        last = declared.shape[-1]
        exact = isinstance(last, int) and last % declared.packed == 0
        dims[-1] = str(evaluate(last, {}) // declared.packed) if exact else f"{dims[-1]} // {declared.packed}"
    return tuple_text(dims)


def sizes_text(dims: Sequence[Dim]) -> str:
    return tuple_text([expression_text(dim) for dim in dims])


def tuple_text(sizes: Sequence[int | str]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def expression_text(dim: Dim) -> str:
    text = str(dim)
    return text[1:-1] if isinstance(dim, DimExpr) and text.startswith("(") else text


def is_plain(symbol: BoundSymbol) -> bool:
    return symbol.scale == 1 and symbol.offset == 0


def source_text(symbol: BoundSymbol) -> str:
    product = symbol.name if symbol.scale == 1 else f"{symbol.scale} * {symbol.name}"
    if symbol.offset == 0:
        return product
    return f"{product} {'+' if symbol.offset > 0 else '-'} {abs(symbol.offset)}"


def bindings_text(plan: CallPlan, dims: Sequence[Dim], symbols: Mapping[str, int]) -> str:
    names: set[str] = set().union(*(dim.names() for dim in dims if isinstance(dim, DimExpr)))
    used = [symbol for symbol in plan.symbols if symbol.name in names]
    return ", ".join(f"{s.name} = {symbols[s.name]} from {s.place}" for s in used)


def where_text(bindings: str) -> str:
    return f" where {bindings}" if bindings else ""
