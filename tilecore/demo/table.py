"""The demo's table, while it grows and when it is complete."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from tilecore.demo.run import Result


def result_table(results: Sequence[Result], reference: str) -> Table:
    """One row a result; ``*`` marks a kernel that came from the cache. At most 80 columns wide.

    reference: the name of the library that the kernels are compared with.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("kernel", "size"):
        table.add_column(name, no_wrap=True)
    for name in ("compile ms", "run ms", f"{reference} ms", "max error"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ok", no_wrap=True)
    for result in results:
        table.add_row(*_cells(result))
    return table


def _cells(result: Result) -> list[RenderableType]:
    compile_ms = "-" if result.compile_ms is None else f"{result.compile_ms:.0f}{'*' if result.from_cache else ' '}"
    numbers = [_ms(result.run_ms), _ms(result.reference_ms), _error(result.max_error)]
    verdict = Text("ok", "green") if result.ok else Text("error" if result.error else "wrong", "bold red")
    return [result.name, result.size, compile_ms, *numbers, verdict]


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _error(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}"


class LiveTable:
    """The table on a terminal while the demo runs; shows nothing where ``console`` is no terminal.

    total: how many results there will be. reference: as for result_table.
    """

    def __init__(self, console: Console, total: int, reference: str) -> None:
        self.total = total
        self.reference = reference
        self.results: list[Result] = []
        self._spinner = Spinner("dots")
        self._live = Live(console=console, get_renderable=self._render, transient=True, refresh_per_second=8)
        self._shown = console.is_terminal

    def __enter__(self) -> LiveTable:
        if self._shown:
            self._live.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown:
            self._live.stop()

    def doing(self, name: str, phase: str) -> None:
        """Say what is going on, such as ``doing("matmul", "compiling")``."""
        self._spinner.update(text=f"{name}: {phase}")

    def add(self, result: Result) -> None:
        """Append a finished row."""
        self.results.append(result)

    def _render(self) -> RenderableType:
        bar = Table.grid(padding=(0, 2, 0, 0))
        bar.add_row(ProgressBar(self.total, len(self.results), width=28), self._spinner)
        return Group(result_table(self.results, self.reference), bar) if self.results else bar
