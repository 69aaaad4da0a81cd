"""What a function reads besides its arguments, so that its kernels are found only while that is what it was."""

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
    """All that a function, and the functions and classes that it reaches, read from around them: globals, closures,
    defaults, and what is in the lists, dicts, arrays and objects that these lead to, by value."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._state: tuple[str, Watch] | None = None
        self._lock = threading.Lock()
        self._refusals = 0

    def now(self) -> str | None:
        """A digest of it at this moment: equal ones mean equal kernels. None where something is read whose value
        cannot be told, such as an object of a class in C: then nothing that was kept may be used.

        While nothing has changed it costs a look at each place that was read, about 50 ns a place.
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
