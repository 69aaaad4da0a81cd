"""The functions that give tile operations their meaning, registered by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tilecore.interpreter.scope import Expression, Scope, Statement
from tilecore.ir.tile_ops import TILE_OPS, TileCall

StatementCompiler = Callable[[Scope, TileCall], Statement]
ExpressionCompiler = Callable[[Scope, TileCall], Expression]
_Compiler = TypeVar("_Compiler", bound=Callable[..., object])

STATEMENTS: dict[str, StatementCompiler] = {}
EXPRESSIONS: dict[str, ExpressionCompiler] = {}


def statement(name: str) -> Callable[[StatementCompiler], StatementCompiler]:
    """The decorated function compiles the tile operation ``name`` as a statement."""
    return lambda compiler: _add(STATEMENTS, name, compiler)


def expression(name: str) -> Callable[[ExpressionCompiler], ExpressionCompiler]:
    """The decorated function compiles the tile operation ``name`` in an expression."""
    return lambda compiler: _add(EXPRESSIONS, name, compiler)


def _add(table: dict[str, _Compiler], name: str, compiler: _Compiler) -> _Compiler:
    if name not in TILE_OPS or name in table:
        raise ValueError(f"{name!r} is registered already" if name in table else f"{name!r} is no tile operation")
    table[name] = compiler
    return compiler
