"""The calls of an autotuned function: whether their arguments fit, what tells them apart, what was found for them."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tilecore import settings
from tilecore.compilation_cache.key import plain_number
from tilecore.errors import LanguageError
from tilecore.jit.argument_key import Unlike, are_compared, key_of
from tilecore.jit.eager_call import LEFT_OUT, arguments_of, split_constants

if TYPE_CHECKING:
    from tilecore.jit.impl import JITImpl

_Found = TypeVar("_Found")


def bound_call(jit_impl: JITImpl, args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    """The arguments of a call; some may be missing. Raises ArgumentError, as the function itself does, where they do
    not fit its parameters."""
    try:
        return jit_impl.call_signature(kwargs).bind_partial(*args, **kwargs)
    except TypeError:
        named = _without_sizes(jit_impl, kwargs)
        arguments_of(jit_impl.func.__name__, jit_impl.signature, tuple(args), named, whole=False)
        raise


def check_given(jit_impl: JITImpl, args: Sequence[Any], kwargs: Mapping[str, Any], needed: Collection[str]) -> None:
    """Raises ArgumentError, as the function itself does, where the call gives no value to one of these parameters."""
    bound = bound_call(jit_impl, args, kwargs).arguments
    missing = [name for name in required(jit_impl.signature) if name not in bound]
    if any(name in needed for name in missing):
        others = {name: LEFT_OUT for name in missing if name not in needed}
        named = {**_without_sizes(jit_impl, kwargs), **others}
        arguments_of(jit_impl.func.__name__, jit_impl.signature, tuple(args), named)


def check_types(jit_impl: JITImpl, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raises the error of an eager function for a tensor of elements that no kernel has."""
    if jit_impl.mode == "eager":
        jit_impl.parse_cache_key(*args, **kwargs)


def required(signature: inspect.Signature) -> list[str]:
    """The parameters that have no default."""
    star = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, p in signature.parameters.items() if p.default is p.empty and p.kind not in star]


def _without_sizes(jit_impl: JITImpl, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments that are parameters, as T.const sizes of an eager function are not."""
    return split_constants(jit_impl.signature, kwargs)[0] if jit_impl.mode == "eager" else dict(kwargs)


def plain_argument(jit_impl: JITImpl, value: Any) -> Any:
    """The argument as plain data, as far as the kernel depends on it. For an eager function that is the type of a
    tensor; a function that returns its kernel may read all of it. Raises LanguageError for a tensor of elements that
    no kernel has."""
    if jit_impl.mode != "eager":
        return value
    from tilecore.jit.eager import tensor_type  # it is there: the function has been looked at

    number = plain_number(value)
    kind = tensor_type(number)
    if kind is None:
        return number
    strides = () if kind.strides is None else (tuple(kind.strides),)
    return ("tensor", tuple(kind.shape), str(kind.dtype), *strides)


def key_of_call(jit_impl: JITImpl, args: Sequence[Any], kwargs: Mapping[str, Any], ignored: Collection[str]) -> Any:
    """The key in memory: of the arguments, of which of them the call gives (tunables among these are fixed), and of the
    values that the function reads. ignored: parameters whose values do not count."""
    bound = bound_call(jit_impl, args, kwargs)
    given = {name for name, value in bound.arguments.items() if value is not None}
    bound.apply_defaults()
    values = tuple(
        (name, name in given, _key_of(jit_impl, value))
        for name, value in bound.arguments.items()
        if name not in ignored
    )
    return values, jit_impl.state()


def _key_of(jit_impl: JITImpl, value: Any) -> Any:
    try:
        return key_of(plain_argument(jit_impl, value))
    except LanguageError:  # the function says what is wrong with it
        return Unlike(value)


class FoundForCalls(Generic[_Found]):
    """What was found for calls, by their keys. A key of values that cannot be compared is not kept.

    What was found while TILECORE_CACHED_ONLY forbade to compile a configuration is known for as long as it is set.
    """

    def __init__(self) -> None:
        self._found: dict[Any, _Found] = {}
        self._with_refusals: dict[Any, _Found] = {}

    def get(self, key: Any) -> _Found | None:
        found = self._found.get(key)
        if found is None and self._with_refusals and settings.cached_only():
            found = self._with_refusals.get(key)
        return found

    def keep(self, key: Any, found: _Found, *, had_refusals: bool = False) -> None:
        if are_compared(key):
            (self._with_refusals if had_refusals else self._found)[key] = found
