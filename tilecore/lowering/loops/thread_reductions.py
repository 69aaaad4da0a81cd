"""Lowers reductions across threads (tile.allreduce): each thread stores its value to memory, then the block reduces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.errors import UnsupportedError
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import cast, const, dtype_of, load, loop, op_name, seq, store
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferLoad,
    BufferStore,
    Call,
    For,
    IfThenElse,
    Stmt,
    Var,
    While,
    structural_map,
    tirx,
)
from tilecore.ir.reductions import accumulator, combine, combining_kind, element, identity
from tilecore.ir.scopes import REDUCE
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_groups import ThreadGroups
from tilecore.ir.tile_op_table import ALLREDUCE
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import Threads


@dataclass
class ThreadReduction:
    """``results[g]`` = the reduction of the values of the threads of group g. values: one for each thread."""

    values: Var
    results: Var
    kind: str
    groups: ThreadGroups
    span: Any

    def statement(self) -> Stmt:
        groups = const(self.groups.count, "int32")
        return loop(groups, self._reduce_group, name="group", span=self.span)

    def _reduce_group(self, group: Any) -> Stmt:
        dtype = dtype_of(self.values)
        total_dtype, zero = accumulator(dtype), const(0, "int32")
        total = tirx.decl_buffer([1], total_dtype, "total", scope=REDUCE + combining_kind(self.kind), layout=None)
        current = load(total, [zero], self.span)

        def step(position: Any) -> Stmt:
            thread_index = self.groups.member(group, position)
            value = element(self.kind, cast(load(self.values, [thread_index], self.span), total_dtype))
            return store(total, combine(self.kind, current, value), [zero], self.span)

        return seq(
            [
                AllocBuffer(total),
                store(total, identity(self.kind, total_dtype), [zero], self.span),
                loop(self._size(group), step, name="r", span=self.span, notes={LoopAttr.REDUCTION: self.kind}),
                store(self.results, cast(current, dtype), [group], self.span),
            ]
        )

    def _size(self, group: Any) -> Any:
        """Threads of a group; the last one may have fewer."""
        size = const(self.groups.extent, "int32")
        if self.groups.threads % (self.groups.extent * self.groups.stride) == 0:
            return size
        return tirx.min(size, self.groups.threads - group * self.groups.extent)


def has_reduction(node: Any) -> bool:
    return any(op_name(call) == ALLREDUCE for call in collect(node, Call))


def groups_of(call: Call, threads: Threads) -> ThreadGroups:
    """The groups of threads that an allreduce combines."""
    return ThreadGroups.of(threads.count, int(call.args[2]), int(call.args[3]))


def extract_reductions(statement: Stmt, threads: Threads) -> list[Any]:
    """``statement`` with every allreduce replaced by a load of its result, and before it the code of the reduction.

    That code is the memory, a store of each thread's value, and a :class:`ThreadReduction`. Reductions in the bodies of
    loops and branches stay until these bodies are split.
    """
    if isinstance(statement, (For, While)):
        bounds = [statement.condition] if isinstance(statement, While) else [statement.min, statement.extent]
        if any(has_reduction(bound) for bound in bounds):
            raise UnsupportedError(
                "a reduction across threads stands in the condition or the bounds of a loop",
                location=location_of_span(statement.span),
                hint="store its result in a T.alloc_var before the loop",
            )
        return [statement]
    if isinstance(statement, IfThenElse) and has_reduction(statement.condition):
        before, condition = _extract(statement.condition, threads, statement.span)
        return [*before, IfThenElse(condition, statement.then_case, statement.else_case, span=statement.span)]
    if isinstance(statement, IfThenElse) or hasattr(statement, "body") or not has_reduction(statement):
        return [statement]
    before, statements = _extract(statement, threads, statement.span)
    return [*before, statements]


def _extract(node: Any, threads: Threads, span: Any) -> tuple[list[Any], Any]:
    before: list[Any] = []

    def replace(call: Call) -> Any:
        if op_name(call) != ALLREDUCE:
            return call
        groups, dtype = groups_of(call, threads), dtype_of(call)
        values = _buffer("value_of", threads.count, dtype)
        group_results = _buffer("joined", groups.count, dtype)
        before.extend([AllocBuffer(values), AllocBuffer(group_results)])
        before.append(BufferStore(values, cast(call.args[0], dtype), [threads.linear_index()], span=span))
        before.append(ThreadReduction(values, group_results, str(call.args[1].value), groups, span))
        group = const(0, "int32") if groups.is_whole_block else groups.group(threads.linear_index())
        return BufferLoad(group_results, [group], span=span)

    statements = structural_map(node, (Call, replace))
    return before, statements


def _buffer(name: str, count: int, dtype: str) -> Var:
    return tirx.decl_buffer([count], dtype, name, scope="shared", layout=None)


def guard_buffer(threads: Threads) -> Var:
    """A buffer with one bool for each thread: whether the thread executes the guarded statements."""
    return _buffer("takes_part", threads.count, "bool")
