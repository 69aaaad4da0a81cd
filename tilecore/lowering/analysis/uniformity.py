"""Divergence analysis: finds which values differ between the threads of a block (they *vary*), and which are uniform.

A fixed-point iteration over the code of a kernel. A variable varies if its value is computed from the index of a
thread, from memory that varies, or under divergent control flow. Private memory varies if a varying value is stored in
it, or if only some threads store to it. The iteration ends when no variable is added.

Code that only a range of threads executes (ir/thread_ranges.py) is uniform within that range, and divergent between the
range and the other threads: a :class:`Division` says between which threads a value or the control flow differs.
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
from tilecore.ir.tile_op_table import ALLREDUCE
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.kernels import Threads


@dataclass(frozen=True)
class Division:
    """The threads between which a value or the control flow may differ.

    each: any two threads. ranges: the threads of each of these ranges, and the threads outside it.
    """

    each: bool = False
    ranges: frozenset[ThreadRange] = frozenset()

    def __or__(self, other: Division) -> Division:
        return Division(self.each or other.each, self.ranges | other.ranges)

    def of(self, threads: ThreadRange) -> bool:
        """Does the value differ between some of these threads?"""
        return self.each or any(some.divides(threads) for some in self.ranges)


SAME = Division()
EACH = Division(each=True)


class Uniformity:
    """The varying values of the code of one kernel, in tile IR or lowered to loops.

    varying: variables, and buffers that are not views. divided: variables and buffers that only ranges of threads gave
    a value, with these ranges. private_values: variables that are computed from private memory, even if it holds the
    same value in all threads. roots: for a view, the buffer that owns its memory. uniform: buffers that hold the same
    value in all threads. The queries are about the threads of a range, or of the block.
    """

    def __init__(self, body: Stmt, threads: Threads, uniform: Iterable[Var] = ()) -> None:
        self.threads, self.uniform = threads, set(uniform)
        self.block = ThreadRange(0, threads.count)
        self.roots = memory_roots(body)
        self.varying: set[Var] = {axis.var for axis in threads.active}
        self.private_values: set[Var] = set()
        self.divided: dict[Var, frozenset[ThreadRange]] = {}
        previous_size = -1
        while previous_size < self._size():
            previous_size = self._size()
            self._statement(body, SAME)

    def _size(self) -> int:
        return len(self.varying) + sum(map(len, self.divided.values())) + len(self.private_values)

    def root(self, buffer: Var) -> Var:
        return self.roots.get(buffer, buffer)

    # -- queries ----------------------------------------------------------------------------------------------

    def varies(self, expression: Any, threads: ThreadRange | None = None) -> bool:
        """May the value differ between threads?"""
        return self.division(expression).of(threads or self.block)

    def division(self, expression: Any) -> Division:
        """Between which threads may the value differ?"""
        calls = collect(expression, Call)
        if any(op_name(call) == ATOMIC_ELEMENT for call in calls):
            return EACH
        if any(op_name(call) == ALLREDUCE for call in calls):
            if any(self._partial(call) for call in calls):
                return EACH
            expression = without_calls(expression, (ALLREDUCE,))  # the same in all threads
        roots = {self.root(var) for var in variables(expression)}
        if not roots.isdisjoint(self.varying):
            return EACH
        return Division(ranges=frozenset().union(*(self.divided.get(root, ()) for root in roots)))

    def _partial(self, call: Call) -> bool:
        return op_name(call) == ALLREDUCE and not reduces_whole_block(call, self.threads)

    def is_divergent(self, node: Stmt, threads: ThreadRange | None = None) -> bool:
        """Does a loop or ``if`` run differently in different threads?"""
        return self.divergence(node).of(threads or self.block)

    def divergence(self, node: Stmt) -> Division:
        """Between which threads does a loop or ``if`` run differently?"""
        if isinstance(node, IfThenElse):
            return self.division(node.condition)
        if isinstance(node, While):
            return self.division(node.condition) | self.divergent_jumps(node.body)
        if isinstance(node, For):
            return self.division(node.min) | self.division(node.extent) | self.divergent_jumps(node.body)
        return SAME

    def divergent_jumps(self, node: Stmt, control: Division = SAME) -> Division:
        """Between which threads does it differ whether they take a ``break`` or ``continue`` of a loop's body?

        control: the divergence of the control flow around ``node``.
        """
        if isinstance(node, (Break, Continue)):
            return control
        if isinstance(node, (For, While)):  # its jumps do not leave the loop around it
            return SAME
        if isinstance(node, IfThenElse):
            inner = control | self.division(node.condition)
            sides = [node.then_case, *([] if node.else_case is None else [node.else_case])]
        elif isinstance(node, AttrStmt):
            some = range_of(node)
            inner, sides = control if some is None else control | Division(ranges=frozenset({some})), [node.body]
        else:
            inner, sides = control, list(node.seq) if isinstance(node, SeqStmt) else []
        jumps = SAME
        for side in sides:
            jumps |= self.divergent_jumps(side, inner)
        return jumps

    # -- transfer functions -----------------------------------------------------------------------------------

    def _add(self, var: Var, division: Division) -> None:
        if division.each:
            self.varying.add(var)
        elif division.ranges:
            self.divided[var] = self.divided.get(var, frozenset()) | division.ranges

    def _statement(self, node: Stmt, control: Division) -> None:
        """Add the values that the statement makes vary. control: between which threads it differs if they reach it."""
        if isinstance(node, SeqStmt):
            for part in node.seq:
                self._statement(part, control)
        elif isinstance(node, Bind):
            self._add(node.var, self.division(node.value))
            if self._derives_from_private(node.value):
                self.private_values.add(node.var)
        elif isinstance(node, BufferStore):
            if node.buffer not in self.uniform and is_private(node.buffer):
                for part in (node.value, *node.indices):
                    control |= self.division(part)
                self._add(self.root(node.buffer), control)
        elif isinstance(node, Evaluate):
            call = as_tile_call(node)
            if call is not None:
                self._tile(call, control)
            for element, access in filter(
                None, map(as_address, collect(node, Call))
            ):  # a foreign function may write to it
                if "w" in access and is_private(element.source):
                    self.varying.add(self.root(element.source))
        elif isinstance(node, (For, While, IfThenElse)):
            self._compound(node, control)
        else:
            some = range_of(node)
            if some is not None:
                self.varying.add(number_in(node))
                control |= Division(ranges=frozenset({some}))
            body = getattr(node, "body", None)
            if isinstance(body, Stmt):
                self._statement(body, control)

    def _compound(self, node: Any, control: Division) -> None:
        inner = control | self.divergence(node)
        if isinstance(node, IfThenElse):
            self._statement(node.then_case, inner)
            if node.else_case is not None:
                self._statement(node.else_case, inner)
            return
        if isinstance(node, For):
            self._add(node.loop_var, self.division(node.min) | self.division(node.extent))
        self._statement(node.body, inner)

    def _tile(self, call: TileCall, control: Division) -> None:
        """The private buffers that a tile operation writes vary if one of its operands or its control flow varies."""
        writes = [call.args[name].source for name in call.op.writes]
        private = [buffer for buffer in writes if is_private(buffer)]
        if private:
            for value in _operands(call):
                control |= self.division(value)
        for buffer in private:
            self._add(self.root(buffer), control)

    def tile_varies(self, call: TileCall, threads: ThreadRange | None = None) -> bool:
        return any(self.varies(value, threads) for value in _operands(call))

    def prints_in_each_thread(self, call: TileCall) -> bool:
        """Does each thread that reaches this T.print print its values, rather than the block once?

        That is so for values that may differ between threads, and for values from private memory.
        """
        return any(self.varies(value) or self._derives_from_private(value) for value in call.rest)

    def _derives_from_private(self, value: Any) -> bool:
        """Is the value computed from private memory of the threads?"""
        buffers = {load.source for load in loads_of(value)} | {region.source for region in collect(value, TensorRegion)}
        return any(map(is_private, buffers)) or bool(variables(value) & self.private_values)


def _operands(call: TileCall) -> list[Any]:
    """The arguments of a tile operation that may differ between threads: those that are not constants of the call."""
    return [value for value in call.args.values() if not isinstance(value, (int, str))]


def reduces_whole_block(call: Call, threads: Threads) -> bool:
    """Does an allreduce combine the values of all threads of the block?"""
    return ThreadGroups.of(threads.count, int(call.args[2]), int(call.args[3])).is_whole_block


def is_parallel(node: Stmt) -> bool:
    return isinstance(node, For) and node.kind == ForKind.PARALLEL


def private_operands(call: TileCall) -> list[Var]:
    """The private buffers that a tile operation works on."""
    return [region.source for region in call.regions if is_private(region.source)]


def loads_of(node: Any) -> list[TensorLoad]:
    return collect(node, TensorLoad)
