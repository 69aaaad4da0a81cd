"""Dispatches tile operations to the functions that compile them, which the modules of this package register."""

from __future__ import annotations

import importlib
import pkgutil

from tilecore.errors import LanguageError, UnsupportedError
from tilecore.interpreter import tiles
from tilecore.interpreter.scope import Expression, Scope, Statement
from tilecore.interpreter.state import State
from tilecore.interpreter.tiles.registry import EXPRESSIONS, STATEMENTS
from tilecore.ir.nodes import Call
from tilecore.ir.tile_ops import TileCall, as_tile_call, name_in_language

for _module in pkgutil.iter_modules(tiles.__path__, f"{tiles.__name__}."):
    if _module.name != __name__:
        importlib.import_module(_module.name)


def _discard(value: Expression) -> Statement:
    """An expression as a statement: its value is dropped."""

    def run(state: State) -> None:
        value(state)

    return run


def compile_tile_statement(scope: Scope, call: TileCall) -> Statement:
    """A tile operation as a statement."""
    name = call.op.name
    _check_place(scope, call)
    if name in STATEMENTS:
        return STATEMENTS[name](scope, call)
    if name in EXPRESSIONS:
        return _discard(EXPRESSIONS[name](scope, call))
    raise scope.error(UnsupportedError, f"the interpreter does not know {name_in_language(call)}")


def compile_tile_expression(scope: Scope, node: Call) -> Expression:
    """A tile operation in an expression."""
    call = as_tile_call(node)
    assert call is not None
    compiler = EXPRESSIONS.get(call.op.name)
    if compiler is None:
        raise scope.error(LanguageError, f"{name_in_language(call)} is a statement and has no value")
    _check_place(scope, call)
    return compiler(scope, call)


def _check_place(scope: Scope, call: TileCall) -> None:
    if scope.lanes == "parallel" and not call.op.in_parallel:
        raise scope.error(
            LanguageError,
            f"{name_in_language(call)} stands inside T.Parallel",
            expected="element by element code there",
            hint="the whole block does it together: move it out of the loop",
        )
