"""Writes calls for messages: ``matmul(1024, 1024, dtype='float16')``, tensors by their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_LONGEST = 60  # characters of one argument


def call_text(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """A call on one line, long values cut short."""
    values = [*map(value_text, args), *(f"{key}={value_text(value)}" for key, value in kwargs.items())]
    return f"{name}({', '.join(values)})"


def value_text(value: Any) -> str:
    """An argument on one line, cut short where it is long: element types by name, a tensor as ``float32[64, 32]``."""
    from tilecore.bundles.argument_texts import argument_text, on_one_line  # a warm start writes no message

    text = on_one_line(argument_text(value))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
