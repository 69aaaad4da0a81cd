"""A progress bar on standard error, when a person is watching."""

from __future__ import annotations

import sys
from typing import Any


class Progress:
    """Context manager: a bar that ``advance`` moves on.

    show: None for terminals only, False for never, True for always.
    """

    def __init__(self, title: str, total: int, show: bool | None = None) -> None:
        self.title = title
        self.total = total
        self.shown = on_terminal() if show is None else show
        self._forced = bool(show)
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self.shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            console = Console(stderr=True, force_terminal=True if self._forced else None)
            self._bar = Bar(*columns, TextColumn("{task.fields[note]}"), console=console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=self.total, note="")
        return self

    def advance(self, note: str = "") -> None:
        """One more is done; ``note`` is shown beside the bar."""
        if self._bar is not None:
            self._bar.update(self._task, advance=1, note=note)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def on_terminal() -> bool:
    """Is standard error a terminal?"""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # it is closed
        return False
