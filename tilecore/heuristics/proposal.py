"""What heuristics return: a configuration, the time that the model expects of it, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Proposal:
    """config: arguments of the kernel's function. milliseconds: by the model, to compare proposals by; not a promise.
    reason: a sentence on what limits it."""

    config: dict[str, Any]
    milliseconds: float
    reason: str

    def __str__(self) -> str:
        words = ", ".join(f"{name}={value}" for name, value in self.config.items())
        return f"{self.milliseconds * 1e3:.1f} us: {words}: {self.reason}"


def explain(proposals: Sequence[Proposal]) -> str:
    """The proposals as text, one on a line, best first."""
    return "\n".join(f"{number}. {proposal}" for number, proposal in enumerate(proposals, 1))
