"""Targets: a kind, such as ``cpu``, and attributes, such as ``arch=...``.

tilecore has its own target because TVM's knows only kinds that are registered in C++.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tilecore.errors import TargetError
from tilecore.frozen_dataclasses import frozen

Attribute = str | int | bool

# A word of a target's text with the quotes in it, as a shell splits.
_WORD = re.compile(r"""(?:[^ \t\r\n'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,4000})")
_LONG = 80  # characters of a text that ``brief`` shortens
_OF_CHIP = ("arch", "march", "chip", "device")  # attributes that say which chip it is


@frozen
class Target:
    """What to compile for. Equal targets give equal cache keys.

    ``Target.parse`` takes ``"cpu"``, ``"kind -arch=name -flag"``, ``{"kind": "cpu", "arch": "name"}`` or a Target.
    """

    kind: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    @staticmethod
    def parse(value: Any) -> Target:
        if isinstance(value, Target):
            return value
        if isinstance(value, str):
            return _from_text(value)
        if isinstance(value, Mapping):
            return _from_mapping(value)
        raise TargetError(
            f"a target cannot be made from {type(value).__name__}",
            found=repr(value),
            expected='a name such as "cpu", "kind -attribute=value", a dict with "kind", or a tilecore.Target',
        )

    def get(self, name: str, default: Attribute | None = None) -> Attribute | None:
        return self.attributes.get(name, default)

    def with_attributes(self, **changes: Attribute) -> Target:
        return Target(self.kind, {**self.attributes, **changes})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and str(self) == str(other)  # a flag is not the number 1

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        """Canonical text, attributes sorted: ``kind -a=1 -b='1' -flag``. ``Target.parse(str(t)) == t``."""
        words = [self.kind]
        for name in sorted(self.attributes):
            value = self.attributes[name]
            words.append(f"-{name}" if value is True else f"-{name}={_text_of(value)}")
        return " ".join(words)

    def brief(self) -> str:
        """For messages and tables: the whole text, or, where that is long, the chip and how many attributes are left
        out: ``kind -march=native (7 more attributes)``."""
        text = str(self)
        if len(text) <= _LONG:
            return text
        chip = Target(self.kind, {name: self.attributes[name] for name in _OF_CHIP if name in self.attributes})
        left_out = len(self.attributes) - len(chip.attributes)
        return f"{chip} ({left_out} more attribute{'s' if left_out > 1 else ''})"


def _text_of(value: Attribute) -> str:
    """A value as it stands in a target's text; a str that would be read as a number or a flag is quoted."""
    return _quoted(value) if isinstance(value, str) else "false" if value is False else str(value)


@functools.lru_cache(maxsize=4096)
def _quoted(value: str) -> str:
    quoted = shlex.quote(value)
    return quoted if isinstance(_value(quoted), str) else f"'{value}'"


def _from_text(text: str) -> Target:
    kind, attributes = _read_text(text)
    return Target(kind, dict(attributes))


@functools.lru_cache(maxsize=512)
def _read_text(text: str) -> tuple[str, tuple[tuple[str, Attribute], ...]]:
    """The kind and the attributes; loaded kernels have the same few texts. Raises TargetError."""
    try:
        shlex.split(text)
    except ValueError as error:
        raise TargetError(f"target {text!r} cannot be read: {error}") from None
    words = _WORD.findall(text)
    if not words:
        raise TargetError("the target is empty", expected='a name such as "cpu"')
    attributes: dict[str, Attribute] = {}
    for word in words[1:]:
        if not word.startswith("-") or word.strip("-") == "":
            raise TargetError(
                f"target {text!r}: {word!r} is not an attribute", expected="-name=value or -flag, separated by spaces"
            )
        name, has_value, value = word.lstrip("-").partition("=")
        attributes[_unquoted(name)] = _value(value) if has_value else True
    return _unquoted(words[0]), tuple(attributes.items())


def _unquoted(text: str) -> str:
    return "".join(shlex.split(text))


def _from_mapping(value: Mapping[str, Any]) -> Target:
    if not isinstance(value.get("kind"), str):
        raise TargetError('a target dict needs the key "kind"', found=repr(dict(value)))
    attributes: dict[str, Attribute] = {}
    for name, item in value.items():
        if name == "kind":
            continue
        if not isinstance(item, (str, int, bool)):
            raise TargetError(f"target attribute {name!r} must be a str, an int or a bool", found=repr(item))
        attributes[name] = item
    return Target(value["kind"], attributes)


def _value(text: str) -> Attribute:
    """What stands behind ``=``: with quotes in it always a str."""
    if text in ("true", "True"):
        return True
    if text in ("false", "False"):
        return False
    return int(text) if _NUMBER.fullmatch(text) else _unquoted(text)
