"""Chooses the launcher: the built extension, or the Python launcher where the extension was not built.

``TILECORE_PURE_PYTHON=1`` forces the Python launcher.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tilecore.runtime.call_plan import INTERFACE

__all__ = ["Launcher", "built", "call_in_c"]


def _choose() -> tuple[Any, bool, str]:
    """(launcher class, whether it is the built one, reason)."""
    from tilecore import settings
    from tilecore.runtime import launcher_py

    if settings.pure_python():
        return launcher_py.Launcher, False, "TILECORE_PURE_PYTHON is set"
    try:
        from tilecore.runtime import _launcher  # type: ignore[attr-defined]
    except ImportError as error:
        reason = (
            f"the extension tilecore.runtime._launcher is not built ({error}): run python setup.py build_ext --inplace"
        )
        _note(reason)
        return launcher_py.Launcher, False, reason
    if _launcher.INTERFACE != INTERFACE:
        reason = "the extension tilecore.runtime._launcher has another version: run python setup.py build_ext --inplace"
        _note(reason)
        return launcher_py.Launcher, False, reason
    return _launcher.Launcher, True, f"built: {_launcher.__file__}"


def _note(reason: str) -> None:
    from tilecore import settings

    try:
        verbose = settings.verbose() or settings.debug() >= 1
    except settings.SettingError:  # reported where the setting is needed
        return
    if verbose:
        print(f"tilecore: the slower launcher in Python is used: {reason}", file=sys.stderr)


_chosen, _built, _reason = _choose()

if TYPE_CHECKING:
    from tilecore.runtime.launcher_py import Launcher as Launcher
else:
    Launcher = _chosen


def call_in_c(cls: Any) -> Any:
    """A class decorator: calls of objects of the class, a subclass of Launcher, go straight to the built launcher,
    although the class defines ``__call__`` in Python, for those who look at the class."""
    if _built:
        from tilecore.runtime import _launcher  # type: ignore[attr-defined]

        return _launcher.call_in_c(cls)
    return cls


def built() -> tuple[bool, str]:
    """(whether the built launcher is in use, its file or the reason why it is not used)."""
    return _built, _reason
