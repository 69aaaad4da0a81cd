"""Refuses inserted barriers in divergent control flow, where some of the threads would wait forever."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Evaluate, For, IfThenElse, SeqStmt, Stmt, While
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import ThreadRange, range_of
from tilecore.ir.tile_op_table import SYNC_THREADS
from tilecore.ir.visit import children
from tilecore.lowering.analysis.uniformity import Division, Uniformity

Fork = tuple[Stmt, Division]  # a loop or `if`, and the threads between which it is divergent


def check_reached(body: Stmt, uniformity: Uniformity) -> None:
    """Raises LanguageError for a barrier in ``body`` that some of its threads do not reach."""
    _statement(body, None, uniformity, uniformity.block, ())


def _statement(node: Stmt, behind: Any, uniformity: Uniformity, threads: ThreadRange, forks: tuple[Fork, ...]) -> None:
    """behind: the statement after ``node``. threads: the range that executes it. forks: around it, innermost first."""
    if isinstance(node, SeqStmt):
        parts = list(node.seq)
        for part, following in zip(parts, [*parts[1:], behind], strict=True):
            _statement(part, following, uniformity, threads, forks)
        return
    if isinstance(node, Evaluate) and op_name(node.value) == SYNC_THREADS:
        fork = next((fork for fork, division in forks if division.of(threads)), None)
        if fork is not None:
            raise _unreached(node, behind, fork, threads)
    if isinstance(node, (For, While, IfThenElse)):
        forks = ((node, uniformity.divergence(node)), *forks)
    for child in children(node):
        _statement(child, None, uniformity, range_of(node) or threads, forks)


def _unreached(barrier: Evaluate, behind: Any, fork: Stmt, threads: ThreadRange) -> LanguageError:
    spans = (getattr(part, "span", None) for part in (barrier, behind, fork))
    location = next((location for span in spans if (location := location_of_span(span)) is not None), None)
    fork_location = location_of_span(getattr(fork, "span", None))
    word = "`if`" if isinstance(fork, IfThenElse) else "loop"
    return LanguageError(
        f"{threads} need a barrier here, which some of them do not reach",
        location=location,
        found=f"memory that they share is written and read in the divergent {word}"
        + (f" of line {fork_location.line}" if fork_location else ""),
        expected="a `break` or `continue` that all of them take, or memory that no other threads access",
        hint="let all threads decide by the same value, or pass values on at a barrier in memory",
    )
