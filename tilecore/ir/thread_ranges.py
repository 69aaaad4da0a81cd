"""Represents code that a range of the threads of a block executes (warp specialization), by a statement attribute.

``AttrStmt(axis, "tile.threads", first, body)``: the threads with linear indices (x fastest) from ``first`` on execute
``body``. The range of the IterVar ``axis`` gives their number, and its variable is the index of a thread in the range.
Collective operations in ``body`` (tile operations, T.Parallel, barriers) are executed by these threads together. The
bodies of ranges without a common thread are not ordered, except by barriers that the kernel contains itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, constant
from tilecore.ir.nodes import AttrStmt, IterVar, Range, Stmt, Var
from tilecore.ir.visit import collect

TAG = "threads"


@dataclass(frozen=True)
class ThreadRange:
    """A range of the threads of a block. first: the linear index of the first thread. count: the number of threads."""

    first: int
    count: int

    @property
    def stop(self) -> int:
        return self.first + self.count

    def meets(self, other: ThreadRange) -> bool:
        """Do the two ranges have a thread in common?"""
        return self.first < other.stop and other.first < self.stop

    def divides(self, other: ThreadRange) -> bool:
        """Does this range contain some, but not all, of the threads of the other range?"""
        return self.meets(other) and (other.first < self.first or self.stop < other.stop)

    def __str__(self) -> str:
        return f"threads {self.first} to {self.stop - 1}"


def for_threads(threads: ThreadRange, body: Stmt, thread: Var | None = None, span: Any = None) -> AttrStmt:
    """``body``, executed by these threads. thread: the variable of the index of a thread in the range."""
    var = Var("thread", "int32") if thread is None else thread
    domain = Range.from_min_extent(const(0, "int32"), const(threads.count, "int32"))
    return AttrStmt(
        IterVar(domain, var, IterVar.ThreadIndex, TAG), StatementAttr.THREADS, const(threads.first, "int32"), body, span
    )


def range_of(node: Any) -> ThreadRange | None:
    """The range of threads of a statement that :func:`for_threads` created; None for any other statement."""
    if not isinstance(node, AttrStmt) or node.attr_key != StatementAttr.THREADS:
        return None
    return ThreadRange(int(constant(node.value) or 0), int(constant(node.node.dom.extent) or 0))


def number_in(node: AttrStmt) -> Var:
    """The variable of the index of a thread in its range."""
    return node.node.var


def has_ranges(body: Any) -> bool:
    """Is there code of a range of threads anywhere in ``body``?"""
    return any(node.attr_key == StatementAttr.THREADS for node in collect(body, AttrStmt))
