"""Refuses barriers that were put where threads that must meet there part ways: some of them would wait forever."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Evaluate, For, IfThenElse, SeqStmt, Stmt, While
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import ThreadRange, range_of
from tilecore.ir.visit import children
from tilecore.lowering.analysis.uniformity import Division, Uniformity

BARRIER = "tile.sync_threads"
Fork = tuple[Stmt, Division]  # a loop or `if`, and the threads that part ways in it


def check_reached(body: Stmt, uniformity: Uniformity) -> None:
    """Raise a LanguageError for a barrier in ``body`` that some of its threads do not reach."""
    _statement(body, None, uniformity, uniformity.block, ())


def _statement(node: Stmt, behind: Any, uniformity: Uniformity, threads: ThreadRange, forks: tuple[Fork, ...]) -> None:
    """behind: the statement after ``node``. threads: whose code it is. forks: around it, the innermost first."""
    if isinstance(node, SeqStmt):
        parts = list(node.seq)
        for part, following in zip(parts, [*parts[1:], behind], strict=True):
            _statement(part, following, uniformity, threads, forks)
        return
    if isinstance(node, Evaluate) and op_name(node.value) == BARRIER:
        fork = next((fork for fork, division in forks if division.of(threads)), None)
        if fork is not None:
            raise _unreached(node, behind, fork, threads)
    if isinstance(node, (For, While, IfThenElse)):
        forks = ((node, uniformity.divergence(node)), *forks)
    for child in children(node):
        _statement(child, None, uniformity, range_of(node) or threads, forks)


def _unreached(barrier: Evaluate, behind: Any, fork: Stmt, threads: ThreadRange) -> LanguageError:
    spans = (getattr(part, "span", None) for part in (barrier, behind, fork))
    place = next((place for span in spans if (place := location_of_span(span)) is not None), None)
    around = location_of_span(getattr(fork, "span", None))
    word = "`if`" if isinstance(fork, IfThenElse) else "loop"
    return LanguageError(
        f"{threads} must wait for each other here, and some of them do not come",
        location=place,
        found=f"memory that they share is written and read in the {word}"
        + (f" of line {around.line}" if around else "")
        + ", which threads leave or go on with at different times",
        expected="a `break` or `continue` that all of them take, or memory that only those who jump together touch",
        hint="let all threads decide by the same value, or hand values on at a barrier in memory",
    )
