"""What heuristics return: a configuration, the time that the model expects of it, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tilecore.errors import ArgumentError

MOST_ALIKE = 2  # proposals of one shape of tiles among those returned


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


def explain(proposals: Iterable[Proposal] | Proposal) -> str:
    """The proposals as text, one on a line, best first. Raises ArgumentError for other values than proposals."""
    listed = list(proposals) if isinstance(proposals, Iterable) else [proposals]
    wrong = next((one for one in listed if not isinstance(one, Proposal)), None)
    if wrong is not None or listed == [None]:
        raise ArgumentError(
            "explain() takes proposals",
            found=type(wrong).__name__,
            expected="what heuristics.gemm or heuristics.attention returns",
        )
    return "\n".join(f"{number}. {proposal}" for number, proposal in enumerate(listed, 1))


def ranked(estimates: Sequence[tuple[Any, Any]], shape: Callable[[Any], Any], count: int) -> list[tuple[Any, Any]]:
    """The ``count`` best of pairs of an estimate and a tiling; few of one shape, as the model may be wrong about it."""
    chosen: list[tuple[Any, Any]] = []
    alike: dict[Any, int] = {}
    for estimate, tiling in sorted(estimates, key=lambda pair: pair[0].seconds):
        key = shape(tiling)
        if alike.get(key, 0) < MOST_ALIKE and len(chosen) < count:
            alike[key] = alike.get(key, 0) + 1
            chosen.append((estimate, tiling))
    return chosen


def assumptions(figures: Sequence[str]) -> str:
    """The end of a reason: which figures the backend does not declare."""
    return f" (not declared, assumed: {', '.join(figures)})" if figures else ""
