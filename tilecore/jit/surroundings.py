"""Tracks the values that a function reads besides its arguments: cached kernels are used while they are unchanged."""

from __future__ import annotations

import threading
import warnings
from types import FunctionType
from typing import TYPE_CHECKING

from tilecore.caller import levels_to_user
from tilecore.compilation_cache.source.text import NotUnderstoodError
from tilecore.compilation_cache.source_key import function_state

if TYPE_CHECKING:
    from tilecore.compilation_cache.source.watch import Watch


class StateWarning(UserWarning):
    """What a kernel's function reads cannot be compared between calls, so its kernel is built for every call."""


class Surroundings:
    """The values that a function reads besides its arguments: globals, closures and defaults, compared by value.

    They include the contents of lists, dicts, arrays and objects, and what called functions and classes read."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._state: tuple[str, Watch] | None = None
        self._lock = threading.Lock()
        self._refusals = 0

    def now(self) -> str | None:
        """A digest of the values now: equal digests mean equal kernels.

        None if a value cannot be described, such as an object of a class written in C: then no cached kernel is used.
        While nothing has changed, the digest costs about 50 ns for each value that is read.
        """
        state = self._state
        if state is not None and state[1].holds():
            return state[0]
        try:
            state = self._state = function_state(self._function)
        except NotUnderstoodError as error:
            self._state = None
            self._refuse(str(error))
            return None
        return state[0]

    def _refuse(self, reason: str) -> None:
        """Say why, once, when it happens a second time: only then is something built again."""
        with self._lock:
            self._refusals += 1
            if self._refusals != 2:
                return
        warnings.warn(
            f"{self._function.__qualname__} is built anew for every call, which takes milliseconds: {reason}. Pass "
            "what it reads as an argument, or read plain numbers, texts, lists, dicts and arrays",
            StateWarning,
            stacklevel=levels_to_user(),
        )
