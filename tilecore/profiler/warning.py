"""Warnings of the profiler: what a time does not say."""

from __future__ import annotations

import warnings


class ProfilerWarning(UserWarning):
    """A time was measured that does not mean what a reader would take it for."""


def warn_of_simulator(name: str, stacklevel: int) -> None:
    """name: the execution backend."""
    warnings.warn(
        f'the execution backend "{name}" is a simulator on this machine\'s processor: its times compare neither with a '
        "device's nor with those of other targets",
        ProfilerWarning,
        stacklevel=stacklevel + 1,
    )
