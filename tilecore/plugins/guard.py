"""The guard between tilecore and a plugin's code: whatever goes wrong there is reported with the package's name.

``guarded`` wraps one function of a plugin; ``calling`` covers a stretch of tilecore's code that runs plugin code::

    with calling(backend, "pass swizzle_banks"):
        module = edit.apply(module)

tilecore's own errors (a plugin refuses a kernel with UnsupportedError) pass as they are, and so does
KeyboardInterrupt; everything else becomes a PluginError, its cause kept.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tilecore.contract.origin import Origin, remedy, title
from tilecore.errors import PluginError, TilecoreError

_MACHINERY = ("<frozen ", os.path.dirname(importlib.__file__), os.path.dirname(__file__))
# What the guard lets through as it is.
PASS = (TilecoreError, KeyboardInterrupt, GeneratorExit, MemoryError)


class calling:
    """Context manager: errors of the block are blamed on ``origin``; ``what`` says what it was doing.

    loading: True while the plugin is being loaded, when tilecore's own errors are the package's fault as well.
    """

    __slots__ = ("loading", "origin", "what")

    def __init__(self, origin: Origin, what: str, *, loading: bool = False) -> None:
        self.origin = origin
        self.what = what
        self.loading = loading

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or isinstance(error, (KeyboardInterrupt, GeneratorExit, MemoryError, PluginError)):
            return
        if self.loading or not isinstance(error, TilecoreError):
            raise blame(self.origin, self.what, error) from error


def guarded(origin: Origin, what: str, function: Callable[..., Any], check: Callable[[Any], Any] | None = None) -> Any:
    """``function`` with its errors blamed on ``origin``; ``check(result)`` may raise and gives the final result."""

    def call(*args: Any, **keywords: Any) -> Any:
        try:
            result = function(*args, **keywords)
        except PASS:
            raise
        except BaseException as error:
            raise blame(origin, what, error) from error
        return result if check is None else check(result)

    call.__wrapped__ = function  # type: ignore[attr-defined]
    call.__name__ = getattr(function, "__name__", "call")
    return call


def blame(origin: Origin, what: str, error: BaseException) -> PluginError:
    """The PluginError for ``error``, raised by ``what`` of this package."""
    where = _last_frame(error)
    return PluginError(
        f"{title(origin)}: {what} raised {describe(error)}",
        found=f"raised at {where}" if where else None,
        hint=remedy(origin, error),
    )


def describe(error: BaseException) -> str:
    """Type and first line of the message; a plugin's __str__ may itself be broken."""
    try:
        text = error.message if isinstance(error, TilecoreError) else str(error)
    except Exception:
        text = "(its message cannot be printed)"
    first = str(text).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _last_frame(error: BaseException) -> str:
    """file:line of the innermost frame outside the import machinery and this package; "" when there is none.
    A SyntaxError tells its own."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    where, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(_MACHINERY):
            where = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return where
