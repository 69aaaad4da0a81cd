"""Functions for the names of ``refused_names``: each raises an error that says which chip has it and what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tile_cuda.language.refused_names import REFUSED
from tilecore.errors import UnsupportedError
from tilecore.tracing.current import active


def _refusing(name: str) -> Callable[..., NoReturn]:
    why, instead = REFUSED[name]

    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        builder = active()
        error = UnsupportedError(f"T.{name} {why}", hint=instead)
        raise error if builder is None else error.at(builder.location)

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"Raises UnsupportedError: it {why}. {instead[0].upper()}{instead[1:]}."
    return refused


def __getattr__(name: str) -> Any:
    if name not in REFUSED:
        raise AttributeError(name)
    globals()[name] = _refusing(name)
    return globals()[name]
