"""Finds what threads write to shared memory between a barrier and the next one.

Whoever reads such memory must have ended at this barrier. Earlier barriers need not wait for it, as no thread writes
before it has passed this one.
"""

from __future__ import annotations

from typing import Any

from tile_cuda.lowering.hopper.written_tiles import written_by_threads
from tilecore.ir.build import op_name
from tilecore.ir.nodes import AttrStmt, Evaluate, For, IfThenElse, SeqStmt, Stmt, Var, While
from tilecore.ir.thread_calls import NAMED_BARRIER
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.tile_ops import is_barrier
from tilecore.ir.visit import jumps_out

Tiles = frozenset[Var]


def waits_for_threads(node: Any) -> bool:
    """Is the statement a barrier, of all threads or with a number?"""
    return is_barrier(node) or (isinstance(node, Evaluate) and op_name(node.value) == NAMED_BARRIER)


class BarrierWrites:
    """``at(barrier)``: the tiles that threads may write after it, before the next barrier of the same threads.

    Where roles run different code, and where loops end early, these are all tiles that threads write.
    """

    def __init__(self, body: Stmt) -> None:
        self.all: Tiles = frozenset(written_by_threads(body))
        self.is_divided = has_ranges(body)
        self.after: dict[Stmt, Tiles] = {}
        if not self.is_divided:
            self._before(body, frozenset())

    def at(self, barrier: Stmt) -> Tiles:
        return self.all if self.is_divided else self.after.get(barrier, self.all)

    def _before(self, node: Any, after: Tiles) -> Tiles:
        """What is written from the beginning of a statement to the next barrier; ``after``: from its end on."""
        if waits_for_threads(node):
            self.after[node] = self.after.get(node, frozenset()) | after
            return frozenset()
        if isinstance(node, SeqStmt):
            for part in reversed(list(node.seq)):
                after = self._before(part, after)
            return after
        if isinstance(node, IfThenElse):
            then = self._before(node.then_case, after)
            return then | (after if node.else_case is None else self._before(node.else_case, after))
        if isinstance(node, (For, While)):
            return self._before_loop(node, after)
        if isinstance(node, AttrStmt):
            return self._before(node.body, after)
        return self.all if jumps_out(node) else after | written_by_threads(node)

    def _before_loop(self, node: Any, after: Tiles) -> Tiles:
        end = after
        while True:  # sets only grow, and there are finitely many tiles
            begin = self._before(node.body, end)
            if begin <= end:
                return end
            end |= begin
