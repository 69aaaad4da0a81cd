"""Defines the warnings of the profiler about misleading times."""

from __future__ import annotations

import warnings

from tilecore.caller import levels_to_user


class ProfilerWarning(UserWarning):
    """A measured time does not mean what a reader would expect."""


# what TileLang's do_bench has besides "event": the times of kernels alone
CLOCKS_ELSEWHERE = ("cupti", "cudagraph")


def available_clock(backend: str) -> str:
    """The name of the clock that do_bench uses for ``backend``; a warning says so where it is another one."""
    if backend not in CLOCKS_ELSEWHERE:
        return backend
    warnings.warn(
        f'backend="{backend}" is not there: times are measured as by backend="event", and include the time of a launch '
        "where the device waits for it",
        ProfilerWarning,
        stacklevel=levels_to_user(),
    )
    return "event"


def warn_of_simulator(name: str) -> None:
    """name: the execution backend."""
    warnings.warn(
        f'the execution backend "{name}" is a simulator on this machine\'s processor: its times compare neither with a '
        "device's nor with those of other targets",
        ProfilerWarning,
        stacklevel=levels_to_user(),
    )
