"""The statements that accumulate into a T.alloc_reducer: ``r[i] = r[i] op x``, and what the language makes of them."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import FACTS
from tilecore.ir.build import const, dtype_of
from tilecore.ir.nodes import (
    Add,
    BufferStore,
    Cast,
    Expr,
    Max,
    Min,
    Sub,
    TensorLoad,
    structural_equal,
    tirx,
)
from tilecore.ir.reductions import combining_kind

# of each kind that combines partial results: the operators of integers and floats, and those of bool
_OPERATORS: dict[str, tuple[type, ...]] = {
    "sum": (Add, Sub),
    "prod": (tirx.Mul,),
    "max": (Max,),
    "min": (Min,),
    "bitand": (tirx.BitwiseAnd, tirx.And),
    "bitor": (tirx.BitwiseOr, tirx.Or),
    "bitxor": (tirx.BitwiseXor, tirx.NE),
}
_MODULAR = ("sum", "prod", "bitand", "bitor", "bitxor")  # of integers: the low bits of the result need no others


def updated(kind: str, element: Expr, value: Expr) -> Expr:
    """``element op value``, both of one type: the value that an update of a reducer of this kind stores."""
    operators = _OPERATORS[combining_kind(kind)]
    is_bool = dtype_of(element) == "bool"
    result: Expr = operators[-1 if is_bool and len(operators) == 2 and operators[0] is not Add else 0](element, value)
    return result


def accumulated(node: BufferStore, kind: str) -> Expr | None:
    """The value x that the store ``r[i] = r[i] op x`` accumulates into a reducer (-x for a difference).

    None if the store has another form. ``r[i] op x op y`` accumulates ``x op y``. Where ``r[i]`` and the sum around it
    are converted to a wider type and back, the value has the wider type.
    """
    return _operand(_unconverted(node.value, node, kind), node, combining_kind(kind))


def _operand(value: Any, node: BufferStore, kind: str) -> Expr | None:
    if type(value) not in _OPERATORS[kind]:
        return None
    is_difference = isinstance(value, Sub)
    if _is_target(value.a, node):
        return _negative(value.b) if is_difference else value.b
    if _is_target(value.b, node):
        return None if is_difference else value.a
    inner = _operand(value.a, node, kind)
    if inner is not None:
        return type(value)(inner, value.b)
    inner = None if is_difference else _operand(value.b, node, kind)
    return None if inner is None else type(value)(value.a, inner)


def _negative(value: Expr) -> Expr:
    dtype = dtype_of(value)
    return -value if "float" in dtype else Sub(const(0, dtype), value)


def _unconverted(value: Any, node: BufferStore, kind: str) -> Any:
    """The value before it is converted to the reducer's type, where the conversion may as well come before."""
    if not isinstance(value, Cast):
        return value
    kinds = [FACTS[dtype_of(e).partition("x")[0]].kind for e in (value, value.value)]
    if kinds == ["float", "float"]:
        return value.value
    is_modular = "float" not in kinds and "bool" not in kinds and combining_kind(kind) in _MODULAR
    return value.value if is_modular else value


def _is_target(value: Any, node: BufferStore) -> bool:
    """Is the value the element that the store writes, in whatever type?"""
    while isinstance(value, Cast):
        value = value.value
    return isinstance(value, TensorLoad) and value.source.same_as(node.buffer) and same_element(value, node)


def same_element(a: Any, b: Any) -> bool:
    """Do two accesses of one buffer have structurally equal indices?"""
    return all(structural_equal(x, y, map_free_vars=False) for x, y in zip(a.indices, b.indices, strict=True))
