"""Reports the progress of a search: bars on a terminal, else lines for a log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilecore import debug
from tilecore.progress import Progress, on_terminal

if TYPE_CHECKING:
    from tilecore.autotune.candidates import Candidate


class SearchReport:
    """name: the function that is tuned. progress: False says nothing; None shows bars on a terminal, and writes lines
    elsewhere if ``verbose``; True writes them in any case. All goes to standard error.
    """

    def __init__(self, name: str, progress: bool | None = None, verbose: bool = False) -> None:
        watched = on_terminal()
        self.name = name
        self.bars = watched and progress is not False
        self.lines = not watched and (verbose if progress is None else progress)
        self.quiet = not (self.bars or self.lines)
        self._start = time.monotonic()

    def phase(self, title: str, total: int) -> Progress:
        """A bar for a part of the search, shown on a terminal."""
        return Progress(title, total, self.bars)

    def line(self, text: str) -> None:
        """A line for a log, with the seconds since the search began; nothing where bars are shown."""
        if self.lines:
            debug.announce(f"{self.name}: {text} ({self._seconds():.1f} s)")

    def begun(self, candidates: Sequence[Candidate]) -> None:
        self.line(f"tuning {len(candidates)} configurations")

    def compiled(self, candidates: Sequence[Candidate]) -> None:
        for candidate in candidates:
            self.dropped(candidate)
        self.line(f"compiled: {counts(candidates)}")

    def checked(self, candidates: Sequence[Candidate]) -> None:
        for candidate in candidates:
            self.dropped(candidate)
        self.line(f"checked: {counts(candidates)}")

    def dropped(self, candidate: Candidate) -> None:
        """A line for a candidate that is out; nothing for others."""
        if not candidate.alive:
            reason = candidate.reason.strip().partition("\n")[0]
            self.line(f"[{candidate}] {candidate.status}: {reason}")

    def timed(self, candidate: Candidate, number: int, total: int, best: float | None) -> None:
        if candidate.latency is None:
            self.dropped(candidate)
        else:
            self.line(f"{number} of {total}: [{candidate}] {candidate.latency:.4f} ms, best {best:.4f} ms")

    def ended(self, candidates: Sequence[Candidate], best: Candidate, checked: str) -> None:
        """Report the winner, the outcome of every candidate and the time of the search; on a terminal too."""
        if not self.quiet:
            debug.announce(
                f"{self.name}: {best}, {best.latency:.4f} ms, {checked}; "
                f"{counts(candidates)} in {self._seconds():.1f} s"
            )

    def _seconds(self) -> float:
        return time.monotonic() - self._start


def counts(candidates: Sequence[Candidate]) -> str:
    """``3 timed, 1 wrong``."""
    return ", ".join(f"{count} {status}" for status, count in Counter(c.status for c in candidates).most_common())
