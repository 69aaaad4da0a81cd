"""Determines targets by hand: what ``target="auto"`` is on this machine, and a target with all its attributes."""

from __future__ import annotations

from typing import Any

from tilecore.plugins import manager
from tilecore.target import Target


def determine_target(target: Any = "auto", return_object: bool = False) -> str | Target:
    """A target with aliases replaced and every attribute filled in, as a compilation for it would have.

    target: what ``tilecore.compile(target=...)`` takes; "auto" is TILECORE_TARGET, else the target of
    ``with tvm.target.Target(...)``, else the first device that is present, else the processor. return_object: a
    :class:`tilecore.Target` instead of its text. Raises TargetError for a target that does not exist, PluginError where
    its backend does not work.
    """
    _, resolved = manager.resolve(target)
    return resolved if return_object else str(resolved)


def auto_detect_target() -> Target:
    """The target that "auto" is on this machine."""
    return manager.use_default()[1]
