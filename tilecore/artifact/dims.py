"""Defines sizes that depend on the arguments: integers, or expressions of the symbols of a kernel.

A :data:`Dim` is an ``int`` or a :class:`DimExpr`. Programs are plain data (nested tuples), so that an artifact
that comes from disk is never executed as Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "and": lambda a, b: int(bool(a) and bool(b)),
    "or": lambda a, b: int(bool(a) or bool(b)),
}


@dataclass(frozen=True)
class DimExpr:
    """``tree`` is an int, a symbol's name, or ``(operator, left, right)`` with an operator of :data:`OPERATORS`,
    or ``("select", condition, if_true, if_false)``."""

    tree: Any

    def __str__(self) -> str:
        return _text(self.tree)

    def evaluate(self, symbols: Mapping[str, int]) -> int:
        return _evaluate(self.tree, symbols)

    def names(self) -> set[str]:
        """The symbols that it reads."""
        return _names(self.tree)


Dim = int | DimExpr  # the size of an axis: a number, or an expression of the sizes of a call


def evaluate(dim: Dim, symbols: Mapping[str, int]) -> int:
    """The value of ``dim`` for these symbols. ``//`` and ``%`` round towards minus infinity, as in Python."""
    return dim if isinstance(dim, int) else dim.evaluate(symbols)


def dim_to_json(dim: Dim) -> Any:
    """The size as JSON data, which :func:`dim_from_json` reads."""
    return dim if isinstance(dim, int) else {"expr": _to_lists(dim.tree)}


def dim_from_json(value: Any) -> Dim:
    """The inverse of :func:`dim_to_json`; raises ValueError on anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, Mapping) and set(value) == {"expr"}:
        return DimExpr(_from_lists(value["expr"]))
    raise ValueError(f"not a size: {value!r}")


def _evaluate(tree: Any, symbols: Mapping[str, int]) -> int:
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return symbols[tree]
    if tree[0] == "select":
        return _evaluate(tree[2] if _evaluate(tree[1], symbols) else tree[3], symbols)
    return OPERATORS[tree[0]](_evaluate(tree[1], symbols), _evaluate(tree[2], symbols))


def _text(tree: Any) -> str:
    if isinstance(tree, (int, str)):
        return str(tree)
    if tree[0] in ("min", "max", "select"):
        return f"{tree[0]}({', '.join(_text(t) for t in tree[1:])})"
    return f"({_text(tree[1])} {tree[0]} {_text(tree[2])})"


def _names(tree: Any) -> set[str]:
    if isinstance(tree, int):
        return set()
    if isinstance(tree, str):
        return {tree}
    return set().union(*(_names(t) for t in tree[1:]))


def _to_lists(tree: Any) -> Any:
    return [tree[0], *map(_to_lists, tree[1:])] if isinstance(tree, tuple) else tree


def _from_lists(value: Any) -> Any:
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return value
    if isinstance(value, list) and value:
        operands = {"select": 4}.get(value[0], 3)
        if (value[0] in OPERATORS or value[0] == "select") and len(value) == operands:
            return (value[0], *map(_from_lists, value[1:]))
    raise ValueError(f"not a size expression: {value!r}")
