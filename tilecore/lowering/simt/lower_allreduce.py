"""Joins of values over threads: shuffles within a warp, shared memory between warps.

A group whose members are ``stride`` apart: first the members in one warp join by exchanging values (after log2 steps
each has the result), then each warp leaves its result in shared memory and every thread joins those of the warps.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.build import const, constant, dtype_of, load, loop, op_name, seq, store
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
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    While,
    structural_mutate,
    tirx,
)
from tilecore.ir.reductions import join
from tilecore.ir.register_call import register_call
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_groups import ThreadGroups
from tilecore.ir.thread_ranges import number_in, range_of
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import ThreadAxis, Threads, each_kernel
from tilecore.lowering.analysis.uniformity import Division, Uniformity

ALLREDUCE = "tile.allreduce"
UNIFORM = "uniform"  # the fact: buffers of a thread that hold the same in all threads, though it is not plain to see
# (value, lane, kind: "idx" | "xor" | "up" | "down", width)
SHUFFLE = register_call("simt.shuffle")


def shuffle(value: Expr, lane: Any, kind: str, width: int) -> Expr:
    args = [value, lane if isinstance(lane, Expr) else const(lane, "int32"), StringImm(kind), const(width, "int32")]
    return Call(SHUFFLE, args, ret_ty=dtype_of(value))


def lower_allreduce(func: PrimFunc, env: PassEnv) -> PrimFunc:
    warp = env.capabilities.warp
    uniform = env.facts.setdefault(UNIFORM, set())

    def change(body: Stmt, threads: Threads) -> Stmt:
        uniformity = Uniformity(body, threads)
        partings: list[Division] = []  # of the loops and conditions around: who goes through them apart from others

        def around(node: Any, mutator: Any) -> Any:
            partings.append(uniformity.parting(node))
            made = mutator.default_mutate(node)
            partings.pop()
            return made

        groups = [threads]  # that join: those of the block, or of the range around
        ranges = [uniformity.block]

        def ranged(node: AttrStmt, mutator: Any) -> Any:
            some = range_of(node)
            if some is None:
                return mutator.default_mutate(node)
            groups.append(Threads((ThreadAxis("x", number_in(node), some.count),)))
            ranges.append(some)
            made = mutator.default_mutate(node)
            ranges.pop()
            groups.pop()
            return made

        def lowered(node: Any, mutator: Any) -> Any:
            made = mutator.default_mutate(node)
            if not any(op_name(c) == ALLREDUCE for c in collect(made, Call)):
                return made
            joins = _Joins(groups[-1], warp, uniform)
            result = joins.statement(made)
            if joins.over_memory and any(parting.of(ranges[-1]) for parting in partings):
                raise _cannot_meet(node, warp)
            return result

        leaves = [(kind, lowered) for kind in (BufferStore, Bind, Evaluate)]
        return structural_mutate(
            body, [*leaves, (AttrStmt, ranged), *((kind, around) for kind in (For, While, IfThenElse))]
        )

    return func.with_body(each_kernel(func.body, change))


def _cannot_meet(node: Stmt, warp: int) -> UnsupportedError:
    return UnsupportedError(
        "threads of different warps join values in a place that they reach at different times",
        location=location_of_span(node.span),
        expected=f"groups of a power of two of neighbours, at most {warp}, in blocks of whole warps",
        hint="join before the loop or the if, or let all threads go through it together",
    )


class _Joins:
    """The joins in one statement, done before it."""

    def __init__(self, threads: Threads, warp: int, uniform: set[Var]) -> None:
        self.threads, self.warp, self.uniform = threads, warp, uniform
        self.number = threads.number()
        self.before: list[Stmt] = []
        self.over_memory = False

    def statement(self, node: Stmt) -> Stmt:
        def call(inner: Call, mutator: Any) -> Any:
            made = mutator.default_mutate(inner)
            return self.joined(made) if op_name(made) == ALLREDUCE else made

        made = structural_mutate(node, [(Call, call)])
        return SeqStmt([*self.before, made])

    def joined(self, call: Call) -> Expr:
        value, kind = call.args[0], str(call.args[1].value)
        groups = ThreadGroups.of(self.threads.count, *(int(constant(a) or 0) for a in call.args[2:4]))
        cell = tirx.decl_buffer([1], dtype_of(value), "joined", scope="local", layout=None)
        if groups.is_whole_block:
            self.uniform.add(cell)
        zero = const(0, "int32")
        self.before += [AllocBuffer(cell), store(cell, value, [zero])]
        extent, stride = groups.extent, groups.stride
        span = extent * stride
        if self.threads.count % span and self.warp % span == 0:
            self._one_by_one(cell, kind, groups)
            return load(cell, [zero])
        inside = min(extent, self.warp // stride) if stride < self.warp else 1
        if not (
            _is_power(inside) and _is_power(stride) and extent % inside == 0 and self._whole_warps(inside * stride)
        ):
            inside = 1
        self._exchange(cell, kind, inside, stride)
        if extent > inside:
            self._across(cell, kind, ThreadGroups(self.threads.count, extent, stride), inside)
        return load(cell, [zero])

    def _whole_warps(self, width: int) -> bool:
        return self.threads.count % width == 0

    def _exchange(self, cell: Var, kind: str, members: int, stride: int) -> None:
        """Members in one warp, a power of two of them ``stride`` apart: all have the result after log2 exchanges."""
        zero, step = const(0, "int32"), members // 2
        while step:
            other = Var("other", dtype_of(cell))
            self.before.append(Bind(other, shuffle(load(cell, [zero]), step * stride, "xor", self.warp)))
            self.before.append(store(cell, join(kind, load(cell, [zero]), other), [zero]))
            step //= 2

    def _one_by_one(self, cell: Var, kind: str, groups: ThreadGroups) -> None:
        """Members in one warp, some of which the block may not have: each takes the value of one after the other."""
        zero, span = const(0, "int32"), groups.extent * groups.stride
        mine = Var("mine", dtype_of(cell))
        self.before.append(Bind(mine, load(cell, [zero])))
        first = self.number // span * span + self.number % groups.stride
        last = const(self.threads.count - 1, "int32")
        for position in range(groups.extent):
            member = first + position * groups.stride
            other = Var("other", dtype_of(cell))
            value = shuffle(mine, tirx.min(member, last) % self.warp, "idx", self.warp)
            self.before.append(Bind(other, value))
            joined = other if position == 0 else join(kind, load(cell, [zero]), other)
            step = store(cell, joined, [zero])
            self.before.append(step if position == 0 else IfThenElse(member <= last, step, None))

    def _across(self, cell: Var, kind: str, groups: ThreadGroups, inside: int) -> None:
        """Members of different warps, through shared memory: one cell for what each warp (or thread) has so far."""
        self.over_memory = True
        zero = const(0, "int32")
        span = inside * groups.stride  # threads that have one joined value for each of ``stride`` groups
        cells = -(-self.threads.count // span) * groups.stride
        memory = tirx.decl_buffer([cells], dtype_of(cell), "joined_of_warps", scope="shared", layout=None)
        mine = self.number // span * groups.stride + self.number % groups.stride if inside > 1 else self.number
        write = store(memory, load(cell, [zero]), [mine])
        if inside > 1:  # the members in one warp have the same: the first of them writes
            write = IfThenElse(tirx.EQ(self.number // groups.stride % inside, zero), write, None)
        self.before += [AllocBuffer(memory), write]
        outer = groups.extent // inside
        # the group's first cell; its members' cells are ``stride`` apart
        wide = groups.stride * outer
        first = mine // wide * wide + mine % groups.stride

        whole = self.threads.count % (groups.extent * groups.stride) == 0  # else the last group has fewer members
        if whole and inside == self.warp and outer <= self.warp and _is_power(outer):  # a lane for each warp's result
            self.before.append(store(cell, load(memory, [first + self.number % outer]), [zero]))
            self._exchange(cell, kind, outer, 1)
            return

        def add(position: Any) -> Stmt:
            other, place = Var("other", dtype_of(cell)), first + position * groups.stride
            read = Bind(other, load(memory, [place]))
            made = seq([read, store(cell, join(kind, load(cell, [zero]), other), [zero])])
            return made if whole else IfThenElse(place < const(cells, "int32"), made, None)

        self.before.append(store(cell, load(memory, [first]), [zero]))
        self.before.append(loop(const(outer - 1, "int32"), lambda p: add(p + 1), name="w"))


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


LOWER_ALLREDUCE = Pass("lower_allreduce", lower_allreduce)
