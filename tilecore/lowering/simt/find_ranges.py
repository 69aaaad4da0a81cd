"""Converts conditions on the thread index around collective code to code of a range of threads (warp specialization).

This happens only in kernels that use names of the target's own language, or a T.sync_threads that says how many
threads of the block wait: there ``if tx < 128:`` means what T.ws(0) does. In other kernels such code is an error
(normalize/check_threads.py). A condition that only one thread satisfies stays, and the target's own operations inside
get the hint "alone".
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import LanguageError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import all_of, const, constant, dtype_of, seq, where, with_body
from tilecore.ir.dialect_calls import dialect_calls, dialect_of
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
from tilecore.lowering.analysis.uniformity import is_parallel


def find_ranges(func: PrimFunc, env: PassEnv) -> PrimFunc:
    warp = env.capabilities.warp

    def change(body: Stmt, threads: Threads) -> Stmt:
        if not dialect_calls(body) and not _has_barriers_of_some(body, threads.count):
            return body
        return _Ranges(threads, warp).statement(body, tuple(range(threads.count)))

    return func.with_body(each_kernel(func.body, change))


ThreadIndices = tuple[int, ...]


def _has_barriers_of_some(body: Stmt, count: int) -> bool:
    """Is there a T.sync_threads for fewer threads than the block has?"""
    calls = (as_tile_call(node) for node in collect(body, Evaluate))
    arrivals = (call.hints.get(CallAttr.ARRIVALS) for call in calls if call is not None)
    return any(number is not None and int(number) < count for number in arrivals)


class _Ranges:
    """Finds the ranges of one kernel. reaching: the indices of the threads that reach a statement."""

    def __init__(self, threads: Threads, warp: int) -> None:
        self.threads = threads
        self.axes = {axis.var for axis in threads.axes}
        self.warp = warp
        self.results: dict[tuple[Any, ThreadIndices], ThreadIndices | None] = {}

    def statement(self, node: Stmt, reaching: ThreadIndices) -> Stmt:
        if isinstance(node, SeqStmt):
            return seq([self.statement(part, reaching) for part in node.seq])
        if isinstance(node, For) and not is_parallel(node):
            return with_body(node, self.statement(node.body, reaching))
        if isinstance(node, While):
            return While(node.condition, self.statement(node.body, reaching), span=node.span)
        if isinstance(node, AttrStmt):
            threads = range_of(node)
            body = self.statement(node.body, reaching if threads is None else tuple(range(threads.first, threads.stop)))
            return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span)
        return self._branch(node, reaching, []) if isinstance(node, IfThenElse) else node

    def _branch(self, node: IfThenElse, reaching: ThreadIndices, guards: list[Any]) -> Stmt:
        """guards: the conditions of ``reaching`` that no enclosing statement tests."""
        condition = node.condition
        if isinstance(condition, tirx.And) and node.else_case is None:  # the condition on the thread index goes outside
            outer, inner = condition.a, condition.b
            if self._satisfying(outer, reaching) is None:
                outer, inner = inner, outer
            if self._satisfying(condition, reaching) is None and self._satisfying(outer, reaching) is not None:
                nested = IfThenElse(inner, node.then_case, None, span=node.span)
                return self._branch(IfThenElse(outer, nested, None, span=node.span), reaching, guards)
        satisfying = self._satisfying(condition, reaching)
        if satisfying is None:
            if guards or variables(condition) & self.axes:
                self._check(node, node.then_case, node.else_case)
            other = None if node.else_case is None else self.statement(node.else_case, reaching)
            branch = IfThenElse(condition, self.statement(node.then_case, reaching), other, span=node.span)
            return where(guards, branch)
        others = tuple(sorted({*reaching} - {*satisfying}))
        parts = [self._side(node, node.then_case, satisfying, [*guards, condition])]
        if node.else_case is not None:
            parts.append(self._side(node, node.else_case, others, [*guards, tirx.Not(condition)]))
        return seq(parts)

    def _side(self, node: IfThenElse, body: Stmt, reaching: ThreadIndices, guards: list[Any]) -> Stmt:
        """One side of a branch."""
        if len(reaching) == 1:
            return IfThenElse(all_of(guards), self._alone(body), None, span=node.span)
        threads = ThreadRange(reaching[0], len(reaching)) if reaching else ThreadRange(0, 0)
        is_contiguous = reaching and reaching[-1] == threads.stop - 1
        if is_contiguous and not (threads.first % self.warp or threads.count % self.warp) and _is_collective(body):
            return for_threads(threads, self.statement(body, reaching), span=node.span)
        if isinstance(body, IfThenElse) and reaching:  # an elif: each of its sides may be a range
            return self._branch(body, reaching, guards)
        self._check(node, body)
        return IfThenElse(all_of(guards), self.statement(body, reaching), None, span=node.span)

    def _satisfying(self, condition: Any, reaching: ThreadIndices) -> ThreadIndices | None:
        """The threads of ``reaching`` that satisfy a condition; None where it depends on more than the thread index."""
        names = variables(condition)
        if not names or names - self.axes or collect(condition, Call, TensorLoad):
            return None
        key = condition, reaching
        if key not in self.results:
            analyzer = Analyzer()
            holds = (constant(analyzer.simplify(substitute(condition, self._axis_indices(n)))) for n in reaching)
            self.results[key] = tuple(n for n, is_satisfied in zip(reaching, holds, strict=True) if is_satisfied)
        return self.results[key]

    def _axis_indices(self, thread_index: int) -> dict[Var, Any]:
        """The index along each axis of the block of the thread with this linear index."""
        indices = {}
        for axis in self.threads.axes:
            indices[axis.var] = const(thread_index % axis.extent, dtype_of(axis.var))
            thread_index //= axis.extent
        return indices

    def _alone(self, body: Stmt) -> Stmt:
        """``body`` with the hint "alone" on the target's own operations."""

        def mark(node: Evaluate) -> Stmt:
            call = as_tile_call(node)
            return (
                call.rebuilt(hints={**call.hints, CallAttr.ALONE: 1})
                if call is not None and _is_of_target(call)
                else node
            )

        return structural_map(body, (Evaluate, mark))

    def _check(self, node: IfThenElse, *sides: Any) -> None:
        """Raises LanguageError if one of the sides has a collective operation of the target."""
        for side in sides:
            for inner in [] if side is None else collect(side, Evaluate):
                call = as_tile_call(inner)
                if call is not None and _is_of_target(call):
                    operation = name_in_language(call)
                    raise LanguageError(
                        f"{operation} is executed by threads that are not a range of whole warps",
                        location=location_of_span(call.span),
                        found=f"the call under the condition {node.condition}",
                        expected=f"all threads, one thread, or contiguous threads in whole warps of {self.warp}",
                        hint="put the condition on the thread index into an `if` of its own",
                    )


def _is_of_target(call: TileCall) -> bool:
    """Is the call an operation of the target's own language?"""
    return "." in call.op.name


def _is_collective(body: Stmt) -> bool:
    """Does the code contain an operation that threads execute together, or one of the target's own language? Threads
    that run it are a role, which barriers do not order with other code."""
    if any(is_parallel(loop) for loop in collect(body, For)):
        return True
    if any(dialect_of(call) is not None for call in collect(body, Call)):
        return True
    calls = (as_tile_call(node) for node in collect(body, Evaluate))
    return any(c is not None and (c.op.collective or c.op.name == "sync_threads" or _is_of_target(c)) for c in calls)


FIND_RANGES = Pass("find_ranges", find_ranges)
