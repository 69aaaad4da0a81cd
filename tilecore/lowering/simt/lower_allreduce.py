"""Lowers reductions across threads: shuffles within a warp, shared memory across warps.

The members of a group are ``stride`` threads apart. First the members in one warp reduce by a butterfly of shuffles:
after log2 steps each of them has the result. Then each warp stores its result in shared memory, and every thread
reduces the results of the warps. A backend whose hardware reduces over all lanes of a warp gives a function that puts
its own call in place of a butterfly: it replaces the pass by one that calls :func:`lower_allreduce` with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.build import const, constant, dtype_of, load, loop, op_name, seq, store
from tilecore.ir.intrinsics import is_nan
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    PrimFunc,
    Select,
    SeqStmt,
    Stmt,
    Var,
    While,
    structural_mutate,
    tirx,
)
from tilecore.ir.reductions import NUMBERS, combine, identity, ignores_nan
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import SHUFFLE
from tilecore.ir.thread_groups import ThreadGroups
from tilecore.ir.thread_ops import thread_call
from tilecore.ir.thread_ranges import number_in, range_of
from tilecore.ir.tile_op_table import ALLREDUCE
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import ThreadAxis, Threads, each_kernel
from tilecore.lowering.analysis.uniformity import Division, Uniformity
from tilecore.lowering.simt.lower_shuffles import WARP
from tilecore.lowering.simt.state import UniformBuffers

OfWarp = Callable[[str, Expr], "Expr | None"]  # of (kind of ir/reductions.py, value): the call, or None for a butterfly


def _by_butterfly(kind: str, value: Expr) -> Expr | None:
    return None


def shuffle(value: Expr, lane: Any, kind: str, width: int) -> Expr:
    """``simt.shuffle``: the value of another thread of the warp, in parts of ``width`` lanes.

    kind: "idx", "xor", "up" or "down"; it says how ``lane`` names the other thread.
    """
    return thread_call(SHUFFLE, [value, lane, kind, width], dtype=dtype_of(value))


def lower_allreduce(func: PrimFunc, env: PassEnv, of_warp: OfWarp = _by_butterfly) -> PrimFunc:
    """Lowers reductions across threads: exchanges between the lanes of a warp, shared memory between warps.

    of_warp: makes the value of a whole warp from (kind, value of a lane), or returns None where the backend has no
    instruction for it; by default exchanges with lanes whose numbers differ in one bit.
    """
    warp = env.capabilities.warp
    uniform = env.state(UniformBuffers).buffers

    def change(body: Stmt, threads: Threads) -> Stmt:
        uniformity = Uniformity(body, threads)
        divergences: list[Division] = []  # of the enclosing loops and conditions

        def compound(node: Any, mutator: Any) -> Any:
            divergences.append(uniformity.divergence(node))
            rewritten = mutator.default_mutate(node)
            divergences.pop()
            return rewritten

        groups = [threads]  # the threads of the block, and of the enclosing range
        ranges = [uniformity.block]

        def ranged(node: AttrStmt, mutator: Any) -> Any:
            thread_range = range_of(node)
            if thread_range is None:
                return mutator.default_mutate(node)
            groups.append(Threads((ThreadAxis("x", number_in(node), thread_range.count),)))
            ranges.append(thread_range)
            rewritten = mutator.default_mutate(node)
            ranges.pop()
            groups.pop()
            return rewritten

        def lowered(node: Any, mutator: Any) -> Any:
            rewritten = mutator.default_mutate(node)
            if not any(op_name(c) == ALLREDUCE for c in collect(rewritten, Call)):
                return rewritten
            reductions = _Reductions(groups[-1], warp, uniform, of_warp)
            result = reductions.statement(rewritten)
            if reductions.uses_shared_memory and any(divergence.of(ranges[-1]) for divergence in divergences):
                raise _divergent_reduction(node, warp)
            return result

        leaves = [(kind, lowered) for kind in (BufferStore, Bind, Evaluate)]
        return structural_mutate(
            body, [*leaves, (AttrStmt, ranged), *((kind, compound) for kind in (For, While, IfThenElse))]
        )

    return func.with_body(each_kernel(func.body, change))


def _divergent_reduction(node: Stmt, warp: int) -> UnsupportedError:
    return UnsupportedError(
        "a reduction across threads of different warps is in divergent code",
        location=location_of_span(node.span),
        found="a loop or an if that not all threads of the block execute together",
        expected=f"uniform code; in divergent code, groups of 2, 4, ... or {warp} neighbouring threads of whole warps",
        hint="reduce before the loop or the if, or make its condition the same for all threads of the block",
    )


class _Reductions:
    """Lowers the reductions in one statement. before: the statements that compute their results."""

    def __init__(self, threads: Threads, warp: int, uniform: set[Var], of_warp: OfWarp) -> None:
        self.threads, self.warp, self.uniform, self.of_warp = threads, warp, uniform, of_warp
        self.thread_index = threads.linear_index()
        self.before: list[Stmt] = []
        self.uses_shared_memory = False

    def statement(self, node: Stmt) -> Stmt:
        def call(inner: Call, mutator: Any) -> Any:
            mutated = mutator.default_mutate(inner)
            return self.reduced(mutated) if op_name(mutated) == ALLREDUCE else mutated

        with_results = structural_mutate(node, [(Call, call)])
        return SeqStmt([*self.before, with_results])

    def reduced(self, call: Call) -> Expr:
        """The result of one reduction; adds the statements that compute it to ``before``."""
        value, kind = call.args[0], str(call.args[1].value)
        groups = ThreadGroups.of(self.threads.count, *(int(constant(a) or 0) for a in call.args[2:4]))
        cell = tirx.decl_buffer([1], dtype_of(value), "joined", scope="local", layout=None)
        if groups.is_whole_block:
            self.uniform.add(cell)
        zero = const(0, "int32")
        self.before += [AllocBuffer(cell), store(cell, value, [zero])]
        if ignores_nan(kind, dtype_of(cell)):  # lanes that compare a NaN in both directions would keep different values
            value = load(cell, [zero])
            self.before.append(store(cell, Select(is_nan(value), identity(kind, dtype_of(cell)), value), [zero]))
            kind += NUMBERS
        extent, stride = groups.extent, groups.stride
        span = extent * stride
        if self.threads.count % span and self.warp % span == 0:
            self._reduce_in_partial_warp(cell, kind, groups)
            return load(cell, [zero])
        members = self._members_in_warp(extent, stride)
        self._butterfly(cell, kind, members, stride)
        if extent > members:
            self._reduce_across_warps(cell, kind, ThreadGroups(self.threads.count, extent, stride), members)
        return load(cell, [zero])

    def _members_in_warp(self, extent: int, stride: int) -> int:
        """The number of members of a group that one butterfly in a warp can reduce; 1 if no butterfly is possible.

        A block of a whole number of the language's warps may have half a wave of 64 lanes at its end.
        """
        for lanes in (self.warp, min(self.warp, WARP)):
            members = min(extent, lanes // stride) if stride < lanes else 1
            is_butterfly = _is_power_of_two(members) and _is_power_of_two(stride) and extent % members == 0
            if is_butterfly and self.threads.count % (members * stride) == 0:
                return members
        return 1

    def _butterfly(self, cell: Var, kind: str, members: int, stride: int) -> None:
        """Reduces ``members`` threads of one warp, a power of two, that are ``stride`` apart, in log2 exchanges."""
        zero, step = const(0, "int32"), members // 2
        reduced = self.of_warp(kind, load(cell, [zero])) if members == self.warp else None
        if reduced is not None:
            self.before.append(store(cell, reduced, [zero]))
            return
        width = self._width(members * stride)
        while step:
            other = Var("other", dtype_of(cell))
            self.before.append(Bind(other, shuffle(load(cell, [zero]), step * stride, "xor", width)))
            self.before.append(store(cell, combine(kind, load(cell, [zero]), other), [zero]))
            step //= 2

    def _width(self, span: int) -> int:
        """The lanes that take part in a shuffle of groups of ``span`` lanes: a warp of the language, or all lanes."""
        return min(self.warp, max(span, WARP))

    def _reduce_in_partial_warp(self, cell: Var, kind: str, groups: ThreadGroups) -> None:
        """Reduces groups in one warp, the last of which may lack members: each thread reads the values one by one."""
        zero, span = const(0, "int32"), groups.extent * groups.stride
        mine = Var("mine", dtype_of(cell))
        self.before.append(Bind(mine, load(cell, [zero])))
        first = self.thread_index // span * span + self.thread_index % groups.stride
        last, width = const(self.threads.count - 1, "int32"), self._width(span)
        for position in range(groups.extent):
            member = first + position * groups.stride
            other = Var("other", dtype_of(cell))
            value = shuffle(mine, tirx.min(member, last) % width, "idx", width)
            self.before.append(Bind(other, value))
            total = other if position == 0 else combine(kind, load(cell, [zero]), other)
            update = store(cell, total, [zero])
            self.before.append(update if position == 0 else IfThenElse(member <= last, update, None))

    def _reduce_across_warps(self, cell: Var, kind: str, groups: ThreadGroups, inside: int) -> None:
        """Reduces across warps through shared memory, which has one element for each partial result.

        inside: the number of members of a group that share a partial result; 1: each thread has its own.
        """
        self.uses_shared_memory = True
        zero = const(0, "int32")
        thread, stride = self.thread_index, groups.stride
        span = inside * stride  # threads that hold one partial result for each of ``stride`` groups
        size = -(-self.threads.count // span) * stride
        memory = tirx.decl_buffer([size], dtype_of(cell), "joined_of_warps", scope="shared", layout=None)
        partial_index = thread // span * stride + thread % stride if inside > 1 else thread
        write = store(memory, load(cell, [zero]), [partial_index])
        if inside > 1:  # the members in one warp hold the same partial result: the first of them stores it
            write = IfThenElse(tirx.EQ(thread // stride % inside, zero), write, None)
        self.before += [AllocBuffer(memory), write]
        partials = groups.extent // inside  # of a group, ``stride`` elements apart
        group_size = stride * partials
        first = partial_index // group_size * group_size + partial_index % stride

        is_whole = self.threads.count % (groups.extent * stride) == 0  # else the last group has fewer members
        one_lane_each = inside == self.warp and partials <= self.warp and _is_power_of_two(partials)
        if is_whole and one_lane_each:
            self.before.append(store(cell, load(memory, [first + thread % partials]), [zero]))
            self._butterfly(cell, kind, partials, 1)
            return

        def add(position: Any) -> Stmt:
            other, index = Var("other", dtype_of(cell)), first + position * stride
            read = Bind(other, load(memory, [index]))
            update = seq([read, store(cell, combine(kind, load(cell, [zero]), other), [zero])])
            return update if is_whole else IfThenElse(index < const(size, "int32"), update, None)

        self.before.append(store(cell, load(memory, [first]), [zero]))
        self.before.append(loop(const(partials - 1, "int32"), lambda p: add(p + 1), name="w"))


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


LOWER_ALLREDUCE = Pass("lower_allreduce", lower_allreduce, leaves=(UniformBuffers,))  # exchanges between lanes
