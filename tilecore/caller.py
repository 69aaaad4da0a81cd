"""Where the user's program calls the language outside of a kernel's body: in annotations, decorators and factories."""

from __future__ import annotations

import functools
import inspect
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, TypeVar

from tilecore.errors import LanguageError, Location, UnsupportedError, WrongTypeError
from tilecore.nearest import did_you_mean
from tilecore.signatures import complaint_and_hint, keywords_of, signature_of

_Function = TypeVar("_Function", bound=Callable[..., Any])

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


def building() -> bool:
    """Is a kernel being built in this thread? Its builder knows the place then. Imports no TVM."""
    current = sys.modules.get("tilecore.tracing.current")
    return current is not None and current.active() is not None


def is_own(file: str) -> bool:
    """Is it a file of tilecore, or of the libraries that call back into it for a user?"""
    if file.startswith(_OWN):  # the kernels that tilecore ships are as a user's
        return not file.startswith((f"{_OWN}demo{os.sep}", f"{_OWN}testing{os.sep}"))
    return file.startswith("<frozen") or file.endswith(("/functools.py", "/contextlib.py"))


def place_of_caller() -> Location | None:
    """The expression (before Python 3.11: the line) of the user's program that is being evaluated."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else place_in(frame, frame.f_lasti)


def levels_to_user(through: str = "") -> int:
    """The ``stacklevel`` with which a warning points at the line of the user's program that led to it.

    through: a library that the user calls and that calls tilecore, such as "torch".
    """
    library = getattr(sys.modules.get(through), "__file__", None) if through else None
    folder = os.path.dirname(os.path.abspath(library)) + os.sep if library else os.devnull
    frame: FrameType | None = sys._getframe(1)
    levels = 1
    while frame is not None and (is_own(frame.f_code.co_filename) or frame.f_code.co_filename.startswith(folder)):
        frame, levels = frame.f_back, levels + 1
    return levels


def place_in(frame: FrameType, instruction: int) -> Location:
    """The place of an instruction of a frame."""
    file, line = frame.f_code.co_filename, frame.f_lineno
    if sys.version_info >= (3, 11):
        positions = next((p for i, p in enumerate(frame.f_code.co_positions()) if 2 * i == instruction), (None,) * 4)
        first, last, start, end = positions
        if first is not None and start is not None:
            return Location(file, first, _characters(file, first, start), last, _characters(file, last, end))
    text = linecache.getline(file, line)
    return Location(file, line, len(text) - len(text.lstrip()))


def _characters(file: str, line: int | None, column: int | None) -> int:
    """A column in bytes of UTF-8 as one in characters."""
    if line is None or column is None:
        return 0
    return len(linecache.getline(file, line).encode()[:column].decode(errors="ignore"))


def placed(function: _Function) -> _Function:
    """Decorator of what users call outside of kernels' bodies: its errors point at the call. Those of arguments that do
    not fit are as of :func:`keywords_checked`."""
    return _guarded(function, (LanguageError, UnsupportedError))


def keywords_checked(function: _Function) -> _Function:
    """Decorator of a public function: a call whose arguments do not fit its parameters raises a WrongTypeError that
    points at the call, lists the parameters and offers the nearest name. Other errors stay as they are."""
    return _guarded(function, ())


def _guarded(function: _Function, at_the_call: tuple[type[Exception], ...]) -> _Function:
    """``function``, whose errors of these classes point at the call."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except at_the_call as error:
            at_caller(error)
            raise
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            raise at_caller(_misfit(function, error, kwargs)) from None

    return call  # type: ignore[return-value]


def _misfit(function: Callable[..., Any], error: TypeError, kwargs: Mapping[str, Any]) -> WrongTypeError:
    """The error for a call whose arguments do not fit the parameters. error: what Python says of it."""
    keywords = keywords_of(function)
    complaint, hint = complaint_and_hint(error, keywords)
    if hint is None:  # a function with **options takes a misspelt name for an option, and misses the right one
        unknown = [name for name in kwargs if name not in keywords]
        hint = next((text for name in unknown if (text := did_you_mean(name, keywords))), None)
    name = function.__qualname__.removesuffix(".__init__")
    text = re.sub(r"^[\w.<>]+\(\)", f"{name}()", complaint)
    return WrongTypeError(text, expected=f"{name.rpartition('.')[2]}{without_types(function)}", hint=hint)


def refuse_unknown(call: str, given: Iterable[str], keywords: Sequence[str]) -> None:
    """Raises a WrongTypeError, which lists the keywords, where one that is given is not among them.

    call: the function's name, as in "autotune". It is for functions that pass their ``**options`` on.
    """
    unknown = next((name for name in given if name not in keywords), None)
    if unknown is not None:
        raise at_caller(
            WrongTypeError(
                f"{call}() got an unexpected keyword argument {unknown!r}",
                expected=f"keywords of {call}: {', '.join(keywords)}",
                hint=did_you_mean(unknown, keywords),
            )
        )


def without_types(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function as an error shows them: without their types and without ``self``.

    Raises TypeError or ValueError where Python knows none.
    """
    parameters = signature_of(function).parameters.values()
    return inspect.Signature([p.replace(annotation=inspect.Parameter.empty) for p in parameters if p.name != "self"])


def at_caller(error: Any) -> Any:
    """The error, with the caller's place if it has none and no kernel is being built; returns it."""
    if error.location is None and not building():
        error.at(place_of_caller())
    return error
