"""Lists of targets: ``"all"``, or texts between semicolons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilecore.contract.records import Backend
from tilecore.errors import PluginError, TargetError, TilecoreError
from tilecore.plugins import manager
from tilecore.target import Target

SEPARATOR = ";"  # no target's text has one outside of quotes


@dataclass(frozen=True)
class Surveyed:
    """A target by the user's text; error: why it cannot be compiled for."""

    text: str
    backend: Backend | None = None
    target: Target | None = None
    error: TilecoreError | None = None


def targets_of(texts: Sequence[str]) -> list[Surveyed]:
    """The targets of ``--targets``, each once. ``all``: every installed kind with its default attributes.

    A broken package is a target with an error. Raises TargetError for one that does not exist.
    """
    words = [word.strip() for text in texts for word in text.split(SEPARATOR)]
    named: list[str] = []
    for word in words:
        named += manager.kinds() if word == "all" else [word] if word else []
    if not named:
        raise TargetError("--targets names no target", expected=f'"all", or such as "cpu{SEPARATOR}acme -name=value"')
    return [_resolved(text) for text in dict.fromkeys(named)]


def _resolved(text: str) -> Surveyed:
    try:
        backend, target = manager.resolve(text)
        return Surveyed(text, backend, target)
    except PluginError as error:
        return Surveyed(text, error=error)
