"""Whose code it is: the package of a backend, as errors name it, and what its user can do."""

from __future__ import annotations

from typing import Protocol

from pluggy import PluginValidationError


class Origin(Protocol):
    """A Backend or an entry of the discovery."""

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
    """What the user can do."""
    steps = []
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("tilecore"):
        steps.append(f"install what provides the module {error.name!r}")
    if error is not None and _asks_for_more(error):
        steps.append("the package may be written for a newer tilecore (pip install --upgrade tilecore)")
    steps.append(f"upgrade it (pip install --upgrade {origin.package})")
    if origin.package != "tilecore":
        steps.append(f"or remove it (pip uninstall {origin.package})")
    return ", ".join(steps) + "; other targets are not affected; `tilecore doctor` shows more"


def _asks_for_more(error: BaseException) -> bool:
    """Does it look as if the plugin uses what this tilecore does not have: a field, a module or a name in one?"""
    if isinstance(error, TypeError):
        return "unexpected keyword argument" in str(error)
    of_tilecore = isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "tilecore"
    return of_tilecore or (isinstance(error, PluginValidationError) and "unknown hook" in str(error))
