"""Attributes of a package whose submodules are no files (``tilecore/plugins/module_finder.py``): they are imported
when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def submodules_of(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: its submodules; for another name an AttributeError that says what is known of
    it."""

    def attribute(name: str) -> Any:
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
