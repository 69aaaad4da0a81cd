"""Names that a module had before: they are still found there, with a warning that says the name of today."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any


def former_attributes(module: str, renamed: Mapping[str, tuple[str, Any]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module. renamed: by the former name, the name of today as the warning says it, and what
    it is."""

    def attribute(name: str) -> Any:
        if name not in renamed:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        name_now, value = renamed[name]
        warnings.warn(f"{module}.{name} is {name_now} now", DeprecationWarning, stacklevel=2)
        return value

    return attribute
