"""Finds the grid axis along which blocks have more or less work: the number of iterations of their loops depends on it.

Persistent blocks take the user's blocks by turns. Where the work grows along the fastest axis, as the rows of causal
attention do, some persistent blocks would always get the long ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of
from tilecore.ir.nodes import AttrStmt, Evaluate, For, Stmt
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect, substitute, variables


class UnevenAxis(NamedTuple):
    """A grid axis along which blocks have different work. grows: whether the last blocks have the most."""

    axis: AttrStmt
    grows: bool


def uneven_axis(axes: list[AttrStmt], code: Stmt) -> UnevenAxis | None:
    """The one axis that the number of iterations with a T.gemm depends on; None for none or several.

    axes: the grid's, with constant extents.
    """
    extents = [loop.extent for loop in collect(code, For) if _has_product(loop)]
    used = [axis for axis in axes if any(axis.node.var in variables(extent) for extent in extents)]
    if len(used) != 1 or constant(used[0].value) is None:
        return None
    (axis,) = used
    last = const((constant(axis.value) or 1) - 1, dtype_of(axis.node.var))
    growth = [_at(extent, axis, last) - _at(extent, axis, const(0, dtype_of(last))) for extent in extents]
    signs = {_sign(Analyzer().simplify(difference)) for difference in growth} - {0}
    return UnevenAxis(axis, signs == {1}) if len(signs) == 1 and None not in signs else None


def _has_product(loop: For) -> bool:
    calls = (as_tile_call(node) for node in collect(loop.body, Evaluate))
    return any(call is not None and call.op.name == "gemm" for call in calls)


def _at(extent: Any, axis: AttrStmt, index: Any) -> Any:
    return Analyzer().simplify(substitute(extent, {axis.node.var: index}))


def _sign(value: Any) -> int | None:
    number = constant(value)
    return None if number is None else (number > 0) - (number < 0)
