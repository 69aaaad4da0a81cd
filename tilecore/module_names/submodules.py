"""Attributes of a package whose submodules are no files (``tilecore/plugins/module_finder.py``): they are imported
when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def submodules_of(package: str, names: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: its submodules, and names of other modules; for another name an AttributeError
    that says what is known of it. names: the module of each name."""

    def attribute(name: str) -> Any:
        if name in (names or {}):
            return getattr(import_module((names or {})[name]), name)
        reason = f"module {package!r} has no attribute {name!r}"
        if not name.startswith("_"):
            try:
                return import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
            except ImportError as error:
                reason = str(error)
        raise AttributeError(reason)

    return attribute
