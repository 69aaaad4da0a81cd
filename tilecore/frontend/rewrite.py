"""Rewrites a function's syntax tree so that running it as Python builds tile IR.

Control flow, assignments and boolean operators become calls of :mod:`tilecore.frontend.hooks` (the name ``__tc``),
which decide at run time whether a value is Python's or the kernel's. Everything else is unchanged: closures, helper
functions, comprehensions and default arguments are Python, and a traceback points at the user's line.
"""

from __future__ import annotations

import ast
from types import CellType, CodeType, FunctionType

from tilecore.frontend.source import parse_function
from tilecore.frontend.syntax import HOOKS, SPANS, Rewriter
from tilecore.ir.spans import SpanTable

# By the identity of the original's code, which is kept: code objects of different files, and of one file before and
# after an edit, compare equal when they differ only in annotations of the body, which have no bytecode.
_cache: dict[int, tuple[CodeType, CodeType, SpanTable]] = {}


def is_rewritten(function: FunctionType) -> bool:
    return HOOKS in function.__code__.co_freevars or HOOKS in function.__code__.co_names


def rewrite(function: FunctionType, hooks: object) -> FunctionType:
    """``function`` with its body rewritten; it shares the original's globals, defaults and closure cells."""
    if is_rewritten(function):
        return function
    cached = _cache.get(id(function.__code__))
    if cached is None:
        cached = _cache[id(function.__code__)] = (function.__code__, *_compile(function))
    _, code, spans = cached
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[HOOKS] = CellType(hooks)
    cells[SPANS] = CellType(spans)
    closure = tuple(cells[name] for name in code.co_freevars)
    rewritten = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    rewritten.__kwdefaults__ = function.__kwdefaults__
    rewritten.__qualname__ = function.__qualname__
    return rewritten


def _compile(function: FunctionType) -> tuple[CodeType, SpanTable]:
    file, definition = parse_function(function)
    spans = SpanTable(file)
    definition = Rewriter(spans).top(definition)  # type: ignore[arg-type]  # lambdas were refused before
    name, definition.name = (
        definition.name,
        "__definition",
    )  # otherwise its name would be local inside it and hide the global
    outer = ast.parse(f"def __outer({', '.join([HOOKS, SPANS, *function.__code__.co_freevars])}): pass")
    outer.body[0].body = [definition]  # type: ignore[attr-defined]
    ast.fix_missing_locations(outer)
    module = compile(outer, file, "exec")
    return _find_code(module, definition.name).replace(co_name=name), spans


def _find_code(module: CodeType, name: str) -> CodeType:
    factory = next(c for c in module.co_consts if isinstance(c, CodeType) and c.co_name == "__outer")
    return next(c for c in factory.co_consts if isinstance(c, CodeType) and c.co_name == name)
