"""Reads the values of environment variables from their texts; every function raises ValueError for a wrong one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable


def flag(text: str) -> bool:
    lowered = text.lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("0", "false", "no", "off"):
        return False
    raise ValueError(text)


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text)
        if value < least or (most is not None and value > most):
            raise ValueError(text)
        return value

    return parse


def names(*legal: str) -> Callable[[str], tuple[str, ...]]:
    """Some of these names, with commas between them."""

    def parse(text: str) -> tuple[str, ...]:
        names = tuple(name.strip() for name in text.split(","))
        if not set(names) <= set(legal):
            raise ValueError(text)
        return tuple(dict.fromkeys(names))

    return parse


_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def size(text: str) -> int:
    """Bytes: ``500M``, ``4G``, ``4GiB``, ``1.5G``, ``1048576``."""
    value_text = text.upper().removesuffix("IB").removesuffix("B")
    unit = value_text[-1:] if value_text[-1:] in ("K", "M", "G", "T") else ""
    count = float(value_text.removesuffix(unit)) * _UNITS[unit]
    if not 0 < count < 2**63:
        raise ValueError(text)
    return int(count)


_SECONDS = {"": 1, "S": 1, "M": 60, "H": 3600, "D": 86400, "W": 7 * 86400}


def duration(text: str) -> float:
    """Seconds: ``30d``, ``12h``, ``90m``, ``45s``, ``2w``, ``3600``."""
    unit = text[-1:].upper() if text[-1:].isalpha() else ""
    seconds = float(text[: len(text) - len(unit)]) * _SECONDS.get(unit, math.nan)
    if not 0 < seconds < 1e12:
        raise ValueError(text)
    return seconds


def paths(text: str) -> tuple[str, ...]:
    """Absolute paths of a list that is separated as PATH is; empty parts are left out."""
    return tuple(os.path.abspath(os.path.expanduser(part)) for part in text.split(os.pathsep) if part.strip())
