"""A survey for reading: a table of verdicts, then the lines that targets have something to say of."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tilecore.survey.lines import Line, Word, lines_of
from tilecore.survey.run import OK, SLOW, Survey, Verdict

_STYLES = {OK: "green", SLOW: "yellow", "note": "dim"}


def print_survey(survey: Survey, console: Console) -> None:
    """Print all of it. Notes of kernels that are taken are short; refusals say what, found, expected and what to do."""
    console.print(_verdicts(survey))
    for kernel in survey.files:
        lines = lines_of(survey, kernel)
        if not lines:
            continue
        file = survey.files[kernel]
        console.print(Text.assemble("\n", (kernel, "bold"), f"  {file}"), soft_wrap=True)
        for line in lines:
            _print_line(line, file, survey, console)
        for verdict in survey.verdicts:
            if verdict.kernel == kernel:
                _print_rest(verdict, console)
    for left_out in survey.left_out:
        console.print(Text(f"\n{left_out.label} was not compiled: {left_out.reason}", "yellow"))
        if left_out.hint:
            console.print(Text(f"  = help: {left_out.hint}"))


def _verdicts(survey: Survey) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("KERNEL")
    for target in survey.targets:
        table.add_column(Text(target.text))
    by_cell = {(v.kernel, v.target): v for v in survey.verdicts}
    for kernel in survey.files:
        table.add_row(Text(kernel), *(_cell(by_cell[kernel, target.text]) for target in survey.targets))
    for left_out in survey.left_out:
        table.add_row(Text(left_out.label), *(Text("not compiled", "yellow") for _ in survey.targets))
    return table


def _cell(verdict: Verdict) -> Text:
    count = len(verdict.refusals) or sum(remark.slow for remark in verdict.remarks)
    number = f" ({count}{'' if verdict.whole else ' or more'})" if count else ""
    return Text(f"{verdict.state}{number}", _STYLES.get(verdict.state, "red"))


def _print_line(line: Line, file: str, survey: Survey, console: Console) -> None:
    if line.number:
        elsewhere = "" if line.file == file else f"{line.file}:"
        console.print(Text.assemble((f"{elsewhere}{line.number} | ", "cyan"), line.source), soft_wrap=True)
    else:
        console.print(Text("of the whole kernel", "cyan"))
    for word in line.words:
        _print_word(word, survey, console)


def _print_word(word: Word, survey: Survey, console: Console) -> None:
    everyone = len(word.targets) > 1 and len(word.targets) == len(survey.targets)
    who = "all targets" if everyone else "; ".join(word.targets)
    text = Text.assemble(f"{who}: ", (word.kind, _STYLES.get(word.kind, "red")), f": {word.text}")
    if word.kind == "note":
        text = Text(f"{who}: {word.text}", "dim")
    console.print(Padding(text, (0, 0, 0, 4), expand=False))
    for label, detail in word.details:
        console.print(Padding(Text(f"= {label}: {detail}"), (0, 0, 0, 6), expand=False))


def _print_rest(verdict: Verdict, console: Console) -> None:
    """What fits, and whether there may be more."""
    if verdict.changes:
        several = "any one of " if len(verdict.changes) > 1 else ""
        console.print(Text(f"{verdict.target}: compiles with {several}{', '.join(verdict.changes)}", "green"))
    if verdict.refusals and not verdict.whole:
        console.print(Text(f"{verdict.target}: what comes behind these was not looked at", "yellow"))
