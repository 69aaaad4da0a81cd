"""Reads files of known configurations, results of earlier searches for classes of shapes: a first call needs no search.

The file is JSON, a list of entries {"target": {...}, "where": {...}, "config": {...}}. ``target`` names the kind and
attributes of a target, ``where`` arguments of the function: each a value, or [lowest, highest] for numbers. The first
entry that fits a call is used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilecore.compilation_cache.key import plain_number
from tilecore.errors import AutotuneError
from tilecore.plugins import manager
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.autotune.configs import Config


@dataclass(frozen=True)
class KnownConfig:
    """One entry. target: kind and attributes that a target must have. where: values or ranges of arguments."""

    target: Mapping[str, Any]
    where: Mapping[str, Any]
    config: Config

    def fits(self, target: Target, arguments: Mapping[str, Any]) -> bool:
        attributes = dict(self.target)
        if attributes.pop("kind", target.kind) != target.kind:
            return False
        if any(target.get(name) != value for name, value in attributes.items()):
            return False
        return all(name in arguments and _is_in(arguments[name], condition) for name, condition in self.where.items())

    def to_json(self) -> dict[str, Any]:
        return {"target": dict(self.target), "where": dict(self.where), "config": self.config}


class KnownConfigs:
    """The entries of a file, in order. ``find`` answers None where none fits."""

    def __init__(self, entries: list[KnownConfig]) -> None:
        self.entries = entries

    @staticmethod
    def load(path: str | os.PathLike[str]) -> KnownConfigs:
        """Read a file. Raises AutotuneError, which names the file and the entry, if it is invalid."""
        try:
            entries = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise AutotuneError(f"{os.fspath(path)} cannot be read as known configurations", found=str(error)) from None
        if not isinstance(entries, list):
            raise AutotuneError(
                f"{os.fspath(path)} does not hold a list", found=type(entries).__name__, expected="a list"
            )
        return KnownConfigs([_entry(path, number, entry) for number, entry in enumerate(entries)])

    def find(self, target: Any, arguments: Mapping[str, Any]) -> Config | None:
        """The configuration of the first entry that fits. target: as in tilecore.jit, or a resolved Target.

        Raises TargetError for a target that no backend offers.
        """
        resolved = target if isinstance(target, Target) else manager.resolve(target)[1]
        return next((dict(e.config) for e in self.entries if e.fits(resolved, arguments)), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        lines = ",\n".join(json.dumps(entry.to_json()) for entry in self.entries)
        Path(path).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _entry(path: Any, number: int, entry: Any) -> KnownConfig:
    parts = ("target", "where", "config")
    if not isinstance(entry, dict) or any(not isinstance(entry.get(part), dict) for part in parts):
        raise AutotuneError(
            f"entry {number} of {os.fspath(path)} is not a valid configuration",
            found=json.dumps(entry)[:200],
            expected='{"target": {...}, "where": {...}, "config": {...}}',
        )
    return KnownConfig(*(entry[part] for part in parts))


def _is_in(value: Any, condition: Any) -> bool:
    value = plain_number(value)
    if isinstance(condition, list):
        return isinstance(value, int) and not isinstance(value, bool) and condition[0] <= value <= condition[1]
    return bool(value == condition) and isinstance(value, bool) == isinstance(condition, bool)
