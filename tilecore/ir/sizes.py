"""Converts sizes in the IR to :data:`~tilecore.artifact.dims.Dim` programs, and finds the source of each symbol."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from tilecore.artifact.dims import Dim, DimExpr
from tilecore.artifact.records import Symbol
from tilecore.dtypes import FACTS
from tilecore.errors import LanguageError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Cast, Expr, PrimFunc, Var, is_buffer_var
from tilecore.ir.scopes import is_shared
from tilecore.ir.visit import collect, variables

_OPERATORS = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "FloorDiv": "//",
    "Div": "//",
    "FloorMod": "%",
    "Mod": "%",
    "Min": "min",
    "Max": "max",
    "LT": "<",
    "LE": "<=",
    "EQ": "==",
    "NE": "!=",
    "And": "and",
    "Or": "or",
}
_TURNED = {"GT": "<", "GE": "<="}


def elements_of(buffer: Var) -> int | None:
    """The elements of a buffer without gaps; None where a size is known only at a call."""
    sizes = [constant(size) for size in buffer.shape]
    return None if None in sizes else prod(int(size) for size in sizes if size is not None)


def bytes_of(buffer: Var) -> int | None:
    """The bytes of these elements; None where a size is known only at a call."""
    elements = elements_of(buffer)
    return None if elements is None else -(-elements * FACTS[dtype_of(buffer)].bits // 8)


def to_dim(expr: Any) -> Dim:
    """An integer expression over symbols as a size program."""
    number = constant(expr)
    return number if number is not None else DimExpr(_tree(expr))


def _tree(expr: Any) -> Any:
    number = constant(expr)
    if number is not None:
        return number
    name = type(expr).__name__
    if isinstance(expr, Var):
        return str(expr.name)
    if isinstance(expr, Cast):
        return _tree(expr.value)
    if name in _OPERATORS:
        return (_OPERATORS[name], _tree(expr.a), _tree(expr.b))
    if name in _TURNED:
        return (_TURNED[name], _tree(expr.b), _tree(expr.a))
    if name == "Not":
        return ("==", _tree(expr.a), 0)
    if name == "Select":
        return ("select", _tree(expr.condition), _tree(expr.true_value), _tree(expr.false_value))
    if name == "Call" and op_name(expr) == "if_then_else":
        return ("select", *(_tree(arg) for arg in expr.args))
    raise LanguageError(
        "a size cannot be computed before the kernel runs",
        found=str(expr),
        expected="integers, sizes of the arguments and scalars, combined with + - * // % min max",
    )


def has_dynamic_size(buffer: Var) -> bool:
    """Is it a shared buffer whose size only the call gives?"""
    return is_shared(buffer) and any(constant(size) is None for size in buffer.shape)


def symbols_in(params: Any) -> list[Var]:
    """The variables of the parameters' shapes and strides that are no parameters themselves, in order of appearance."""
    scalars = {p for p in params if not is_buffer_var(p)}
    symbols: list[Var] = []
    for param in params:
        if is_buffer_var(param):
            for size in [*param.shape, *param.strides]:
                symbols += [
                    var for var in dict.fromkeys(collect(size, Var)) if var not in symbols and var not in scalars
                ]
    return symbols


def symbols_of_params(params: Any) -> tuple[Symbol, ...]:
    """For every symbol in the shapes and strides of the parameters, the argument that determines its value."""
    plain: dict[Var, Symbol] = {}
    linear: dict[Var, Symbol] = {}
    for kind in ("shape", "stride"):
        for param_index, param in enumerate(params):
            if not is_buffer_var(param):
                continue
            for axis, size in enumerate(param.shape if kind == "shape" else param.strides):
                _solve(size, (kind, param_index, axis), plain, linear)
    symbols = []
    for var in symbols_in(params):
        symbol = plain.get(var) or linear.get(var)
        if symbol is None:
            raise LanguageError(
                f"no argument gives the value of T.dynamic {str(var.name)!r}",
                expected="an axis of a parameter whose size is the symbol, or a multiple of it plus a constant",
            )
        symbols.append(symbol)
    return tuple(symbols)


def scalar_symbols(params: Any, dims: Iterable[Dim]) -> tuple[Symbol, ...]:
    """A symbol for every scalar parameter that one of the sizes names: its value is the argument itself."""
    named = {name for dim in dims if isinstance(dim, DimExpr) for name in dim.names()}
    return tuple(
        Symbol(str(param.name), ("scalar", param_index, 0), dtype_of(param))
        for param_index, param in enumerate(params)
        if not is_buffer_var(param) and str(param.name) in named
    )


def _solve(size: Expr, source: tuple[str, int, int], plain: dict, linear: dict) -> None:
    names = set(collect(size, Var))
    if len(names) != 1:
        return
    (var,) = names
    dtype = dtype_of(var)
    if isinstance(size, Var):
        plain.setdefault(var, Symbol(str(var.name), source, dtype))
        return
    at = [_value_at(size, var, n) for n in (0, 1, 2)]
    if None in at or at[2] - at[1] != at[1] - at[0] or at[1] == at[0]:  # type: ignore[operator]
        return
    linear.setdefault(var, Symbol(str(var.name), source, dtype, at[1] - at[0], at[0]))  # type: ignore[operator, arg-type]


def _value_at(size: Expr, var: Var, number: int) -> int | None:
    from tilecore.ir.build import const
    from tilecore.ir.visit import substitute

    return constant(Analyzer().simplify(substitute(size, {var: const(number, dtype_of(var))})))


def symbols_of_shapes(func: PrimFunc) -> set[Var]:
    """The symbols in the shapes of the parameters."""
    sizes: set[Var] = set()
    for param in func.params:
        if is_buffer_var(param):
            for size in param.shape:
                sizes |= variables(size)
    return sizes
