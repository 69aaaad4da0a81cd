"""Reads the targets of ``tilecore compile``: ``"acme -arch=a1,a2"`` is two targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from tilecore.errors import ArgumentError, TargetError
from tilecore.plugins import manager
from tilecore.plugins.attributes import without_defaults
from tilecore.target import Attribute, Target
from tilecore.target_report.targets import SEPARATOR


def targets_of(texts: Sequence[str]) -> dict[Target, str]:
    """The resolved targets with their texts, each once, in the order in which they are named.

    A text may name several targets with semicolons between them, and an attribute several values with commas, where
    the values with their commas are not what the attribute takes. Raises TargetError.
    """
    entries = [entry.strip() for text in texts for entry in text.split(SEPARATOR) if entry.strip()]
    if not entries:
        raise ArgumentError("--target names no target", expected='a target, such as "cpu" or "acme -arch=a1,a2"')
    named: dict[Target, str] = {}
    for entry in entries:
        for typed, target in _expanded(entry):
            named.setdefault(target, typed)
    return named


def _expanded(text: str) -> Iterator[tuple[str, Target]]:
    if text == "auto":
        backend, target = manager.use_default()
        yield str(without_defaults(backend, target)), target
        return
    typed = Target.parse(text)
    lists = {name: _values(value) for name, value in typed.attributes.items()}
    if all(len(values) == 1 for values in lists.values()):
        yield str(typed), manager.resolve(typed)[1]
        return
    try:
        yield str(typed), manager.resolve(typed)[1]  # the commas belong to the value, as in -features=a,b
        return
    except TargetError:
        pass
    for chosen in product(*lists.values()):
        single = Target(typed.kind, dict(zip(lists, chosen, strict=True)))
        yield str(single), manager.resolve(single)[1]


def _values(value: Attribute) -> list[Attribute]:
    if not isinstance(value, str) or "," not in value:
        return [value]
    return [_number(part.strip()) for part in value.split(",") if part.strip()] or [value]


def _number(text: str) -> Attribute:
    return int(text) if text.isdigit() and str(int(text)) == text else text
