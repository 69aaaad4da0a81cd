"""Finds the assumptions of a kernel (T.assume) that the host can check before a launch: those on sizes and scalars.

An assumption inside an ``if`` or a loop need not hold where that does not run, so it is left to the compiler alone.
Neither are conditions on memory, on indices, on floats and booleans, or with a division by something that may be 0.
"""

from __future__ import annotations

from typing import Any

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import Assumption
from tilecore.dtypes import FACTS
from tilecore.errors import LanguageError
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import (
    Add,
    Bind,
    Call,
    Cast,
    Div,
    Evaluate,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    IfThenElse,
    Mod,
    Mul,
    PrimFunc,
    Stmt,
    Sub,
    TensorLoad,
    Var,
    While,
    is_buffer_var,
)
from tilecore.ir.sizes import symbols_in, to_dim
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import children, collect, substitute


def host_assumptions(func: PrimFunc) -> tuple[Assumption, ...]:
    """The assumptions of a function (tile IR) that hold for every call, in the order of the source."""
    scalars = {param for param in func.params if not is_buffer_var(param)}
    assumptions: list[Assumption] = []
    _gather(func.body, scalars | set(symbols_in(func.params)), {}, assumptions)
    return tuple(dict.fromkeys(assumptions))


def _gather(node: Stmt, of_call: set[Var], values: dict[Var, Expr], assumptions: list[Assumption]) -> None:
    if isinstance(node, (IfThenElse, For, While)):
        return
    if isinstance(node, Bind):
        values[node.var] = substitute(node.value, values)
    call = as_tile_call(node) if isinstance(node, Evaluate) else None
    dim: Any = None
    if call is not None and call.op.name == "assume":
        condition = substitute(call.condition, values)
        if _is_checked(condition, of_call):
            try:
                dim = to_dim(condition)
            except LanguageError:  # with an operation that sizes do not have, such as n & 7
                dim = None
        if dim is not None:
            assumptions.append(Assumption(dim if isinstance(dim, DimExpr) else int(bool(dim)), str(call.condition)))
    for child in children(node):
        _gather(child, of_call, values, assumptions)


def _is_checked(condition: Expr, of_call: set[Var]) -> bool:
    """Does the host compute the same value as the kernel, from the sizes and the scalars of the call alone?"""
    if collect(condition, TensorLoad, Call, Div, Mod):
        return False
    if any(var not in of_call or not _is_integer(var) for var in collect(condition, Var)):
        return False
    if any(not constant(division.b) for division in collect(condition, FloorDiv, FloorMod)):
        return False
    if any(dtype_of(node) not in ("int32", "int64") for node in collect(condition, Add, Sub, Mul)):
        return False  # narrower integers and those without a sign wrap around in kernels, and not here
    return all(_keeps_value(cast) for cast in collect(condition, Cast))


def _is_integer(value: Any) -> bool:
    return FACTS[dtype_of(value)].kind in ("int", "uint")


def _keeps_value(cast: Cast) -> bool:
    """Does the cast keep every value? So does one to a wider integer, signed or of the same signedness."""
    if dtype_of(cast) == "bool" or dtype_of(cast.value) == "bool":
        return True
    if not (_is_integer(cast) and _is_integer(cast.value)):
        return False
    wide, narrow = FACTS[dtype_of(cast)], FACTS[dtype_of(cast.value)]
    return wide.bits >= narrow.bits if wide.kind == narrow.kind else wide.kind == "int" and wide.bits > narrow.bits
