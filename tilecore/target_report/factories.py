"""Recognizes functions that return kernels: those that define a ``T.prim_func`` and return it."""

from __future__ import annotations

import ast
from types import FunctionType

from tilecore.errors import LanguageError
from tilecore.frontend.source import parse_function


def is_factory(function: FunctionType) -> bool:
    """Whether the function defines a T.prim_func and returns it."""
    try:
        _, definition = parse_function(function)
    except (LanguageError, SyntaxError):
        return False
    kernels = {
        node.name
        for node in ast.walk(definition)
        if isinstance(node, ast.FunctionDef) and any(_is_prim_func(d) for d in node.decorator_list)
    }
    returned = (node.value for node in ast.walk(definition) if isinstance(node, ast.Return) and node.value is not None)
    return any(isinstance(part, ast.Name) and part.id in kernels for value in returned for part in ast.walk(value))


def _is_prim_func(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (
        isinstance(called, (ast.Attribute, ast.Name))
        and (called.attr if isinstance(called, ast.Attribute) else called.id) == "prim_func"
    )
