"""Software pipelining of T.Pipelined loops: copies of later iterations into shared tiles overlap the computation.

Each such tile becomes a circular buffer with one slot for every stage. Iteration k works on slot k % stages, while the
copies of iteration k + stages - 1 are in flight. These copies start after a barrier: iteration k - 1 no longer uses the
slot. The prologue starts the copies of the first stages - 1 iterations.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import CallAttr, LoopAttr
from tilecore.ir.build import const, constant, dtype_of, nothing, op_name, seq, where
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import (
    Bind,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    For,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_global, is_private, is_shared
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.buffers.replace_buffers import on_slot, with_buffers
from tilecore.lowering.simt.analysis.asynchronous import commit, wait
from tilecore.lowering.simt.state import RequestedLayouts


def pipeline_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    aliased = {d.data.args[0] for d in collect(func.body, DeclBuffer)}
    memory = Memory(func.body)
    slots: dict[Var, Var] = {}

    def loop(node: For, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        stages = int(node.annotations.get(LoopAttr.STAGES, 0))
        if stages < 2:
            return rewritten
        return _Pipeline(rewritten, stages, aliased, memory, slots, env).run()

    body = structural_mutate(func.body, [(For, loop)])
    return func.with_body(with_buffers(body, slots) if slots else body)


class _Pipeline:
    def __init__(
        self, node: For, stages: int, aliased: set[Var], memory: Memory, slots: dict[Var, Var], env: PassEnv
    ) -> None:
        self.node, self.stages, self.slots, self.env = node, stages, slots, env
        parts = list(node.body.seq) if isinstance(node.body, SeqStmt) else [node.body]
        calls = [as_tile_call(p) if isinstance(p, Evaluate) else None for p in parts]
        inside = {id(p): variables(p) for p in parts}
        outside = _uses_outside(memory.body, node)
        writes = [writes_of(p) for p in parts]
        values = _bound_values(parts)
        self.ahead: list[Stmt] = []
        self.rest: list[Stmt] = []
        tiles: list[Var] = []
        for index, (part, call) in enumerate(zip(parts, calls, strict=True)):
            if (
                call is not None
                and _runs_ahead(call, node, values, memory)
                and call.dst.source not in aliased | outside
            ):
                tile = call.dst.source
                used_before = any(tile in inside[id(p)] for p in parts[:index])
                written_again = any(memory.are_of(writes[n], tile) for n in range(len(parts)) if n != index)
                depends = any(memory.may_change(w, call.src.source, in_place=False) for w in writes)
                if not (used_before or written_again or depends or tile in slots):
                    self.ahead.append(substitute(part, values))
                    tiles.append(tile)
                    continue
            self.rest.append(part)
        self.tiles = tiles

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
        iteration = _simplified(k - node.min)
        following = k + const(stages - 1, dtype)
        body = seq(
            [
                wait(stages - 2),
                self._start(following, _slot_of(iteration + const(stages - 1, dtype), stages)),
                *(on_slot(p, self.slots, self.tiles, _slot_of(iteration, stages)) for p in self.rest),
            ]
        )
        pipelined = For(
            k, node.min, node.extent, node.kind, body, annotations=_annotations_without_stages(node), span=node.span
        )
        return seq([*first, pipelined, wait(0)])

    def _start(self, iteration: Any, slot: Any) -> Stmt:
        """The copies of an iteration as one group, guarded by the condition that the iteration exists."""
        node = self.node
        iteration = _simplified(iteration)
        inside = _simplified(iteration < node.min + node.extent)
        guarded = [_guarded_loads(substitute(p, {node.loop_var: iteration}), inside) for p in self.ahead]
        copies = [_marked_asynchronous(on_slot(p, self.slots, self.tiles, slot)) for p in guarded]
        return seq([where([] if constant(inside) else [inside], seq(copies)), commit()])


def _guarded_loads(part: Stmt, inside: Any) -> Stmt:
    """The copy with guarded loads in its indices, because code may compute the address before the guard of the copy."""

    def load(node: TensorLoad, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        return tirx.if_then_else(inside, rewritten, const(0, dtype_of(rewritten)))

    return part if constant(inside) else structural_mutate(part, [(TensorLoad, load)])


def _slot_of(iteration: Any, stages: int) -> Any:
    return tirx.floormod(iteration, const(stages, dtype_of(iteration)))


def _simplified(value: Any) -> Any:
    return Analyzer().simplify(value)


def _annotations_without_stages(node: For) -> dict[str, Any]:
    return {key: value for key, value in node.annotations.items() if key != LoopAttr.STAGES}


def _bound_values(parts: list[Stmt]) -> dict[Var, Any]:
    """The values of the variables that statements of the loop bind, such as the index of a page from a table."""
    values: dict[Var, Any] = {}
    for part in parts:
        if isinstance(part, Bind):
            values[part.var] = substitute(part.value, values)
    return values


def _runs_ahead(call: TileCall, node: For, values: dict[Var, Any], memory: Memory) -> bool:
    """Can the copy run ahead: a copy of global memory to a whole shared tile, whose address does not depend on the
    loop?

    The address may be read from memory that the loop does not write.
    """
    if call.op.name != "copy" or not is_global(call.src.source) or not is_shared(call.dst.source):
        return False
    starts = [substitute(r.min, values) for r in call.src.region]
    if any(op_name(c) != "if_then_else" for c in collect(starts, Call)):
        return False
    sources = {n.source for n in collect(starts, TensorLoad)}
    changes = writes_of(node.body)
    if any(not (is_global(s) or is_private(s)) or memory.may_change(changes, s, in_place=False) for s in sources):
        return False
    bound = {n.loop_var for n in collect(node.body, For)} | {n.var for n in collect(node.body, Bind)}
    return is_whole(call.dst) and not any(variables(place) & bound for place in starts)


def _uses_outside(body: Stmt, node: For) -> set[Var]:
    """The buffers that code outside of the loop accesses."""

    def loop(n: For, mutator: Any) -> Any:
        return nothing() if n.loop_var.same_as(node.loop_var) else mutator.default_mutate(n)

    outside = structural_mutate(body, [(For, loop)])
    accesses = collect(outside, TensorLoad, TensorRegion, BufferStore)
    return {n.buffer if isinstance(n, BufferStore) else n.source for n in accesses}


def _marked_asynchronous(part: Stmt) -> Stmt:
    """``part`` with the hint that its copies may be asynchronous."""

    def mark(node: Evaluate, mutator: Any) -> Any:
        call = as_tile_call(node)
        if call is None or call.op.name != "copy":
            return node
        return call.rebuilt(hints={**call.hints, CallAttr.ASYNC: 1})

    return structural_mutate(part, [(Evaluate, mark)])


PIPELINE_LOOPS = Pass("pipeline_loops", pipeline_loops, needs=(RequestedLayouts,))
