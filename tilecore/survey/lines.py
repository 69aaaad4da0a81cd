"""A survey by source line: what each target says of it."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from pathlib import Path

from tilecore.survey.run import Survey


def _same(name: str, file: str) -> str:
    """The user's name of a file."""
    return file if Path(name).resolve() == Path(file).resolve() else name


@dataclass(frozen=True)
class Word:
    """What one or several targets say of a line. kind: "refused", "slow" or "note"; details: (label, text)."""

    targets: tuple[str, ...]
    kind: str
    text: str
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Line:
    """A line of a file with what is said of it; number: 0 for what is of no line."""

    file: str
    number: int
    words: tuple[Word, ...]

    @property
    def source(self) -> str:
        return linecache.getline(self.file, self.number).rstrip("\n") if self.number else ""


def lines_of(survey: Survey, kernel: str) -> list[Line]:
    """The lines of a kernel that any target has something to say of, in order; what is of no line comes first."""
    said: dict[tuple[str, int], dict[tuple[str, str, tuple[tuple[str, str], ...]], list[str]]] = {}

    def say(file: str, line: int, kind: str, text: str, details: tuple[tuple[str, str], ...], target: str) -> None:
        targets = said.setdefault((file, line), {}).setdefault((kind, text, details), [])
        if target not in targets:
            targets.append(target)

    file = survey.files.get(kernel, "")
    for verdict in survey.verdicts:
        if verdict.kernel != kernel:
            continue
        for error in verdict.refusals:
            labelled = (("found", error.found), ("expected", error.expected), ("help", error.hint))
            details = tuple((label, text) for label, text in labelled if text)
            place = error.location
            where = (file, 0) if place is None else (_same(place.file, file), place.line)
            say(*where, verdict.state, error.message, details, verdict.target)
        for remark in verdict.remarks:
            say(file, remark.line or 0, "slow" if remark.slow else "note", remark.text, (), verdict.target)
    rank = {"slow": 1, "note": 2}
    made = []
    for (name, number), words in said.items():
        listed = [Word(tuple(targets), kind, text, details) for (kind, text, details), targets in words.items()]
        made.append(Line(name, number, tuple(sorted(listed, key=lambda word: rank.get(word.kind, 0)))))
    return sorted(made, key=lambda line: (line.number != 0, line.file != file, line.file, line.number))
