"""Converts values of hints and annotations to plain data for the IR, with the same text in every process."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import tvm_ffi


def plain_values(values: Mapping[Any, Any] | None) -> dict[str, Any]:
    """Hints by name, without those that are None or False. Raises LanguageError for values that are not plain data."""
    settings = {str(key): value for key, value in (values or {}).items() if value is not None and value is not False}
    return {key: _plain(key, value) for key, value in settings.items()}


def _plain(key: str, value: Any) -> Any:
    if hasattr(value, "to_ir"):  # a layout of tilecore.language.layouts
        return value.to_ir()
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, (str, tvm_ffi.Object)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(key, item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(key, item) for name, item in value.items()}
    raise LanguageError(
        f"the annotation {key!r} is a {type(value).__name__}",
        found=repr(value)[:80],
        expected="a number, a string, a layout, or lists and dicts of these",
    )
