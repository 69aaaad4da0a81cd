"""Reads the lists of targets of ``tilecore explain --targets``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilecore.errors import PluginError, TargetError, TilecoreError
from tilecore.plugins import manager

if TYPE_CHECKING:
    from tilecore.contract.records import Backend
    from tilecore.target import Target

SEPARATOR = ";"  # between targets; a target's text has none outside of quotes


@dataclass(frozen=True)
class ReportTarget:
    """A target of a report, by the user's text; error: the reason why no kernel can be compiled for it."""

    text: str
    backend: Backend | None = None
    target: Target | None = None
    error: TilecoreError | None = None


def targets_of(texts: Sequence[str]) -> list[ReportTarget]:
    """The targets of ``--targets``, each once. ``all``: every installed kind with its default attributes.

    A target whose package is broken holds an error. Raises TargetError for a target that no package offers.
    """
    entries = [entry.strip() for text in texts for entry in text.split(SEPARATOR)]
    named: list[str] = []
    for entry in entries:
        named += manager.kinds() if entry == "all" else [entry] if entry else []
    if not named:
        raise TargetError(
            "--targets names no target",
            expected=f'"all", or targets between semicolons, such as "cpu{SEPARATOR}acme -name=value"',
        )
    return [_resolved(text) for text in dict.fromkeys(named)]


def _resolved(text: str) -> ReportTarget:
    try:
        backend, target = manager.resolve(text)
        return ReportTarget(text, backend, target)
    except PluginError as error:
        return ReportTarget(text, error=error)
