"""Formats the package of a backend for errors, and what the user can do about them."""

from __future__ import annotations

from typing import Protocol

from pluggy import PluginValidationError


class Origin(Protocol):
    """A Backend or an entry point of a package."""

    @property
    def kind(self) -> str: ...
    @property
    def package(self) -> str: ...
    @property
    def version(self) -> str: ...


def title(origin: Origin) -> str:
    version = f" {origin.version}" if origin.version else ""
    return f'target "{origin.kind}" (package {origin.package}{version})'


def remedy(origin: Origin, error: BaseException | None = None) -> str:
    """What the user can do about a faulty package, as text."""
    steps = []
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("tilecore"):
        steps.append(f"install the package of the module {error.name!r}")
    if error is not None and _needs_newer_tilecore(error):
        steps.append("the package may be written for a newer tilecore (pip install --upgrade tilecore)")
    steps.append(f"upgrade it (pip install --upgrade {origin.package})")
    if origin.package != "tilecore":
        steps.append(f"or remove it (pip uninstall {origin.package})")
    return ", ".join(steps) + "; other targets are not affected; `tilecore doctor` shows more"


def _needs_newer_tilecore(error: BaseException) -> bool:
    """Whether the plugin seems to use a field, module or name that this version of tilecore does not have."""
    if isinstance(error, TypeError):
        return "unexpected keyword argument" in str(error)
    of_tilecore = isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "tilecore"
    return of_tilecore or (isinstance(error, PluginValidationError) and "unknown hook" in str(error))
