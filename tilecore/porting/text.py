"""The text that ``tilecore port`` prints: the entries of a file, and a summary of several files."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from tilecore.porting.report import FileReport, Finding, Problem, problems

_WIDTH = 120  # of the lines that list places
_MOST = 5  # problems that the summary lists


def lines_of_file(report: FileReport, is_fixed: bool = False) -> list[str]:
    """All that is to be said of one file. is_fixed: whether its imports have been written."""
    verb = "wrote" if is_fixed else "write"
    lines = [f"{report.file}:{line}: {verb}: {text}" for line, text in report.imports]
    for problem in problems(report.findings):
        lines += _entry(report.file, problem)
    for problem in problems(report.notes):
        lines += _entry(report.file, problem, "note: ")
    return [*lines, f"{report.file}: {_verdict(report, is_fixed)}"]


def _entry(file: str, problem: Problem, label: str = "") -> list[str]:
    """The problem at its first place, then what to write, then the other places."""
    first = problem.first
    lines = [f"{file}:{first.line}:{first.column}: {label}{_with_name(first)}"]
    if first.instead:
        lines.append(f"    help: {first.instead}")
    others = _other_places(problem)
    if others:
        text = f"also: {'; '.join(others)}"
        lines += textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent=" " * 10, break_on_hyphens=False)
    return lines


def _other_places(problem: Problem) -> list[str]:
    """The lines of the findings after the first; those of other names with the name."""
    first = problem.first
    numbers: dict[str, list[int]] = {first.name: [first.line]}
    for finding in problem.findings[1:]:
        lines = numbers.setdefault(finding.name, [])
        if finding.line not in lines:
            lines.append(finding.line)
    numbers[first.name].pop(0)
    return [
        f"{'' if name == first.name else f'{name} '}on line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
        for name, lines in numbers.items()
        if lines
    ]


def _with_name(finding: Finding) -> str:
    """The problem, after the name unless it has the name in it."""
    words = ("", *finding.problem.replace(";", "").split())
    name = finding.name.partition("(")[0]
    has_name = name in words or name.replace("tilelang.", "tilecore.", 1) in words
    return finding.problem if has_name else f"{finding.name}: {finding.problem}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _verdict(report: FileReport, is_fixed: bool) -> str:
    if report.findings:
        return f"would not run: {_size(report)}"
    if not report.uses_tilelang:
        return "does not import TileLang"
    return f"nothing {'else ' if report.imports and not is_fixed else ''}stands in the way"


def _size(report: FileReport) -> str:
    """How many problems a file has."""
    different, places = len(problems(report.findings)), len(report.findings)
    return _count(different, "problem") + (f", in {places} places" if places > different else "")


def lines_of_summary(reports: Sequence[FileReport]) -> list[str]:
    """Of several files: how many would run and how many would not, which these are, and what is wrong most often."""
    refused = [report for report in reports if report.findings]
    foreign = [report for report in reports if not report.findings and not report.uses_tilelang]
    would_run = len(reports) - len(refused) - len(foreign)
    lines = [f"{_count(len(reports), 'file')}: {would_run} would run, {len(refused)} would not"]
    if foreign:
        lines[-1] += f", {len(foreign)} {'does' if len(foreign) == 1 else 'do'} not import TileLang"
    if refused:
        lines += ["", "would not run:", *(f"  {report.file}: {_size(report)}" for report in refused)]
        lines += ["", "the most frequent problems:", *_most_frequent(refused)]
    return lines


def lines_of_imports(reports: Sequence[FileReport], is_fixed: bool) -> list[str]:
    """How many import lines change, and how to change them; nothing where none does."""
    counts = [count for report in reports if (count := len(report.imports))]
    if not counts:
        return []
    lines = f"{_count(sum(counts), 'import line')} of {_count(len(counts), 'file')}"
    return [f"wrote {lines}" if is_fixed else f"{lines} to change: --fix writes them, --diff shows the changes"]


def _most_frequent(reports: Iterable[FileReport]) -> list[str]:
    uses: Counter[str] = Counter()
    files: Counter[str] = Counter()
    names: dict[str, set[str]] = {}
    texts: dict[str, str] = {}
    for report in reports:
        files.update({finding.problem for finding in report.findings})
        for finding in report.findings:
            uses[finding.problem] += 1
            names.setdefault(finding.problem, set()).add(finding.name)
            texts.setdefault(finding.problem, _with_name(finding))
    lines = []
    for problem, count in uses.most_common(_MOST):
        text = texts[problem] if len(names[problem]) == 1 else problem
        lines.append(f"  {_count(count, 'place')} in {_count(files[problem], 'file')}: {text}")
    return lines
