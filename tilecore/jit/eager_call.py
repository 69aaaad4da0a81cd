"""What an eager kernel is compiled for: the tensors' types, Python values, and sizes that are given by their names."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tilecore.errors import ArgumentError
from tilecore.language.annotations import TensorType


class _LeftOut:
    """Stands for a parameter that a compilation gets no argument for: its declaration says all of it."""

    def __repr__(self) -> str:
        return "left out"


LEFT_OUT = _LeftOut()


@dataclass(frozen=True)
class EagerCall:
    """One combination to compile for.

    types: by parameter, in the signature's order: a TensorType, the element type of a scalar of the kernel, LEFT_OUT,
    or the value itself. constants: the values of T.const names that were given by keyword.
    """

    types: Mapping[str, Any]
    constants: Mapping[str, int] = field(default_factory=dict)


def split_constants(signature: inspect.Signature, kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """The keyword arguments that are parameters, and those that name a T.const. Raises ArgumentError for a value
    that is no size."""
    parameters = signature.parameters
    if all(name in parameters for name in kwargs) or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(kwargs), {}
    constants: dict[str, int] = {}
    for name, value in kwargs.items():
        if name in parameters:
            continue
        if isinstance(value, bool) or not hasattr(type(value), "__index__") or operator.index(value) < 0:
            raise ArgumentError(
                f"{name}={value!r} is no size, and {name!r} is no parameter",
                expected=f"a whole number from 0 on for a T.const named {name!r}, or one of {', '.join(parameters)}",
            )
        constants[name] = operator.index(value)
    return {name: value for name, value in kwargs.items() if name in parameters}, constants


def bound_arguments(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, whole: bool
) -> dict[str, Any]:
    """The value of every parameter, defaults filled in. whole: a missing one is a TypeError; else it is LEFT_OUT."""
    bind = signature.bind if whole else signature.bind_partial
    bound = bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    return {name: _plain_number(given.get(name, LEFT_OUT)) for name in signature.parameters}


def with_constants(signature: inspect.Signature, kwargs: Mapping[str, Any]) -> inspect.Signature:
    """``signature`` with a keyword-only parameter for each of ``kwargs`` that it lacks: the T.const names of a call."""
    parameters = list(signature.parameters.values())
    names = [name for name in kwargs if name not in signature.parameters]
    if not names or any(p.kind is p.VAR_KEYWORD for p in parameters):
        return signature
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in names]
    return signature.replace(parameters=[*parameters, *more])


def left_out(types: Mapping[str, Any]) -> list[str]:
    """The names of the parameters without an argument."""
    return [name for name, kind in types.items() if kind is LEFT_OUT]


def described(types: Mapping[str, Any], plain: Callable[[Any], Any]) -> dict[str, Any]:
    """The call as plain data, for a cache key. plain: makes that of a tensor's type."""
    return {name: ("left out",) if kind is LEFT_OUT else plain(kind) for name, kind in types.items()}


def gives_tensors(types: Mapping[str, Any]) -> bool:
    """Is every tensor given itself, none by its type or not at all?"""
    return not any(kind is LEFT_OUT or isinstance(kind, TensorType) for kind in types.values())


def _plain_number(value: Any) -> Any:
    """numpy's scalars as Python's: they have a shape and a dtype, but are no tensors."""
    numpy = sys.modules.get("numpy")
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value
