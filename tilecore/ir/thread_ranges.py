"""Code that only some threads of a block run: a statement attribute that holds the range.

``AttrStmt(number, "tile.threads", first, body)``: of the block's threads, numbered with x fastest, those from ``first``
on do ``body``, as many as the range of the IterVar ``number`` has values; its variable is a thread's number among them.
What the block does together outside (operations on tiles, T.Parallel, barriers) is done in ``body`` by these threads
together. No order holds between the bodies of ranges that have no thread in common: the kernel's own barriers make one.
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
    """first: number of the first thread in its block. count: how many."""

    first: int
    count: int

    @property
    def stop(self) -> int:
        return self.first + self.count

    def meets(self, other: ThreadRange) -> bool:
        """Have they threads in common?"""
        return self.first < other.stop and other.first < self.stop

    def divides(self, other: ThreadRange) -> bool:
        """Are some of the other's threads in it, and some not?"""
        return self.meets(other) and (other.first < self.first or self.stop < other.stop)

    def __str__(self) -> str:
        return f"threads {self.first} to {self.stop - 1}"


def for_threads(threads: ThreadRange, body: Stmt, thread: Var | None = None, span: Any = None) -> AttrStmt:
    """``body`` for these threads; thread: the variable of a thread's index among them."""
    var = Var("thread", "int32") if thread is None else thread
    domain = Range.from_min_extent(const(0, "int32"), const(threads.count, "int32"))
    return AttrStmt(
        IterVar(domain, var, IterVar.ThreadIndex, TAG), StatementAttr.THREADS, const(threads.first, "int32"), body, span
    )


def range_of(node: Any) -> ThreadRange | None:
    """The threads of a statement that :func:`for_threads` made; None for any other."""
    if not isinstance(node, AttrStmt) or node.attr_key != StatementAttr.THREADS:
        return None
    return ThreadRange(int(constant(node.value) or 0), int(constant(node.node.dom.extent) or 0))


def number_in(node: AttrStmt) -> Var:
    """The variable of a thread's number among those of its range."""
    return node.node.var


def has_ranges(body: Any) -> bool:
    return any(node.attr_key == StatementAttr.THREADS for node in collect(body, AttrStmt))
