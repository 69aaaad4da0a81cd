"""Which function compiles which tile operation."""

from __future__ import annotations

from collections.abc import Callable

from tilecore.errors import LanguageError, UnsupportedError
from tilecore.interpreter.scope import Expression, Scope, Statement
from tilecore.interpreter.state import State
from tilecore.interpreter.tiles.atomic import compile_atomic, compile_atomic_element, compile_atomic_update
from tilecore.interpreter.tiles.copy import compile_copy, compile_fill, compile_transpose
from tilecore.interpreter.tiles.diagnostics import (
    compile_annotate,
    compile_assume,
    compile_device_assert,
    compile_print,
    compile_sync,
)
from tilecore.interpreter.tiles.gemm import compile_gemm
from tilecore.interpreter.tiles.reduce import compile_allreduce, compile_finalize, compile_reduce, compile_scan
from tilecore.interpreter.tiles.warps import compile_ballot, compile_shuffle
from tilecore.ir.nodes import Call
from tilecore.ir.tile_ops import TileCall, as_tile_call, name_in_language


def _discard(compiler: Callable[[Scope, TileCall], Expression]) -> Callable[[Scope, TileCall], Statement]:
    """An expression that stands as a statement."""

    def compile_statement(scope: Scope, call: TileCall) -> Statement:
        value = compiler(scope, call)

        def run(state: State) -> None:
            value(state)

        return run

    return compile_statement


_STATEMENTS: dict[str, Callable[[Scope, TileCall], Statement]] = {
    "copy": compile_copy,
    "transpose": compile_transpose,
    "fill": compile_fill,
    "gemm": compile_gemm,
    "reduce": compile_reduce,
    "scan": compile_scan,
    "finalize_reducer": compile_finalize,
    "atomic": compile_atomic,
    "atomic_element": compile_atomic_update,
    "allreduce": _discard(compile_allreduce),
    "shuffle": _discard(compile_shuffle),
    "ballot": _discard(compile_ballot),
    "sync_threads": compile_sync,
    "print": compile_print,
    "device_assert": compile_device_assert,
    "assume": compile_assume,
    "annotate": compile_annotate,
}
_EXPRESSIONS: dict[str, Callable[[Scope, TileCall], Expression]] = {
    "atomic_element": compile_atomic_element,
    "allreduce": compile_allreduce,
    "shuffle": compile_shuffle,
    "ballot": compile_ballot,
}
_FOR_ONE_ITERATION = ("atomic", "print", "device_assert", "assume", "annotate", "atomic_element")


def compile_tile_statement(scope: Scope, call: TileCall) -> Statement:
    """A tile operation that stands as a statement."""
    name = call.op.name
    _check_place(scope, call)
    compiler = _STATEMENTS.get(name)
    if compiler is None:
        raise scope.error(UnsupportedError, f"the interpreter does not know {name_in_language(call)}")
    return compiler(scope, call)


def compile_tile_expression(scope: Scope, node: Call) -> Expression:
    """A tile operation that stands in an expression."""
    call = as_tile_call(node)
    assert call is not None
    compiler = _EXPRESSIONS.get(call.op.name)
    if compiler is None:
        raise scope.error(LanguageError, f"{name_in_language(call)} is a statement and has no value")
    _check_place(scope, call)
    return compiler(scope, call)


def _check_place(scope: Scope, call: TileCall) -> None:
    if scope.lanes == "parallel" and call.op.name not in _FOR_ONE_ITERATION:
        raise scope.error(
            LanguageError,
            f"{name_in_language(call)} stands inside T.Parallel",
            expected="element by element code there",
            hint="the whole block does it together: move it out of the loop",
        )
