"""Finds which values differ between the threads of a block (they *vary*), and which are uniform.

Threads run in step: a variable varies when its value is computed from a thread's index, from memory that varies or in
a place that only some threads reach; private memory varies when something that varies, or some threads only, write to
it. The sets grow until nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilecore.ir.build import op_name
from tilecore.ir.intrinsics import as_address
from tilecore.ir.nodes import (
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
    Var,
    While,
)
from tilecore.ir.scopes import is_private
from tilecore.ir.thread_groups import ThreadGroups
from tilecore.ir.thread_ranges import number_in, range_of
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables, without_calls
from tilecore.lowering.analysis.kernels import Threads

COLLECTIVE = ("copy", "transpose", "gemm", "fill", "reduce", "scan", "atomic", "finalize_reducer")


class Uniformity:
    """What varies in the code of one kernel, in tile IR or lowered to loops.

    varying: variables, and buffers that are no views. roots: for a view, the buffer whose memory it is. uniform:
    buffers that are known to hold the same in all threads.
    """

    def __init__(self, body: Stmt, threads: Threads, uniform: Iterable[Var] = ()) -> None:
        self.threads, self.uniform = threads, set(uniform)
        self.roots = memory_roots(body)
        self.varying: set[Var] = {axis.var for axis in threads.active}
        known = -1
        while known < len(self.varying):
            known = len(self.varying)
            self._statement(body, False)

    def root(self, buffer: Var) -> Var:
        return self.roots.get(buffer, buffer)

    # -- questions --------------------------------------------------------------------------------------------

    def varies(self, expression: Any) -> bool:
        """May the value differ between threads?"""
        calls = collect(expression, Call)
        if any(op_name(call) == "tile.atomic_element" for call in calls):
            return True
        if any(op_name(call) == "tile.allreduce" for call in calls):
            if any(self._partial(call) for call in calls):
                return True
            expression = without_calls(expression, ("tile.allreduce",))  # the same in all threads
        return any(self.root(var) in self.varying for var in variables(expression))

    def _partial(self, call: Call) -> bool:
        return op_name(call) == "tile.allreduce" and not joins_everyone(call, self.threads)

    def is_divergent(self, node: Stmt) -> bool:
        """Does a loop or ``if`` run differently in different threads?"""
        if isinstance(node, IfThenElse):
            return self.varies(node.condition)
        if isinstance(node, While):
            return self.varies(node.condition) or self._jumps_apart(node.body, False)
        if isinstance(node, For):
            return self.varies(node.min) or self.varies(node.extent) or self._jumps_apart(node.body, False)
        return False

    def _jumps_apart(self, node: Stmt, divergent: bool) -> bool:
        """Is there a break or continue of this loop that some threads take and others not?"""
        if isinstance(node, (Break, Continue)):
            return divergent
        if isinstance(node, (For, While)):
            return False
        if isinstance(node, IfThenElse):
            inner = divergent or self.varies(node.condition)
            sides = [node.then_case, *([] if node.else_case is None else [node.else_case])]
            return any(self._jumps_apart(side, inner) for side in sides)
        return isinstance(node, SeqStmt) and any(self._jumps_apart(part, divergent) for part in node.seq)

    # -- what varies ------------------------------------------------------------------------------------------

    def _statement(self, node: Stmt, divergent: bool) -> None:
        """Look at a statement. divergent: only some threads reach it, or not at the same time."""
        if isinstance(node, SeqStmt):
            for part in node.seq:
                self._statement(part, divergent)
        elif isinstance(node, Bind):
            if self.varies(node.value):
                self.varying.add(node.var)
        elif isinstance(node, BufferStore):
            if node.buffer in self.uniform:
                return
            parts = [node.value, *node.indices]
            if is_private(node.buffer) and (divergent or any(self.varies(part) for part in parts)):
                self.varying.add(self.root(node.buffer))
        elif isinstance(node, Evaluate):
            call = as_tile_call(node)
            if call is not None:
                self._tile(call, divergent)
            for element, access in filter(None, map(as_address, collect(node, Call))):  # what a function writes there
                if "w" in access and is_private(element.source):
                    self.varying.add(self.root(element.source))
        elif isinstance(node, (For, While, IfThenElse)):
            self._compound(node, divergent)
        else:
            if range_of(node) is not None:
                self.varying.add(number_in(node))
            body = getattr(node, "body", None)
            if isinstance(body, Stmt):
                self._statement(body, divergent)

    def _compound(self, node: Any, divergent: bool) -> None:
        inner = divergent or self.is_divergent(node)
        if isinstance(node, IfThenElse):
            self._statement(node.then_case, inner)
            if node.else_case is not None:
                self._statement(node.else_case, inner)
            return
        if isinstance(node, For) and (self.varies(node.min) or self.varies(node.extent)):
            self.varying.add(node.loop_var)
        self._statement(node.body, inner)

    def _tile(self, call: TileCall, divergent: bool) -> None:
        """A tile operation: what it writes varies when it is private and anything about the operation varies."""
        writes = [call.args[name].source for name in call.op.writes]
        private = [buffer for buffer in writes if is_private(buffer)]
        if private and (divergent or self.tile_varies(call)):
            self.varying.update(self.root(buffer) for buffer in private)

    def tile_varies(self, call: TileCall) -> bool:
        return any(self.varies(value) for value in call.args.values() if not isinstance(value, (int, str)))


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
