"""Turns exceptions of plugin code into PluginErrors that name the package.

``guarded`` wraps one function of a plugin; ``calling`` wraps a block of tilecore's code that runs plugin code::

    with calling(backend, "pass swizzle_banks"):
        module = edit.apply(module)

tilecore's own errors (a plugin refuses a kernel with UnsupportedError) and KeyboardInterrupt pass unchanged; every
other exception becomes a PluginError with the exception as its cause.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tilecore.contract.origin import Origin, remedy, title
from tilecore.errors import CompilerMissingError, PluginError, TilecoreError

_MACHINERY = ("<frozen ", os.path.dirname(importlib.__file__), os.path.dirname(__file__))
# exceptions that pass unchanged
_INTERRUPTIONS = (KeyboardInterrupt, GeneratorExit, MemoryError)
PASS = (TilecoreError, *_INTERRUPTIONS)


class calling:
    """Context manager: exceptions of the block become PluginErrors of ``origin``. callee: the action, for the message.

    loading: True while the plugin is loaded: then tilecore's own errors become PluginErrors, too, but for one: that the
    compiler, which the plugin needs there, is not installed.
    """

    __slots__ = ("callee", "loading", "origin")

    def __init__(self, origin: Origin, callee: str, *, loading: bool = False) -> None:
        self.origin = origin
        self.callee = callee
        self.loading = loading

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or isinstance(error, (*_INTERRUPTIONS, PluginError, CompilerMissingError)):
            return
        if self.loading or not isinstance(error, TilecoreError):
            raise blame(self.origin, self.callee, error) from error


def guarded(
    origin: Origin, callee: str, function: Callable[..., Any], check: Callable[[Any], Any] | None = None
) -> Any:
    """``function`` with its exceptions as PluginErrors of ``origin``. check: validates and returns the result."""

    def call(*args: Any, **keywords: Any) -> Any:
        try:
            result = function(*args, **keywords)
        except PASS:
            raise
        except BaseException as error:
            raise blame(origin, callee, error) from error
        return result if check is None else check(result)

    call.__wrapped__ = function  # type: ignore[attr-defined]
    call.__name__ = getattr(function, "__name__", "call")
    return call


def blame(origin: Origin, callee: str, error: BaseException) -> PluginError:
    """The PluginError for ``error``, which ``callee`` of the package raised."""
    from tilecore.plugins.former_imports import advice  # for errors only

    where = _last_frame(error)
    return PluginError(
        f"{title(origin)}: {callee} raised {describe(error)}",
        found=f"raised at {where}" if where else None,
        hint=advice(error) or remedy(origin, error),
    )


def describe(error: BaseException) -> str:
    """The exception's type and the first line of its message; a plugin's __str__ may itself be broken."""
    try:
        text = error.message if isinstance(error, TilecoreError) else str(error)
    except Exception:
        text = "(its message cannot be printed)"
    first = str(text).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _last_frame(error: BaseException) -> str:
    """file:line of the innermost frame outside the import machinery and this package; "" when there is none.
    For a SyntaxError the file and line that it names."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    where, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_MACHINERY):
            where = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return where
