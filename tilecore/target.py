"""Targets: a kind, such as ``cpu``, and attributes, such as ``arch=...``.

tilecore has its own target because TVM's knows only kinds that are registered in C++; a TVM target appears
only where stock passes run (``Lowering.stand_in``).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tilecore.errors import TargetError

Attribute = str | int | bool


@dataclass(frozen=True)
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

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        """Canonical text, attributes sorted: ``kind -a=1 -flag``. ``Target.parse(str(t)) == t``."""
        words = [self.kind]
        for name in sorted(self.attributes):
            value = self.attributes[name]
            if value is True:
                words.append(f"-{name}")
            else:
                words.append(f"-{name}={shlex.quote('false' if value is False else str(value))}")
        return " ".join(words)


def _from_text(text: str) -> Target:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TargetError(f"target {text!r} cannot be read: {error}") from None
    if not words:
        raise TargetError("the target is empty", expected='a name such as "cpu"')
    attributes: dict[str, Attribute] = {}
    for word in words[1:]:
        if not word.startswith("-") or word.strip("-") == "":
            raise TargetError(
                f"target {text!r}: {word!r} is not an attribute", expected="-name=value or -flag, separated by spaces"
            )
        name, has_value, value = word.lstrip("-").partition("=")
        attributes[name] = _value(value) if has_value else True
    return Target(words[0], attributes)


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
    if text in ("true", "True"):
        return True
    if text in ("false", "False"):
        return False
    digits = text.removeprefix("-")
    return int(text) if digits.isdigit() and (digits == "0" or not digits.startswith("0")) else text
