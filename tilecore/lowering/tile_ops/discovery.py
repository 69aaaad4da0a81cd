"""Collects the implementations of tile operations from the modules of a package."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from tilecore.contract.implementation import TileOpImpl


def implementations_in(package: ModuleType) -> tuple[TileOpImpl, ...]:
    """The ``IMPLEMENTATIONS`` of all modules of a package that have some."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."))
    modules = [importlib.import_module(name) for name in names]
    return tuple(impl for module in modules for impl in getattr(module, "IMPLEMENTATIONS", ()))
