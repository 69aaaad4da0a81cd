"""Finds what was made for a call by its arguments as they were passed, without binding them to parameters.

It stands before the caches that bind, normalize and describe the arguments, which takes tens of microseconds. A call
that it does not know, or whose arguments it does not understand, goes to those, which decide what is the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from tilecore.dtypes import dtype

_MOST = 4096  # calls; then all are forgotten
_BY_VALUE = (int, float, str, bytes, bool, type(None), dtype)
_NUMBERS = frozenset({int, float, bool})
_Result = TypeVar("_Result")


def _tensor_of_torch(value: Any) -> tuple[Any, ...]:
    return value.shape, value.dtype, value.stride()


def _array_of_numpy(value: Any) -> tuple[Any, ...]:
    return value.shape, value.dtype, value.strides


class CallCache(Generic[_Result]):
    """What was made for calls of a function, by the arguments and by a token for the values that the function reads.

    Arguments are compared with their types: numbers, texts, tilecore's and torch's element types by value.

    scalars: the positions and the names of parameters whose numbers do not matter. by_type: tensors of torch and arrays
    of numpy are compared by shape, element type and strides; else a call with one is not kept, as its elements matter.
    """

    def __init__(self, scalars: Iterable[int | str] = (), by_type: bool = False) -> None:
        self._results: dict[Any, tuple[Any, _Result]] = {}
        self._scalars = frozenset(scalars)
        self._by_type = by_type
        # by type, what is compared of a value; None for the value itself
        self._readers: dict[type, Callable[[Any], tuple[Any, ...]] | None] = dict.fromkeys(_BY_VALUE)

    def get(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], token: Any) -> _Result | None:
        """The result for a call; None where it is not known, or was made when ``token`` was another."""
        try:
            found = self._results.get(self._key(args, kwargs))
        except (KeyError, TypeError):  # a type without a reader; a value that cannot be hashed
            return None
        return found[1] if found is not None and found[0] == token else None

    def clear(self) -> None:
        """Forgets all calls."""
        self._results.clear()

    def put(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], token: Any, result: _Result) -> None:
        """Keeps a result, if all arguments are of types that are compared."""
        try:
            for place, value in (*enumerate(args), *kwargs.items()):
                self._learn(value)
                if type(value) is float and value == 0 and place not in self._scalars:  # 0.0 equals -0.0
                    return
            key = self._key(args, kwargs)
            if len(self._results) >= _MOST:
                self._results.clear()
            self._results[key] = token, result
        except (KeyError, TypeError):
            return

    def _key(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Raises KeyError for a value of a type that is not compared."""
        readers, scalars = self._readers, self._scalars
        key: list[Any] = [len(args), *kwargs] if kwargs else []
        for place, value in (*enumerate(args), *kwargs.items()) if kwargs else enumerate(args):
            kind = type(value)
            if place in scalars:
                if kind not in _NUMBERS:
                    raise KeyError(kind)
                key.append(None)
                continue
            reader = readers[kind]
            key.append(kind)
            key.append(value if reader is None else reader(value))
        return tuple(key)

    def _learn(self, value: Any) -> None:
        """Learns how values of this type are compared, if they are."""
        kind, torch, numpy = type(value), sys.modules.get("torch"), sys.modules.get("numpy")
        if torch is not None and kind is torch.dtype:
            self._readers[kind] = None
        elif self._by_type and torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
            self._readers[kind] = _tensor_of_torch
        elif self._by_type and numpy is not None and kind is numpy.ndarray:
            self._readers[kind] = _array_of_numpy
