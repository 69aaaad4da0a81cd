"""Reads calls as users write them: ``"matmul(1024, 1024, dtype='float16')"``, with alternatives
``"matmul(1024, 1024) or matmul(1024, 1024, block_K=16)"``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilecore.errors import ArgumentError


@dataclass(frozen=True)
class Call:
    """A call: the function's name, its arguments, and the text."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    text: str


def parse_calls(text: str, names: Mapping[str, Any]) -> tuple[Call, ...]:
    """The call, and those behind ``or``, which are for targets that refuse the ones before.

    Arguments are evaluated; they may use ``names`` and ``T``. Raises ArgumentError for other text.
    """
    expected = 'a call with all arguments that have no default, such as "matmul(1024, 1024, 1024)"'
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ArgumentError(f"the call cannot be read: {error.msg}", found=text, expected=expected) from None
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or):
        return tuple(_call(alternative, names, text, expected) for alternative in tree.values)
    return (_call(tree, names, text, expected),)


def _call(tree: ast.expr, names: Mapping[str, Any], text: str, expected: str) -> Call:
    if isinstance(tree, ast.Name):
        hint = f'"{tree.id}()", with its arguments between the brackets; a kernel without arguments has none'
        raise ArgumentError("a call is expected, and this is a name", found=text, expected=hint)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise ArgumentError("the call of one function by its name is expected", found=text, expected=expected)
    if any(isinstance(arg, ast.Starred) for arg in tree.args) or any(k.arg is None for k in tree.keywords):
        raise ArgumentError("the call unpacks arguments with * or **", found=text, expected="each argument written out")
    keywords = [str(keyword.arg) for keyword in tree.keywords]
    repeated = next((name for place, name in enumerate(keywords) if name in keywords[:place]), None)
    if repeated is not None:  # Python refuses it when it compiles the call, not when it parses it
        raise ArgumentError(f"the call gives {repeated} twice", found=text, expected="each argument once")
    args = tuple(_value(arg, names, text) for arg in tree.args)
    kwargs = {str(keyword.arg): _value(keyword.value, names, text) for keyword in tree.keywords}
    return Call(tree.func.id, args, kwargs, ast.unparse(tree))


def _value(node: ast.expr, names: Mapping[str, Any], text: str) -> Any:
    import tilecore.language as T

    try:
        return eval(compile(ast.Expression(node), "--call", "eval"), {"T": T, **names})
    except Exception as error:
        raise ArgumentError(
            f"an argument cannot be evaluated: {error}", found=f"{ast.unparse(node)} in {text}",
            expected="a Python expression of the file's names and T",
        ) from None  # fmt: skip
