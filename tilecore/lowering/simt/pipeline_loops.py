"""Software pipelining of T.Pipelined loops: copies of later iterations into shared tiles overlap the computation.

Each such tile becomes a circular buffer with one slot for every stage. Iteration k works on slot k % stages, while the
copies of iteration k + stages - 1 are in flight. These copies start after a barrier: iteration k - 1 no longer uses the
slot. The prologue starts the copies of the first stages - 1 iterations.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import CallAttr, LoopAttr
from tilecore.ir.build import const, constant, dtype_of, seq, where
from tilecore.ir.memory_writes import Memory
from tilecore.ir.nodes import (
    Evaluate,
    For,
    PrimFunc,
    Stmt,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.replace_buffers import with_buffers
from tilecore.ir.tile_ops import as_tile_call
from tilecore.lowering.buffers.replace_buffers import on_slot
from tilecore.lowering.simt.analysis.asynchronous import commit, wait
from tilecore.lowering.simt.analysis.copies_ahead import CopiesAhead, copies_of_iteration, simplified, without_stages
from tilecore.lowering.simt.state import RequestedLayouts


def pipeline_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    """Gives the tiles of the function's pipelined loops one slot for each stage."""
    memory = Memory(func.body)
    slots: dict[Var, Var] = {}

    def loop(node: For, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        stages = int(node.annotations.get(LoopAttr.STAGES, 0))
        if stages < 2:
            return rewritten
        return _Pipeline(rewritten, stages, CopiesAhead(rewritten, memory, set(slots)), slots, env).run()

    body = structural_mutate(func.body, [(For, loop)])
    return func.with_body(with_buffers(body, slots) if slots else body)


class _Pipeline:
    def __init__(self, node: For, stages: int, split: CopiesAhead, slots: dict[Var, Var], env: PassEnv) -> None:
        self.node, self.stages, self.slots, self.env = node, stages, slots, env
        self.ahead, self.rest, self.tiles = split.ahead, split.rest, split.tiles

    def run(self) -> Stmt:
        node, stages = self.node, self.stages
        if not self.ahead or not self.rest:
            return node
        for tile in self.tiles:
            shape = [stages, *(int(constant(s) or 0) for s in tile.shape)]
            scope = str(tile.scope())
            self.slots[tile] = tirx.decl_buffer(shape, dtype_of(tile), str(tile.name), scope=scope, layout=None)
            self.env.state(RequestedLayouts).transfer(tile, self.slots[tile], stages)
        names = ", ".join(str(t.name) for t in self.tiles)
        self.env.note("pipelines", {"tiles": names, "stages": stages})
        k, dtype = node.loop_var, dtype_of(node.loop_var)
        first = [self._start(node.min + const(p, dtype), const(p, dtype)) for p in range(stages - 1)]
        iteration = simplified(k - node.min)
        following = k + const(stages - 1, dtype)
        body = seq(
            [
                wait(stages - 2),
                self._start(following, _slot_of(iteration + const(stages - 1, dtype), stages)),
                *(on_slot(p, self.slots, self.tiles, _slot_of(iteration, stages)) for p in self.rest),
            ]
        )
        pipelined = For(k, node.min, node.extent, node.kind, body, annotations=without_stages(node), span=node.span)
        return seq([*first, pipelined, wait(0)])

    def _start(self, iteration: Any, slot: Any) -> Stmt:
        """The copies of an iteration as one group, guarded by the condition that the iteration exists."""
        guarded, conditions = copies_of_iteration(self.ahead, self.node, iteration)
        copies = [_marked_asynchronous(on_slot(p, self.slots, self.tiles, slot)) for p in guarded]
        return seq([where(conditions, seq(copies)), commit()])


def _slot_of(iteration: Any, stages: int) -> Any:
    return tirx.floormod(iteration, const(stages, dtype_of(iteration)))


def _marked_asynchronous(part: Stmt) -> Stmt:
    """``part`` with the hint that its copies may be asynchronous."""

    def mark(node: Evaluate, mutator: Any) -> Any:
        call = as_tile_call(node)
        if call is None or call.op.name != "copy":
            return node
        return call.rebuilt(hints={**call.hints, CallAttr.ASYNC: 1})

    return structural_mutate(part, [(Evaluate, mark)])


PIPELINE_LOOPS = Pass("pipeline_loops", pipeline_loops, needs=(RequestedLayouts,))  # the family's software pipeline
