"""Code of some threads of a block (ir/thread_ranges.py): checks the ranges, and notes them where passes ask for them.

Each range of a kernel gets one variable for a thread's number in it, however often it stands there, and every tile
operation inside the hint "threads": how many do it together; so does every one where kernels differ in how many threads
they have. A range of all threads goes away.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import LanguageError
from tilecore.ir.build import seq, with_body
from tilecore.ir.nodes import AttrStmt, Evaluate, For, IfThenElse, PrimFunc, SeqStmt, Stmt, Var, While
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import ARRIVALS, ThreadRange, for_threads, has_ranges, range_of
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.lowering.analysis.kernels import Threads, each_kernel, threads_in

HINT = "threads"


def threads_of_call(call: TileCall, env: PassEnv) -> int | None:
    """How many threads do a tile operation together."""
    own = call.hints.get(HINT)
    return int(own) if own is not None else env.facts.get("threads")


def note_ranges(func: PrimFunc, env: PassEnv) -> PrimFunc:
    differ = threads_in(func.body) is None

    def change(body: Stmt, threads: Threads) -> Stmt:
        if not has_ranges(body) and not differ:
            return body
        return _Notes(threads.count, env.capabilities.warp, differ).statement(body, ThreadRange(0, threads.count))

    return func.with_body(each_kernel(func.body, change))


class _Notes:
    def __init__(self, count: int, warp: int, always: bool) -> None:
        self.count, self.warp, self.always = count, warp, always
        self.numbers: dict[ThreadRange, Var] = {}

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
        number = self.numbers.setdefault(inner, Var(f"thread_{inner.first}", "int32"))
        return for_threads(inner, body, number, node.span)

    def _check(self, inner: ThreadRange, current: ThreadRange, node: Any) -> None:
        place = location_of_span(node.span)
        if inner.first < current.first or inner.stop > current.stop:
            around = (
                f"the block has {self.count} threads" if current.count == self.count else f"around it are {current}"
            )
            raise LanguageError(
                "code for threads that are not there",
                location=place,
                found=f"{inner}; {around}",
                expected="threads of those that come to it",
                hint="T.Kernel(threads=...) says how many a block has",
            )
        if inner.first % self.warp or inner.count % self.warp:
            raise LanguageError(
                "code for a part of a warp",
                location=place,
                found=str(inner),
                expected=f"whole warps of {self.warp} threads",
                hint="compare the thread's number in an `if` for what single threads do",
            )

    def _simple(self, node: Stmt, current: ThreadRange) -> Stmt:
        call = as_tile_call(node) if isinstance(node, Evaluate) else None
        if call is None or (current.count == self.count and not self.always):
            return node
        asked = call.hints.get(ARRIVALS)
        if asked is not None and int(asked) != current.count != self.count:
            raise LanguageError(
                f"T.sync_threads for {asked} threads in the code of {current.count}",
                location=location_of_span(node.span),
                expected="a barrier of the threads whose code it is in",
                hint="put what they do together into one T.ws, or wait at a barrier in memory",
            )
        return call.rebuilt(hints={**call.hints, HINT: current.count})


NOTE_RANGES = Pass("note_ranges", note_ranges)
