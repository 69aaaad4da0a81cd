"""Conditions on a thread's number around code that threads do together become code of a range of threads.

Only in kernels that say themselves who does what, by names of the target's own language: ``if tx < 128:`` is what
T.ws(0) says there. In others such code is a mistake (threads/checks.py). A condition that one thread meets stays, and
the target's own operations inside are told that they are done by one (the hint "alone").
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import LanguageError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, const, constant, dtype_of, seq, where, with_body
from tilecore.ir.dialect_calls import dialect_calls
from tilecore.ir.nodes import (
    AttrStmt,
    Call,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    While,
    structural_map,
    tirx,
)
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import ThreadRange, for_threads, range_of
from tilecore.ir.tile_ops import TileCall, as_tile_call, name_in_language
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.analysis.uniformity import COLLECTIVE, is_parallel

ALONE = "alone"  # hint: one thread comes to the operation


def find_ranges(func: PrimFunc, env: PassEnv) -> PrimFunc:
    warp = env.capabilities.warp

    def change(body: Stmt, threads: Threads) -> Stmt:
        if not dialect_calls(body):
            return body
        return _Ranges(threads, warp).statement(body, tuple(range(threads.count)))

    return func.with_body(each_kernel(func.body, change))


Numbers = tuple[int, ...]  # of threads


class _Ranges:
    """who: the numbers of the threads that come to a statement."""

    def __init__(self, threads: Threads, warp: int) -> None:
        self.threads = threads
        self.axes = {axis.var for axis in threads.axes}
        self.warp = warp
        self.known: dict[tuple[Any, Numbers], Numbers | None] = {}

    def statement(self, node: Stmt, who: Numbers) -> Stmt:
        if isinstance(node, SeqStmt):
            return seq([self.statement(part, who) for part in node.seq])
        if isinstance(node, For) and not is_parallel(node):
            return with_body(node, self.statement(node.body, who))
        if isinstance(node, While):
            return While(node.condition, self.statement(node.body, who), span=node.span)
        if isinstance(node, AttrStmt):
            some = range_of(node)
            body = self.statement(node.body, who if some is None else tuple(range(some.first, some.stop)))
            return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span)
        return self._branch(node, who, []) if isinstance(node, IfThenElse) else node

    def _branch(self, node: IfThenElse, who: Numbers, guards: list[Any]) -> Stmt:
        """guards: what holds for these threads and no others, where nothing around says so."""
        condition = node.condition
        if isinstance(condition, tirx.And) and node.else_case is None:  # what is about threads stands outside
            outer, inner = condition.a, condition.b
            if self._meeting(outer, who) is None:
                outer, inner = inner, outer
            if self._meeting(condition, who) is None and self._meeting(outer, who) is not None:
                nested = IfThenElse(inner, node.then_case, None, span=node.span)
                return self._branch(IfThenElse(outer, nested, None, span=node.span), who, guards)
        met = self._meeting(condition, who)
        if met is None:
            if guards or variables(condition) & self.axes:
                self._check(node, node.then_case, node.else_case)
            other = None if node.else_case is None else self.statement(node.else_case, who)
            made = IfThenElse(condition, self.statement(node.then_case, who), other, span=node.span)
            return where(guards, made)
        inside = set(met)
        rest = tuple(number for number in who if number not in inside)
        parts = [self._side(node, node.then_case, met, [*guards, condition])]
        if node.else_case is not None:
            parts.append(self._side(node, node.else_case, rest, [*guards, tirx.Not(condition)]))
        return seq(parts)

    def _side(self, node: IfThenElse, body: Stmt, met: Numbers, guards: list[Any]) -> Stmt:
        """One side of a branch, which these threads come to."""
        if len(met) == 1:
            return IfThenElse(all_of(guards), self._alone(body), None, span=node.span)
        some = ThreadRange(met[0], len(met)) if met else ThreadRange(0, 0)
        is_range = met and met[-1] == some.stop - 1 and not some.first % self.warp and not some.count % self.warp
        if is_range and _is_joint(body):
            return for_threads(some, self.statement(body, met), span=node.span)
        if isinstance(body, IfThenElse) and met:  # elif: each of its sides may be a range
            return self._branch(body, met, guards)
        self._check(node, body)
        return IfThenElse(all_of(guards), self.statement(body, met), None, span=node.span)

    def _meeting(self, condition: Any, who: Numbers) -> Numbers | None:
        """Those of the threads for which it holds; None where that is not about their numbers alone."""
        names = variables(condition)
        if not names or names - self.axes or collect(condition, Call, TensorLoad):
            return None
        key = condition, who
        if key not in self.known:
            analyzer = Analyzer()
            holds = (constant(analyzer.simplify(substitute(condition, self._indices(n)))) for n in who)
            self.known[key] = tuple(n for n, held in zip(who, holds, strict=True) if held)
        return self.known[key]

    def _indices(self, number: int) -> dict[Var, Any]:
        """Of the thread of this number."""
        made = {}
        for axis in self.threads.axes:
            made[axis.var] = const(number % axis.extent, dtype_of(axis.var))
            number //= axis.extent
        return made

    def _alone(self, body: Stmt) -> Stmt:
        def mark(node: Evaluate) -> Stmt:
            call = as_tile_call(node)
            return call.rebuilt(hints={**call.hints, ALONE: 1}) if call is not None and _is_own(call) else node

        return structural_map(body, (Evaluate, mark))

    def _check(self, node: IfThenElse, *sides: Any) -> None:
        """Nothing that threads do together is in it."""
        for side in sides:
            for inner in [] if side is None else collect(side, Evaluate):
                call = as_tile_call(inner)
                if call is not None and _is_own(call):
                    what = name_in_language(call)
                    raise LanguageError(
                        f"{what} is reached by threads that are no range of whole warps",
                        location=location_of_span(call.span),
                        found=f"it stands under the condition {node.condition}",
                        expected=f"all threads, one, or a number of neighbours that is a multiple of {self.warp}",
                        hint="put the condition on the thread's number into an `if` of its own",
                    )


def _is_own(call: TileCall) -> bool:
    """Is it an operation of the target's own?"""
    return "." in call.op.name


def _is_joint(body: Stmt) -> bool:
    """Is something in it that threads do together?"""
    if any(is_parallel(loop) for loop in collect(body, For)):
        return True
    calls = (as_tile_call(node) for node in collect(body, Evaluate))
    return any(c is not None and (c.op.name in (*COLLECTIVE, "sync_threads") or _is_own(c)) for c in calls)


FIND_RANGES = Pass("find_ranges", find_ranges)
