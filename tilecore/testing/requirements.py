"""Decorators that skip a test, with the reason, when what it needs is not here."""

from __future__ import annotations

import functools
import importlib.util
import operator
import re
from collections.abc import Callable
from typing import Any

from tilecore.errors import ArgumentError, PluginError, TargetError

SUPPORT = ("compile-and-run", "compile-only", "optional")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
    "eq": operator.eq,
    "ne": operator.ne,
}
_VERSION = re.compile(r"(?P<kind>.+)_compute_version(?:_(?P<mode>ge|gt|le|lt|eq|ne))?$")


class Requirement:
    """A decorator of tests and test classes: it gives them pytest's mark ``skipif``, with the reason.

    ``@requirement``, ``@requirement()`` and ``@requirement(support_required="compile-only")`` work alike; the last
    asks for no device, and "optional" for nothing. ``marks()`` gives the marks for ``pytest.param``. A test that is
    called without pytest is not skipped.
    missing: why it cannot be met, given support_required, or None. It is asked when a test is decorated.
    """

    def __init__(self, name: str, missing: Callable[[str], str | None]) -> None:
        self.__name__ = name
        self.missing = missing

    def __call__(self, func: Any = None, *, support_required: str = "compile-and-run") -> Any:
        if support_required not in SUPPORT:
            raise ArgumentError(
                f"{self.__name__}: support_required={support_required!r}", expected=", ".join(map(repr, SUPPORT))
            )
        if func is None:
            return functools.partial(self, support_required=support_required)
        for mark in self.marks(support_required) if _importable("pytest") else ():
            func = mark(func)
        return func

    def marks(self, support_required: str = "compile-and-run") -> list[Any]:
        """Marks that do the same."""
        import pytest

        reason = None if support_required == "optional" else self.missing(support_required)
        return [pytest.mark.skipif(reason is not None, reason=reason or "")]

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


def requirement(name: str) -> Any:
    """What ``tilecore.testing.<name>`` is, for a name that begins with ``requires_``.

    ``requires_<kind>``: a Requirement; ``requires_<kind>_or_<kind>``: one that any of the two meets;
    ``requires_<kind>_compute_version``: a function (major, minor=0, mode="ge") that gives a Requirement on the
    device's architecture; with ``_ge``, ``_gt``, ``_le``, ``_lt``, ``_eq`` or ``_ne`` appended, of (major, minor=0).
    """
    kind = name.removeprefix("requires_")
    version = _VERSION.match(kind)
    if version is not None:
        return _version_requirement(name, version["kind"], version["mode"])
    kinds = kind.split("_or_")

    def missing(support_required: str) -> str | None:
        reasons = [missing_target(kind, support_required) for kind in kinds]
        return None if None in reasons else "; ".join(map(str, reasons))

    return Requirement(name, missing)


def missing_target(kind: str, support_required: str = "compile-and-run") -> str | None:
    """Why tests of a target cannot run here; None when they can.

    Its backend must be installed and work and, unless support_required is "compile-only", its device must be here.
    With TILECORE_SIMULATE the target's simulated device will do.
    """
    from tilecore import settings
    from tilecore.contract.adapter import SIMULATED
    from tilecore.plugins import manager

    try:
        backend, target = manager.resolve(kind)
    except TargetError:
        return f"no installed backend offers the target {kind!r}"
    except PluginError as error:
        return f"the backend of {kind!r} is broken: {error.message}"
    if support_required == "compile-only":
        return None
    simulated = backend.adapters.get(SIMULATED)
    if settings.simulate() and simulated is not None and simulated.available(target).present:
        return None
    presence = backend.target.detect()
    return None if presence.present else f"no {kind} device is here: {presence.detail}"


def architecture_version(kind: str) -> tuple[int, int] | None:
    """(major, minor) of the device's architecture, from the target's ``arch``: its first number, whose last digit is
    the minor version unless a dot separates the two. None when there is no number."""
    from tilecore.plugins import manager

    _, target = manager.resolve(kind)
    match = re.search(r"(\d+)(?:\.(\d+))?", str(target.get("arch", "")))
    if match is None:
        return None
    if match[2] is not None:
        return int(match[1]), int(match[2])
    return divmod(int(match[1]), 10)


def _version_requirement(name: str, kind: str, mode: str | None) -> Any:
    def make(major_version: int, minor_version: int = 0, mode: str = mode or "ge") -> Requirement:
        if mode not in _COMPARE:
            raise ArgumentError(f"{name}: mode={mode!r}", expected=", ".join(_COMPARE))
        required_version = (major_version, minor_version)
        needed = f"compute {mode} {major_version}.{minor_version} is needed"

        def missing(support_required: str) -> str | None:
            reason = missing_target(kind, support_required)
            if reason is not None:
                return f"{needed}: {reason}"
            version = architecture_version(kind)
            if version is None:
                return f"{needed}: the architecture of the {kind} device is not known"
            if _COMPARE[mode](version, required_version):
                return None
            return f"{needed}: the {kind} device has version {version[0]}.{version[1]}"

        return Requirement(f"{name}({major_version}, {minor_version})", missing)

    make.__name__ = name
    return make


def requires_package(*packages: str) -> Requirement:
    """A Requirement: all of these modules can be imported (they are not)."""

    def missing(support_required: str) -> str | None:
        absent = [package for package in packages if not _importable(package)]
        return f"not installed: {', '.join(absent)}" if absent else None

    return Requirement(f"requires_package({', '.join(packages)})", missing)


def _importable(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False
