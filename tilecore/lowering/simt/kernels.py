"""The kernels of a function, one at a time: the code inside the block and thread axes, and the threads."""

from __future__ import annotations

from collections.abc import Callable

from tilecore.ir.nodes import AttrStmt, IterVar, SeqStmt, Stmt
from tilecore.lowering.threads.kernels import Threads, threads_of


def each_kernel(body: Stmt, change: Callable[[Stmt, Threads], Stmt]) -> Stmt:
    """``body`` with ``change`` applied to the code of every kernel, in order."""
    if isinstance(body, SeqStmt):
        return SeqStmt([each_kernel(part, change) for part in body.seq], span=body.span)
    if not is_axis(body):
        return body
    levels: list[AttrStmt] = []
    inner: Stmt = body
    while is_axis(inner):
        levels.append(inner)
        inner = inner.body
    made = change(inner, threads_of(levels))
    for level in reversed(levels):
        made = AttrStmt(level.node, level.attr_key, level.value, made, span=level.span)
    return made


def is_axis(node: Stmt) -> bool:
    """An axis of blocks or threads."""
    return isinstance(node, AttrStmt) and isinstance(node.node, IterVar) and node.attr_key == "thread_extent"


def threads_in(body: Stmt) -> int | None:
    """The number of threads of the kernels, where all have the same."""
    found: set[int] = set()

    def note(inner: Stmt, threads: Threads) -> Stmt:
        found.add(threads.count)
        return inner

    each_kernel(body, note)
    return found.pop() if len(found) == 1 else None
