"""Writes calls for messages: ``matmul(1024, 1024, dtype='float16')``, tensors by their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_LONGEST = 60  # characters of one argument


def call_text(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """A call on one line, long values cut short."""
    return f"{name}({', '.join(argument_list(args, kwargs))})"


def argument_list(
    args: Sequence[Any], kwargs: Mapping[str, Any], text_of: Callable[[Any], str] | None = None
) -> list[str]:
    """The arguments of a call as they are written: ``["1024", "dtype='float16'"]``. text_of: writes a value; without it
    :func:`value_text` does."""
    text = text_of or value_text
    return [*map(text, args), *(f"{name}={text(value)}" for name, value in kwargs.items())]


def value_text(value: Any) -> str:
    """An argument on one line, cut short where it is long: element types by name, a tensor as ``float32[64, 32]``."""
    from tilecore.bundles.argument_texts import argument_text, on_one_line  # a warm start writes no message

    text = on_one_line(argument_text(value))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
