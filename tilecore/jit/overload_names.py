"""The names of the overloads of an operation of torch that is registered for each combination of Python values."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from tilecore.bundles.argument_texts import argument_text, text_with_contents
from tilecore.compilation_cache.current import disk_cache
from tilecore.compilation_cache.source.text import NotUnderstoodError
from tilecore.compilation_cache.source.values import description

_LONGEST = 60
_IN_NUMBERS = str.maketrans({"-": "m", ".": "p", "+": None})


def overload_name(values: Mapping[str, Any]) -> str:
    """The name for the values of all parameters, defaults too: ``M64_scale0p5``; "v" and a digest where a value spells
    no word, or the name would be longer than 60 characters. It is the same in every process."""
    words = [f"{name}{_word(value)}" for name, value in values.items()]
    text = "_".join(words)
    if re.fullmatch(r"\w{1,60}", text, re.ASCII) and len(text) <= _LONGEST:
        return text
    content = b"".join(f"{name}=".encode() + _content(value) + b"\n" for name, value in sorted(values.items()))
    return "v" + hashlib.sha256(content).hexdigest()[:16]


def _word(value: Any) -> str:
    """The value as it stands in a name: of numbers m is the minus sign and p the decimal point."""
    text = argument_text(value)
    if re.fullmatch(r"[-+.\w]+", text, re.ASCII):
        return text.translate(_IN_NUMBERS)
    return text[1:-1] if text[:1] == text[-1:] == "'" else text


def _content(value: Any) -> bytes:
    """Equal for equal values, whichever process asks."""
    try:
        return description(value, disk_cache)
    except (NotUnderstoodError, RecursionError):
        return text_with_contents(value).encode()
