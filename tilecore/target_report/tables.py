"""Prints a target report: a table of verdicts, then the source lines that have findings."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tilecore.target_report.lines import Finding, Line, lines_of
from tilecore.target_report.verdicts import OK, SLOW, TargetReport, Verdict

_STYLES = {OK: "green", SLOW: "yellow", "note": "dim"}


def print_report(report: TargetReport, console: Console) -> None:
    """Print the whole report: verdicts, findings by source line, and the kernels that were left out."""
    console.print(_verdicts(report))
    for kernel in report.files:
        lines = lines_of(report, kernel)
        verdicts = [verdict for verdict in report.verdicts if verdict.kernel == kernel]
        if not lines and not any(verdict.call for verdict in verdicts):
            continue
        file = report.files[kernel]
        console.print(Text.assemble("\n", (kernel, "bold"), f"  {file}"), soft_wrap=True)
        for verdict in verdicts:
            if verdict.call:
                console.print(
                    Text(f"{verdict.target}: compiles {verdict.call} instead: {verdict.reason}"), soft_wrap=True
                )
        for line in lines:
            _print_line(line, file, report, console)
        for verdict in verdicts:
            _print_changes(verdict, console)
    for left_out in report.left_out:
        console.print(Text(f"\n{left_out.label} was not compiled: {left_out.reason}", "yellow"))
        if left_out.hint:
            console.print(Text(f"  = help: {left_out.hint}"))


def _verdicts(report: TargetReport) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("KERNEL")
    for target in report.targets:
        table.add_column(Text(target.text))
    by_cell = {(v.kernel, v.target): v for v in report.verdicts}
    for kernel in report.files:
        table.add_row(Text(kernel), *(_cell(by_cell[kernel, target.text]) for target in report.targets))
    for left_out in report.left_out:
        table.add_row(Text(left_out.label), *(Text("not compiled", "yellow") for _ in report.targets))
    return table


def _cell(verdict: Verdict) -> Text:
    count = len(verdict.refusals) or sum(remark.slow for remark in verdict.remarks)
    number = f" ({count}{'' if verdict.whole else ' or more'})" if count else ""
    alternative = ", other call" if verdict.call else ""
    return Text(f"{verdict.state}{number}{alternative}", _STYLES.get(verdict.state, "red"))


def _print_line(line: Line, file: str, report: TargetReport, console: Console) -> None:
    if line.number:
        elsewhere = "" if line.file == file else f"{line.file}:"
        console.print(Text.assemble((f"{elsewhere}{line.number} | ", "cyan"), line.source), soft_wrap=True)
    else:
        console.print(Text("of the whole kernel", "cyan"))
    for finding in line.findings:
        _print_finding(finding, report, console)


def _print_finding(finding: Finding, report: TargetReport, console: Console) -> None:
    all_targets = len(finding.targets) > 1 and len(finding.targets) == len(report.targets)
    who = "all targets" if all_targets else "; ".join(finding.targets)
    text = Text.assemble(f"{who}: ", (finding.kind, _STYLES.get(finding.kind, "red")), f": {finding.text}")
    if finding.kind == "note":
        text = Text(f"{who}: {finding.text}", "dim")
    console.print(Padding(text, (0, 0, 0, 4), expand=False))
    for label, detail in finding.details:
        console.print(Padding(Text(f"= {label}: {detail}"), (0, 0, 0, 6), expand=False))


def _print_changes(verdict: Verdict, console: Console) -> None:
    """The argument values that compile, and whether parts of the kernel were not checked."""
    if verdict.changes:
        several = "any one of " if len(verdict.changes) > 1 else ""
        console.print(Text(f"{verdict.target}: compiles with {several}{', '.join(verdict.changes)}", "green"))
    if verdict.refusals and not verdict.whole:
        console.print(Text(f"{verdict.target}: the statements after these were not checked", "yellow"))
