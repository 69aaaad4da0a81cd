"""Says what the names of a program stand for in each scope: a path in the package, or something else."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

PACKAGES = ("tilelang", "tilecore")
TVM = "tvm"
Path = tuple[str, ...]
Names = Mapping[str, Path]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)


def path_of_module(module: str | None) -> Path | None:
    """("language",) of "tilelang.language", ("tvm", "tirx") of "tvm.tirx", as ``tilelang.tvm`` is TVM; None for other
    packages."""
    words = tuple((module or "").split("."))
    if words[0] in PACKAGES:
        return words[1:]
    return words if words[0] == TVM else None


def names_in(statements: Iterable[ast.AST], around: Names) -> dict[str, Path]:
    """The names that stand for something of the package in a scope of these statements. around: those outside of it.

    A name that the scope binds to something else is none of them, unless it is bound to None: that is what programs do
    where an import fails.
    """
    bound: dict[str, Path | None] = {}
    for name, path in _bindings(statements):
        bound[name] = None if path is None or bound.get(name, path) is None else path
    names = {name: path for name, path in around.items() if name not in bound}
    return names | {name: path for name, path in bound.items() if path is not None}


def names_in_function(function: Any, around: Names) -> dict[str, Path]:
    """Those inside of a function or lambda: its parameters hide names from around it."""
    arguments = function.args
    listed = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    parameters = {argument.arg for argument in listed if argument is not None}
    statements = [function.body] if isinstance(function, ast.Lambda) else function.body
    names = names_in(statements, around)
    return {name: path for name, path in names.items() if name not in parameters}


def names_in_comprehension(comprehension: Any, around: Names) -> dict[str, Path]:
    """Those inside of a comprehension: its loops' variables hide names from around it."""
    return names_in([loop.target for loop in comprehension.generators], around)


def _bindings(statements: Iterable[ast.AST]) -> Iterator[tuple[str, Path | None]]:
    """(name, path) for each name that the statements bind themselves; the path is None where it is something else."""
    statements = list(statements)
    kept = {id(target) for node in _of_one_scope(statements) for target in _set_to_none(node)}
    for node in _of_one_scope(statements):
        if isinstance(node, ast.Import):
            for alias in node.names:
                path, first = path_of_module(alias.name), alias.name.partition(".")[0]
                yield (alias.asname, path) if alias.asname else (first, path_of_module(first))
        elif isinstance(node, ast.ImportFrom):
            module = None if node.level else path_of_module(node.module)
            for alias in node.names:
                yield alias.asname or alias.name, None if module is None else (*module, alias.name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
            yield node.name or "", None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in kept:
            yield node.id, None


def _set_to_none(node: ast.AST) -> list[ast.expr]:
    is_none = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None
    return node.targets if is_none else []  # type: ignore[attr-defined]


def _of_one_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and all inside of them, without what is inside of functions, classes and comprehensions."""
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += list(ast.iter_child_nodes(node))[::-1]
