"""The statistics and findings of a hunt, in memory and as JSON."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilecore.whole_files import write_whole

if TYPE_CHECKING:
    from tilecore.testing.fuzz.oracle import Verdict

KEPT = 3  # the seeds that are recorded for each text


@dataclass(frozen=True)
class Finding:
    """A kernel with a finding. seed: of the generated program. path: the file of the reduced kernel; None where enough
    findings have the same signature."""

    seed: int
    verdict: Verdict
    path: Path | None = None
    lines: int = 0

    def facts(self) -> dict[str, Any]:
        text = self.verdict.text.strip()
        return {
            "seed": self.seed,
            "kind": self.verdict.kind,
            "sort": self.verdict.signature,
            "text": text if len(text) <= 2000 else f"{text[:1000]} ... {text[-1000:]}",
            "file": str(self.path) if self.path else None,
            "lines": self.lines,
        }


@dataclass
class Tally:
    """The statistics and findings so far.

    kinds: the number of verdicts of each kind. rejections: the target's, by text. refused: programs that the language
    or the interpreter refuses, by text; the generator should not make such. seeds_of: the first seeds of each of these
    texts. variants: variants of kernels that were judged. calls: kernels that were called twice, with other sizes.
    seeds: the first and the last one. unfinished: kernels that the end of the hunt interrupted.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    rejections: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    seeds_of: dict[str, list[int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    variants: int = 0
    calls: int = 0
    unfinished: int = 0
    seeds: tuple[int, int] | None = None
    start: float = field(default_factory=time.monotonic)

    @property
    def kernels(self) -> int:
        return sum(self.kinds.values())

    def add(self, seed: int, verdict: Verdict) -> None:
        self.kinds[verdict.kind] += 1
        if verdict.kind in ("rejected", "refused"):
            (self.rejections if verdict.kind == "rejected" else self.refused)[verdict.signature] += 1
            seeds = self.seeds_of.setdefault(verdict.signature, [])
            if len(seeds) < KEPT:
                seeds.append(seed)

    def note_seed(self, seed: int) -> None:
        first, last = self.seeds or (seed, seed)
        self.seeds = (min(first, seed), max(last, seed))

    def facts(self) -> dict[str, Any]:
        return {
            "kernels": self.kernels,
            "kinds": dict(sorted(self.kinds.items())),
            "variants": self.variants,
            "second_calls": self.calls,
            "unfinished": self.unfinished,
            "seeds": list(self.seeds) if self.seeds else None,
            "seconds": round(time.monotonic() - self.start, 1),
            "rejections": self._with_seeds(self.rejections),
            "refused": self._with_seeds(self.refused),
            "findings": [finding.facts() for finding in self.findings],
        }

    def _with_seeds(self, texts: Counter[str]) -> dict[str, dict[str, Any]]:
        return {text: {"kernels": count, "seeds": self.seeds_of[text]} for text, count in texts.most_common()}

    def write(self, path: Path, **more: Any) -> None:
        """Write the tally as JSON, after the entries ``more``; the file is complete at any time."""
        write_whole(path, json.dumps({**more, **self.facts()}, indent=2) + "\n")
