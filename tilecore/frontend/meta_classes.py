"""T.meta_class and T.inline: classes whose methods are built into the kernels that call them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from tilecore.caller import placed
from tilecore.errors import LanguageError, WrongTypeError
from tilecore.frontend.function import Macro
from tilecore.frontend.source import parse_function

_C = TypeVar("_C", bound=type)


@placed
def inline(func: Callable[..., Any]) -> Macro:
    """Decorator: a method that is built into the kernel where it is called, as T.macro does it."""
    if not inspect.isfunction(func):
        raise WrongTypeError(
            "T.inline decorates something that is not a function",
            found=type(func).__name__,
            expected="the definition of a method",
        )
    return Macro(func)


@placed
def meta_class(cls: _C) -> _C:
    """Decorator: a class whose instances hold variables of a kernel while it is built. Methods that store to an element
    (``self.index[0] = ...``) become macros, so that their loops and conditions are the kernel's. Other methods, and
    those whose names begin with two underscores, stay as they are."""
    if not isinstance(cls, type):
        raise WrongTypeError(
            "T.meta_class decorates something that is not a class",
            found=type(cls).__name__,
            expected="the definition of a class",
        )
    for name, method in list(vars(cls).items()):
        if not name.startswith("__") and inspect.isfunction(method) and _stores_elements(method):
            setattr(cls, name, Macro(method))
    return cls


def _stores_elements(method: FunctionType) -> bool:
    """Whether the method assigns to a subscript. False where its source is not there."""
    try:
        _, definition = parse_function(method)
    except LanguageError:
        return False
    targets: list[ast.expr] = []
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets.append(node.target)
    return any(isinstance(part, ast.Subscript) for target in targets for part in ast.walk(target))
