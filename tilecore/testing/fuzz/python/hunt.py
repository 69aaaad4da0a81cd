"""Judges the bodies of many seeds, and writes the findings to files."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilecore.testing.fuzz.python.generate import Body, generate
from tilecore.testing.fuzz.python.judge import Verdict, function_text, judge
from tilecore.testing.fuzz.python.shrink import shrink

FINDINGS = ("wrong", "refused", "error")


@dataclass
class HuntResult:
    """The results of a hunt. counts: bodies by the kind of their verdict. findings: seed, verdict and file."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, Verdict, Path]] = field(default_factory=list)


def hunt(seeds: Iterable[int], targets: Sequence[str], folder: Path, seconds: float | None = None) -> HuntResult:
    """Judge the bodies of these seeds until they or the time end."""
    result, end = HuntResult(), time.monotonic() + (seconds or 0)
    for seed in seeds:
        if seconds is not None and time.monotonic() > end:
            break
        body = generate(seed)
        verdict = judge(body, targets)
        result.counts[verdict.kind] += 1
        if verdict.kind in FINDINGS:
            result.findings.append((seed, verdict, _written(folder, body, verdict, targets)))
    return result


def _written(folder: Path, body: Body, verdict: Verdict, targets: Sequence[str]) -> Path:
    smaller = shrink(body, lambda candidate: judge(candidate, targets).kind == verdict.kind)
    smaller_verdict = judge(smaller, targets)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"python_{verdict.kind}_{body.seed}.py"
    words = "\n".join(f"# {line}".rstrip() for line in smaller_verdict.text.splitlines()[:12])
    repeat_command = f"# Again: tilecore fuzz --python --only {body.seed}"
    path.write_text(f"{repeat_command}\n{words}\n\n{function_text(smaller, kernel=True)}", encoding="utf-8")
    return path


def seeds_from(first: int, count: int | None) -> Iterable[int]:
    """``count`` seeds, or an endless sequence."""
    return itertools.count(first) if count is None else range(first, first + count)
