"""Finds which values differ between the threads of a block (they *vary*), and which are uniform.

Threads run in step: a variable varies when its value is computed from a thread's index, from memory that varies or in
a place that only some threads reach; private memory varies when something that varies, or some threads only, write to
it. The sets grow until nothing is added.

What only a range of threads does (ir/thread_ranges.py) makes no difference between these threads, but one between them
and the others: a :class:`Division` says for whom a value, or the way through a statement, is not the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tilecore.ir.build import op_name
from tilecore.ir.effects import without_calls
from tilecore.ir.intrinsics import as_address
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    Break,
    BufferStore,
    Call,
    Continue,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    While,
)
from tilecore.ir.scopes import is_private
from tilecore.ir.thread_calls import ATOMIC_ELEMENT
from tilecore.ir.thread_groups import ThreadGroups
from tilecore.ir.thread_ranges import ThreadRange, number_in, range_of
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.kernels import Threads


@dataclass(frozen=True)
class Division:
    """Between which threads something differs. each: it may between any two. ranges: between the threads of each of
    these ranges and the others."""

    each: bool = False
    ranges: frozenset[ThreadRange] = frozenset()

    def __or__(self, other: Division) -> Division:
        return Division(self.each or other.each, self.ranges | other.ranges)

    def of(self, threads: ThreadRange) -> bool:
        """Does it differ between some of these threads?"""
        return self.each or any(some.divides(threads) for some in self.ranges)


SAME = Division()
EACH = Division(each=True)


class Uniformity:
    """What varies in the code of one kernel, in tile IR or lowered to loops.

    varying: variables, and buffers that are no views. divided: the same, with the ranges of threads that alone gave
    them a value. of_each: variables made of memory of the threads' own, though it may hold the same in all of them.
    roots: for a view, the buffer whose memory it is. uniform: buffers that are known to hold the same in all threads.
    Questions are about the threads of a range, or of the block.
    """

    def __init__(self, body: Stmt, threads: Threads, uniform: Iterable[Var] = ()) -> None:
        self.threads, self.uniform = threads, set(uniform)
        self.block = ThreadRange(0, threads.count)
        self.roots = memory_roots(body)
        self.varying: set[Var] = {axis.var for axis in threads.active}
        self.of_each: set[Var] = set()
        self.divided: dict[Var, frozenset[ThreadRange]] = {}
        known = -1
        while known < self._size():
            known = self._size()
            self._statement(body, SAME)

    def _size(self) -> int:
        return len(self.varying) + sum(map(len, self.divided.values())) + len(self.of_each)

    def root(self, buffer: Var) -> Var:
        return self.roots.get(buffer, buffer)

    # -- questions --------------------------------------------------------------------------------------------

    def varies(self, expression: Any, threads: ThreadRange | None = None) -> bool:
        """May the value differ between threads?"""
        return self.division(expression).of(threads or self.block)

    def division(self, expression: Any) -> Division:
        """Between which threads may the value differ?"""
        calls = collect(expression, Call)
        if any(op_name(call) == ATOMIC_ELEMENT for call in calls):
            return EACH
        if any(op_name(call) == "tile.allreduce" for call in calls):
            if any(self._partial(call) for call in calls):
                return EACH
            expression = without_calls(expression, ("tile.allreduce",))  # the same in all threads
        roots = {self.root(var) for var in variables(expression)}
        if not roots.isdisjoint(self.varying):
            return EACH
        return Division(ranges=frozenset().union(*(self.divided.get(root, ()) for root in roots)))

    def _partial(self, call: Call) -> bool:
        return op_name(call) == "tile.allreduce" and not joins_everyone(call, self.threads)

    def is_divergent(self, node: Stmt, threads: ThreadRange | None = None) -> bool:
        """Does a loop or ``if`` run differently in different threads?"""
        return self.parting(node).of(threads or self.block)

    def parting(self, node: Stmt) -> Division:
        """Between which threads does a loop or ``if`` run differently?"""
        if isinstance(node, IfThenElse):
            return self.division(node.condition)
        if isinstance(node, While):
            return self.division(node.condition) | self.jumps_apart(node.body)
        if isinstance(node, For):
            return self.division(node.min) | self.division(node.extent) | self.jumps_apart(node.body)
        return SAME

    def jumps_apart(self, node: Stmt, around: Division = SAME) -> Division:
        """Between which threads do the jumps in a loop's body part: some take a break or continue and others do not?
        around: which threads come to ``node`` at all."""
        if isinstance(node, (Break, Continue)):
            return around
        if isinstance(node, (For, While)):  # its jumps are its own
            return SAME
        if isinstance(node, IfThenElse):
            inner = around | self.division(node.condition)
            sides = [node.then_case, *([] if node.else_case is None else [node.else_case])]
        elif isinstance(node, AttrStmt):
            some = range_of(node)
            inner, sides = around if some is None else around | Division(ranges=frozenset({some})), [node.body]
        else:
            inner, sides = around, list(node.seq) if isinstance(node, SeqStmt) else []
        jumps = SAME
        for side in sides:
            jumps |= self.jumps_apart(side, inner)
        return jumps

    # -- what varies ------------------------------------------------------------------------------------------

    def _add(self, var: Var, division: Division) -> None:
        if division.each:
            self.varying.add(var)
        elif division.ranges:
            self.divided[var] = self.divided.get(var, frozenset()) | division.ranges

    def _statement(self, node: Stmt, around: Division) -> None:
        """Look at a statement. around: between which threads it differs whether, or when, they reach it."""
        if isinstance(node, SeqStmt):
            for part in node.seq:
                self._statement(part, around)
        elif isinstance(node, Bind):
            self._add(node.var, self.division(node.value))
            if self._of_each(node.value):
                self.of_each.add(node.var)
        elif isinstance(node, BufferStore):
            if node.buffer not in self.uniform and is_private(node.buffer):
                for part in (node.value, *node.indices):
                    around |= self.division(part)
                self._add(self.root(node.buffer), around)
        elif isinstance(node, Evaluate):
            call = as_tile_call(node)
            if call is not None:
                self._tile(call, around)
            for element, access in filter(None, map(as_address, collect(node, Call))):  # what a function writes there
                if "w" in access and is_private(element.source):
                    self.varying.add(self.root(element.source))
        elif isinstance(node, (For, While, IfThenElse)):
            self._compound(node, around)
        else:
            some = range_of(node)
            if some is not None:
                self.varying.add(number_in(node))
                around |= Division(ranges=frozenset({some}))
            body = getattr(node, "body", None)
            if isinstance(body, Stmt):
                self._statement(body, around)

    def _compound(self, node: Any, around: Division) -> None:
        inner = around | self.parting(node)
        if isinstance(node, IfThenElse):
            self._statement(node.then_case, inner)
            if node.else_case is not None:
                self._statement(node.else_case, inner)
            return
        if isinstance(node, For):
            self._add(node.loop_var, self.division(node.min) | self.division(node.extent))
        self._statement(node.body, inner)

    def _tile(self, call: TileCall, around: Division) -> None:
        """A tile operation: what it writes varies when it is private and anything about the operation varies."""
        writes = [call.args[name].source for name in call.op.writes]
        private = [buffer for buffer in writes if is_private(buffer)]
        if private:
            for value in _operands(call):
                around |= self.division(value)
        for buffer in private:
            self._add(self.root(buffer), around)

    def tile_varies(self, call: TileCall, threads: ThreadRange | None = None) -> bool:
        return any(self.varies(value, threads) for value in _operands(call))

    def each_prints(self, call: TileCall) -> bool:
        """Does each thread that comes to this T.print print? Values that may differ are printed by each, and so is
        memory of the threads' own; anything else once for the block, where all threads come to it."""
        return any(self.varies(value) or self._of_each(value) for value in call.rest)

    def _of_each(self, value: Any) -> bool:
        """Is it made of memory of the threads' own?"""
        buffers = {load.source for load in loads_of(value)} | {region.source for region in collect(value, TensorRegion)}
        return any(map(is_private, buffers)) or bool(variables(value) & self.of_each)


def _operands(call: TileCall) -> list[Any]:
    """The arguments of a tile operation that threads may have different values of."""
    return [value for value in call.args.values() if not isinstance(value, (int, str))]


def joins_everyone(call: Call, threads: Threads) -> bool:
    """Does an allreduce join the values of the whole block?"""
    return ThreadGroups.of(threads.count, int(call.args[2]), int(call.args[3])).is_whole_block


def is_parallel(node: Stmt) -> bool:
    return isinstance(node, For) and node.kind == ForKind.PARALLEL


def private_operands(call: TileCall) -> list[Var]:
    """The private buffers that a tile operation works on."""
    return [region.source for region in call.regions if is_private(region.source)]


def loads_of(node: Any) -> list[TensorLoad]:
    return collect(node, TensorLoad)
