"""Describes the calls of eager kernels: the tensors' types, Python values, and sizes passed by name."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from tilecore.errors import ArgumentError
from tilecore.language.annotations import TensorType
from tilecore.signatures import complaint_and_hint, keywords_of


class _LeftOut:
    """Stands for a parameter that a compilation gets no argument for: its declaration says all of it."""

    def __repr__(self) -> str:
        return "left out"


LEFT_OUT = _LeftOut()
POINTER = "T.ptr"  # in place of the argument of a parameter that is annotated so


@dataclass(frozen=True)
class EagerCall:
    """One combination to compile for.

    types: by parameter, in the signature's order: a TensorType, the element type of a scalar of the kernel, LEFT_OUT,
    or the value itself. constants: the values of T.const names that were given by keyword.
    """

    types: Mapping[str, Any]
    constants: Mapping[str, int] = field(default_factory=dict)

    def given(self) -> dict[str, Any]:
        """The arguments, without those that are left out, and the sizes."""
        return {**{name: kind for name, kind in self.types.items() if kind is not LEFT_OUT}, **self.constants}


def split_constants(signature: inspect.Signature, kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """The keyword arguments that are parameters, and those that name a T.const. Raises ArgumentError for a value
    that is no size."""
    parameters = signature.parameters
    if all(name in parameters for name in kwargs):
        return dict(kwargs), {}
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        others = {name: value for name, value in kwargs.items() if name not in parameters and _is_size(value)}
        return dict(kwargs), {name: operator.index(value) for name, value in others.items()}
    constants: dict[str, int] = {}
    for name, value in kwargs.items():
        if name in parameters:
            continue
        if not _is_size(value):
            raise ArgumentError(
                f"{name}={_short_type(value)} is no size, and {name!r} is no parameter",
                expected=f"a whole number from 0 on for a T.const named {name!r}, or one of {', '.join(parameters)}",
            )
        constants[name] = operator.index(value)
    return {name: value for name, value in kwargs.items() if name in parameters}, constants


def _is_size(value: Any) -> bool:
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        return False
    try:
        return operator.index(value) >= 0
    except TypeError:  # a tensor of several elements
        return False


def bound_arguments(
    name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, whole: bool
) -> dict[str, Any]:
    """The value of every parameter, defaults filled in. whole: a missing one is an ArgumentError; else LEFT_OUT."""
    arguments = arguments_of(name, signature, args, kwargs, whole=whole).arguments
    return {name: _plain_number(arguments.get(name, LEFT_OUT)) for name in signature.parameters}


def arguments_of(
    name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, whole: bool = True
) -> inspect.BoundArguments:
    """The arguments of a call of ``name``, defaults filled in. Raises ArgumentError where they do not fit the
    parameters; with whole=False some may be missing."""
    try:
        bound = (signature.bind if whole else signature.bind_partial)(*args, **kwargs)
    except TypeError as error:
        arg_types = [
            *(_short_type(value) for value in args),
            *(f"{n}={_short_type(v)}" for n, v in kwargs.items()),
        ]
        parameters = signature.replace(
            parameters=[p.replace(annotation=p.empty) for p in signature.parameters.values()],
            return_annotation=signature.empty,
        )
        complaint, hint = complaint_and_hint(error, keywords_of(signature))
        raise ArgumentError(
            f"{name}(): {(_missing(signature, args, kwargs) if whole else None) or complaint}",
            found=f"{name}({', '.join(arg_types)})",
            expected=f"{name}{parameters}",
            hint=hint,
        ) from None
    bound.apply_defaults()
    return bound


def _missing(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
    """Which arguments are missing; None where the call does not fit in another way."""
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        return None
    star = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [n for n, p in signature.parameters.items() if p.default is p.empty and p.kind not in star]
    left = [n for n in names if n not in bound]
    if not left:
        return None
    return f"{'an argument is' if len(left) == 1 else 'arguments are'} missing: {', '.join(left)}"


def _short_type(value: Any) -> str:
    """A tensor by its type and shape; other values as they are, long ones cut short."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, (tuple, list)) and not isinstance(value, type):
        return f"{type(value).__name__} of shape {tuple(shape)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else text[:37] + "..."


def with_constants(signature: inspect.Signature, kwargs: Mapping[str, Any]) -> inspect.Signature:
    """``signature`` with a keyword-only parameter for each of ``kwargs`` that it lacks: the T.const names of a call."""
    parameters = list(signature.parameters.values())
    names = [name for name in kwargs if name not in signature.parameters]
    if not names or any(p.kind is p.VAR_KEYWORD for p in parameters):
        return signature
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in names]
    return signature.replace(parameters=[*parameters, *more])


def takes_any_name(function: FunctionType) -> bool:
    """Has the function a parameter such as ``**options``?"""
    return bool(function.__code__.co_flags & inspect.CO_VARKEYWORDS)


def expanded(function: FunctionType, values: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of a run of the function: the content of ``**options`` instead of its dict."""
    if not takes_any_name(function):
        return dict(values)
    *others, (_, options) = values.items()  # it is the last parameter
    return {**dict(others), **(options if isinstance(options, Mapping) else {})}


def left_out(types: Mapping[str, Any]) -> list[str]:
    """The names of the parameters without an argument."""
    return [name for name, kind in types.items() if kind is LEFT_OUT]


def described(types: Mapping[str, Any], plain: Callable[[Any], Any]) -> dict[str, Any]:
    """The call as plain data, for a cache key. plain: makes that of a tensor's type."""
    return {name: ("left out",) if kind is LEFT_OUT else plain(kind) for name, kind in types.items()}


def gives_tensors(types: Mapping[str, Any]) -> bool:
    """Whether the call passes every tensor itself, not its type, and leaves none out."""
    return not any(kind is LEFT_OUT or isinstance(kind, TensorType) for kind in types.values())


def _plain_number(value: Any) -> Any:
    """numpy's scalars as Python's: they have a shape and a dtype, but are no tensors."""
    numpy = sys.modules.get("numpy")
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value
