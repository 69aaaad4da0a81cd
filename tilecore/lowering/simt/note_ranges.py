"""Checks the ranges of threads that execute parts of a kernel (ir/thread_ranges.py), and notes them for later passes.

Each range of a kernel gets one variable for the thread index in it, which all code of that range shares. Every tile
operation inside gets the hint "threads", the number of threads that execute it together. If the kernels of a function
have different numbers of threads, every tile operation gets the hint. A range of all threads is removed.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import LanguageError
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import seq, with_body
from tilecore.ir.nodes import AttrStmt, Evaluate, For, IfThenElse, PrimFunc, SeqStmt, Stmt, Var, While
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import ThreadRange, for_threads, has_ranges, range_of
from tilecore.ir.tile_ops import as_tile_call
from tilecore.lowering.analysis.kernels import Threads, each_kernel, threads_in
from tilecore.lowering.simt.state import ThreadCount


def note_ranges(func: PrimFunc, env: PassEnv) -> PrimFunc:
    count = threads_in(func.body)
    env.publish(ThreadCount(count))
    differ = count is None

    def change(body: Stmt, threads: Threads) -> Stmt:
        if not has_ranges(body) and not differ:
            return body
        return _RangeNotes(threads.count, env.capabilities.warp, differ).statement(body, ThreadRange(0, threads.count))

    return func.with_body(each_kernel(func.body, change))


class _RangeNotes:
    """Checks and notes the ranges of one kernel of ``count`` threads. always: note ``count``, too."""

    def __init__(self, count: int, warp: int, always: bool) -> None:
        self.count, self.warp, self.always = count, warp, always
        self.index_vars: dict[ThreadRange, Var] = {}

    def statement(self, node: Stmt, current: ThreadRange) -> Stmt:
        if isinstance(node, SeqStmt):
            return seq([self.statement(part, current) for part in node.seq])
        if isinstance(node, For):
            return with_body(node, self.statement(node.body, current))
        if isinstance(node, While):
            return While(node.condition, self.statement(node.body, current), span=node.span)
        if isinstance(node, IfThenElse):
            other = None if node.else_case is None else self.statement(node.else_case, current)
            return IfThenElse(node.condition, self.statement(node.then_case, current), other, span=node.span)
        if isinstance(node, AttrStmt):
            return self._attribute(node, current)
        return self._simple(node, current)

    def _attribute(self, node: AttrStmt, current: ThreadRange) -> Stmt:
        inner = range_of(node)
        if inner is None:
            return AttrStmt(node.node, node.attr_key, node.value, self.statement(node.body, current), span=node.span)
        self._check(inner, current, node)
        body = self.statement(node.body, inner)
        if inner == current:
            return body
        thread_index = self.index_vars.setdefault(inner, Var(f"thread_{inner.first}", "int32"))
        return for_threads(inner, body, thread_index, node.span)

    def _check(self, inner: ThreadRange, current: ThreadRange, node: Any) -> None:
        """Raises LanguageError for threads outside of ``current``, and for parts of warps."""
        location = location_of_span(node.span)
        if inner.first < current.first or inner.stop > current.stop:
            reason = f"the block has {self.count} threads"
            if current.count != self.count:
                reason = f"only {current} reach this code"
            raise LanguageError(
                "the code is for threads that do not reach it",
                location=location,
                found=f"code for {inner}; {reason}",
                expected="a range of the threads that reach the code",
                hint="T.Kernel(threads=...) sets how many threads a block has",
            )
        if inner.first % self.warp or inner.count % self.warp:
            raise LanguageError(
                "the code is for a part of a warp",
                location=location,
                found=f"code for {inner}",
                expected=f"a range of whole warps of {self.warp} threads",
                hint="use an `if` on the thread index for code of single threads",
            )

    def _simple(self, node: Stmt, current: ThreadRange) -> Stmt:
        call = as_tile_call(node) if isinstance(node, Evaluate) else None
        if call is None or (current.count == self.count and not self.always):
            return node
        arrivals = call.hints.get(CallAttr.ARRIVALS)
        if arrivals is not None and int(arrivals) != current.count != self.count:
            raise LanguageError(
                f"T.sync_threads waits for {arrivals} threads in code that {current.count} threads execute",
                location=location_of_span(node.span),
                found=f"arrive_count={arrivals} in the code of {current}",
                expected=f"a barrier of the {current.count} threads that execute the code",
                hint="put the code of all waiting threads into one T.ws, or wait at a barrier in memory (mbarrier)",
            )
        return call.rebuilt(hints={**call.hints, CallAttr.THREADS: current.count})


NOTE_RANGES = Pass("note_ranges", note_ranges, leaves=(ThreadCount,))
