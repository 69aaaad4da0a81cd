"""Finds in a function's source which axis of which tensor gives each T.const its value.

An eager function may use a T.const before the declaration that gives its value:

    M, K = T.const("M, K")
    tiles = T.ceildiv(K, 32)
    A: T.Tensor[[M, K], T.float16]

What this module does not find in the source gets its value where it is declared.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType

from tilecore.errors import LanguageError


@dataclass(frozen=True)
class Source:
    """An axis of a parameter's shape, or of its strides. rank: the number of the parameter's axes.

    dtype: the last name of the declared element type, "" where it is none; of ``T.float4_e2m1fn`` and
    ``"float4_e2m1fn"`` it is the type's, of a variable the variable's.
    """

    parameter: str
    axis: int
    rank: int
    is_stride: bool = False
    dtype: str = ""


def declared_sizes(function: FunctionType) -> dict[str, list[Source]]:
    """The axes that are a T.const alone, by the name of the T.const."""
    from tilecore.frontend.source import parse_function

    try:
        _, definition = parse_function(function)
    except (LanguageError, SyntaxError):
        return {}
    names: dict[str, str] = {}  # of the variables that hold a T.const: its own name
    sources: dict[str, list[Source]] = {}
    for statement in definition.body if isinstance(definition, ast.FunctionDef) else ():
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, constants = statement.targets[0], _constants(statement.value)
            variables: list[ast.expr] = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            assigned = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
            names = {variable: name for variable, name in names.items() if variable not in assigned}
            if len(constants) == len(variables):
                names |= {v.id: c for v, c in zip(variables, constants, strict=True) if isinstance(v, ast.Name)}
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            for axis, rank, is_stride, variable, dtype in _axes(statement.annotation):
                if variable in names:
                    source = Source(statement.target.id, axis, rank, is_stride, dtype)
                    sources.setdefault(names[variable], []).append(source)
    return sources


def _constants(value: ast.expr) -> list[str]:
    """The names of ``T.const("M, N")``; none for another expression."""
    if not isinstance(value, ast.Call) or _last_name(value.func) != "const" or not value.args:
        return []
    text = value.args[0]
    is_text = isinstance(text, ast.Constant) and isinstance(text.value, str)
    return text.value.replace(",", " ").split() if is_text else []  # type: ignore[attr-defined,union-attr]


def _axes(annotation: ast.expr) -> Iterator[tuple[int, int, bool, str, str]]:
    """(axis, number of axes, whether it is one of the strides, name, name of the element type) of the sizes that are a
    name alone."""
    if isinstance(annotation, ast.Subscript):
        function, arguments = annotation.value, annotation.slice
        parts = list(arguments.elts) if isinstance(arguments, ast.Tuple) else [arguments]
    elif isinstance(annotation, ast.Call):
        function, parts = annotation.func, list(annotation.args)
    else:
        return
    if _last_name(function) not in ("Tensor", "StridedTensor", "Buffer"):
        return
    shapes = parts[:2] if _last_name(function) == "StridedTensor" else parts[:1]
    rest = parts[len(shapes) :]
    keyword = [k.value for k in getattr(annotation, "keywords", ()) if k.arg == "dtype"]
    dtype = _text((rest or keyword or [annotation])[0])
    for is_stride, shape in enumerate(shapes):
        sizes = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else []
        for axis, size in enumerate(sizes):
            if isinstance(size, ast.Name):
                yield axis, len(sizes), bool(is_stride), size.id, dtype


def _text(dtype: ast.expr) -> str:
    if isinstance(dtype, ast.Constant) and isinstance(dtype.value, str):
        return dtype.value
    return _last_name(dtype)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
