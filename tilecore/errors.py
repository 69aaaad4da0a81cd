"""Defines tilecore's errors and the source locations that they point at.

An error says where (file, line, caret), what was found, what was expected and what to do.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True)
class Location:
    """A span of the user's source. Lines are 1-based; columns are 0-based character offsets; the end is exclusive."""

    file: str
    line: int
    column: int = 0
    end_line: int | None = None
    end_column: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"

    def excerpt(self) -> str:
        """The source line with carets under the span; empty when the file cannot be read."""
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text.strip():
            return ""
        one_line = self.end_line in (None, self.line)
        stop = self.end_column if one_line and self.end_column else len(text)
        width = max(1, min(stop, len(text)) - self.column)
        gutter = " " * len(str(self.line))
        return f"{gutter} |\n{self.line} | {text}\n{gutter} | {' ' * self.column}{'^' * width}"


_Error = TypeVar("_Error", bound="TilecoreError")


class TilecoreError(Exception):
    """Base of all of tilecore's errors.

    Parameters
    ----------
    message: the fault, in one sentence.
    location: the place in the user's source, when known.
    found, expected, hint: further lines of the report; each may be left out.
    """

    def __init__(
        self,
        message: str,
        *,
        location: Location | None = None,
        found: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.found = found
        self.expected = expected
        self.hint = hint

    def at(self: _Error, location: Location | None) -> _Error:
        """Set the location unless the error has one; returns self."""
        if self.location is None:
            self.location = location
        return self

    def __str__(self) -> str:
        lines = [self.message]
        if self.location is not None:
            lines.append(f"  --> {self.location}")
            excerpt = self.location.excerpt()
            if excerpt:
                lines.append(excerpt)
        for label, text in (("found", self.found), ("expected", self.expected), ("help", self.hint)):
            if text:
                lines.append(f"  = {label}: {text}")
        return "\n".join(lines)

    def __reduce__(self):
        facts = {"location": self.location, "found": self.found, "expected": self.expected, "hint": self.hint}
        return _rebuild, (type(self), self.message, facts)


def _rebuild(kind: type[TilecoreError], message: str, facts: dict) -> TilecoreError:
    error = kind.__new__(kind)
    TilecoreError.__init__(error, message, **facts)
    return error


class LanguageError(TilecoreError, ValueError):
    """The kernel's source is not valid: wrong names, types, shapes, scopes or arguments.

    It is a ValueError, which TileLang raises for most of these faults. A subclass is raised where Python and TileLang
    have a more exact class for the fault, so that programs that expect that class catch it.
    """


class WrongTypeError(LanguageError, TypeError):
    """An operation of the language was applied to a value of a type that it is not defined for."""


class WrongIndexError(LanguageError, IndexError):
    """An index, an axis or a lane that does not exist."""


class FailedAssertError(LanguageError, AssertionError):
    """An assertion about the source that does not hold: an `assert` of the user's, or one that TileLang makes."""


class UnsupportedError(TilecoreError, NotImplementedError):
    """The kernel is valid, but the target or this release does not support an operation in it."""


class WrongTargetError(UnsupportedError, ValueError):
    """The kernel uses a name of the language that another target, or another architecture of the target, has."""


class LimitError(UnsupportedError):
    """The kernel needs more of a resource (memory, threads) than the target has."""


class LoweringError(TilecoreError, RuntimeError):
    """A pass received an invalid intermediate representation."""


class ArgumentError(TilecoreError, TypeError, ValueError):
    """A kernel was called with an argument that does not fit its parameter."""


class TargetError(TilecoreError, ValueError):
    """The target does not exist, or one of its attributes is wrong."""


class PluginError(TilecoreError, RuntimeError):
    """An installed backend package is broken or clashes with another one; the message names the package."""


class ToolchainError(TilecoreError, RuntimeError):
    """A compiler or library of the target's toolchain is missing or failed."""


class LaunchError(TilecoreError, RuntimeError):
    """The kernel could not be launched, or failed while running."""


class OtherDeviceError(LaunchError):
    """The kernel was compiled for another kind of device than the one here. It can be inspected and exported."""


class CompilerMissingError(TilecoreError, ImportError):
    """A part of the compiler is needed, and only tilecore-runtime is installed: pip install tilecore."""


class CacheError(TilecoreError, OSError):
    """The kernel cache cannot be read or written."""


class InterpreterError(TilecoreError):
    """The interpreter found that a kernel violates a rule of the language."""


class OutOfBoundsError(InterpreterError, IndexError):
    """An access outside its buffer."""


class UninitialisedReadError(InterpreterError):
    """A read of an element that was not written before."""


class RaceError(InterpreterError):
    """Two iterations of a T.Parallel loop access one element, and at least one of them writes it."""


class DeviceAssertError(InterpreterError, AssertionError):
    """The condition of a T.device_assert was false."""


class AutotuneError(TilecoreError, RuntimeError):
    """No configuration of a search compiled, ran and gave a correct result."""


class MissingInputsError(AutotuneError, ValueError):
    """A search has to run a kernel with numbers that only the user knows."""


class WrongConfigurationsError(AutotuneError, ValueError):
    """The configurations that the user wrote do not fit the function, or there are none."""
