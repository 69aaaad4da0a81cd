"""Provides an arithmetic analyzer that is sound for integers that may wrap around.

TVM's analyzer assumes that a cast preserves the value and that sums of narrow types do not overflow: it finds that
``int8(x & 255)`` is in [0, 127]. In the language they wrap. So an expression that may wrap is replaced by an opaque
variable of its type before TVM's analyzer sees it, and is restored in the result.
"""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import FACTS
from tilecore.ir import nodes
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import Add, Call, Cast, Mul, Range, Sub, Var, structural_equal, structural_hash, structural_map
from tilecore.ir.visit import collect, substitute

_INDICES = ("int32", "int64")  # sums of these are assumed not to overflow


class Analyzer:
    """TVM's analyzer, which sees expressions that may wrap as opaque variables."""

    def __init__(self) -> None:
        self._inner = nodes.Analyzer()
        self._known: dict[int, list[tuple[Any, Var]]] = {}
        self._shown: dict[Var, Any] = {}

    def simplify(self, expr: Any, steps: int = 2) -> Any:
        return self._show(self._inner.simplify(self._hide(expr), steps))

    def can_prove(self, expr: Any, *args: Any, **options: Any) -> bool:
        return bool(self._inner.can_prove(self._hide(expr), *args, **options))

    def const_int_bound(self, expr: Any) -> Any:
        return self._inner.const_int_bound(self._hide(expr))

    def constraint_scope(self, constraint: Any) -> Any:
        return self._inner.constraint_scope(self._hide(constraint))

    def bind(self, var: Var, expr: Any, *args: Any, **options: Any) -> None:
        if isinstance(expr, Range):
            expr = Range.from_min_extent(self._hide(expr.min), self._hide(expr.extent))
        else:
            expr = self._hide(expr)
        self._inner.bind(var, expr, *args, **options)

    # -- what may wrap ------------------------------------------------------------------------------------------------

    def _hide(self, expr: Any) -> Any:
        if not any(_changes_range(node) for node in collect(expr, Cast)):
            return expr
        return structural_map(expr, ((Cast, Add, Sub, Mul, Call), self._hidden))  # innermost first

    def _hidden(self, node: Any) -> Any:
        kind = dtype_of(node)
        limits = _limits(kind)
        if limits is None or (kind in _INDICES and not isinstance(node, Cast)):
            return node
        if isinstance(node, Cast) and not _changes_range(node):
            return node
        bound = self._inner.const_int_bound(node.value if isinstance(node, Cast) else node)
        low, high = int(bound.min_value), int(bound.max_value)
        if limits[0] <= low and high <= limits[1]:
            return node
        if kind in _INDICES and low <= limits[0] and limits[1] <= high:  # the analyzer assumes nothing about it anyway
            return node
        alike = self._known.setdefault(structural_hash(node), [])
        var = next((var for expression, var in alike if structural_equal(expression, node)), None)
        if var is None:
            var = Var("wrapped", kind)
            alike.append((node, var))
            self._shown[var] = self._show(node)
        return var

    def _show(self, expr: Any) -> Any:
        return substitute(expr, self._shown)


def _limits(dtype: str) -> tuple[int, int] | None:
    """The smallest and the largest value of an integer type or bool; None for other types."""
    facts = FACTS.get(dtype)
    return None if facts is None or facts.kind == "float" else facts.integer_range


def _changes_range(node: Cast) -> bool:
    """Is the node a cast between integer types that may change the value?"""
    source, cast = dtype_of(node.value), dtype_of(node)
    if source == cast or source == "bool" or None in (_limits(source), _limits(cast)):
        return False
    return (source, cast) != ("int32", "int64")
