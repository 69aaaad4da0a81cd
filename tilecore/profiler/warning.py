"""Defines the warnings of the profiler about misleading times."""

from __future__ import annotations

import warnings


class ProfilerWarning(UserWarning):
    """A measured time does not mean what a reader would expect."""


def warn_of_simulator(name: str, stacklevel: int) -> None:
    """name: the execution backend."""
    warnings.warn(
        f'the execution backend "{name}" is a simulator on this machine\'s processor: its times compare neither with a '
        "device's nor with those of other targets",
        ProfilerWarning,
        stacklevel=stacklevel + 1,
    )
