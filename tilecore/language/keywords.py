"""Second names of parameters: functions of the language have TileLang's, and take those of earlier versions, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def also_named(**names: str) -> Callable[[_Function], _Function]:
    """A decorator: ``also_named(src_lane="srcLane")`` lets a call name the parameter ``srcLane`` as ``src_lane``.

    Giving a parameter by both names is a TypeError, as giving it twice is in Python.
    """

    def decorate(function: _Function) -> _Function:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs.keys() & names.keys():
                if names[name] in kwargs:
                    raise TypeError(f"{function.__name__}() got {names[name]!r} twice, also as {name!r}")
                kwargs[names[name]] = kwargs.pop(name)
            return function(*args, **kwargs)

        call.__dict__["also_named"] = names
        return call  # type: ignore[return-value]

    return decorate
