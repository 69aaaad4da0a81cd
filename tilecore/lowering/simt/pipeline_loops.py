"""Software-pipelines T.Pipelined loops: copies of global memory into shared tiles run ahead of the computation.

Each such tile gets one slot for every stage. Iteration k works on slot k % stages while the copies of iteration
k + stages - 1 are in flight; they start behind the barrier that ends the use of their slot by iteration k - 1.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, nothing, op_name, seq, where
from tilecore.ir.nodes import (
    Bind,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    For,
    PrimFunc,
    Range,
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
from tilecore.lowering.buffers.replace_buffers import with_buffers
from tilecore.lowering.simt.analysis.asynchronous import ASYNC, commit, wait
from tilecore.lowering.simt.read_layouts import transfer_layout

STAGES = "num_stages"


def pipeline_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    aliased = {d.data.args[0] for d in collect(func.body, DeclBuffer)}
    slots: dict[Var, Var] = {}

    def loop(node: For, mutator: Any) -> Any:
        mutated = mutator.default_mutate(node)
        stages = int(node.annotations.get(STAGES, 0))
        if stages < 2:
            return mutated
        return _Pipeline(mutated, stages, aliased, func, slots, env).run()

    body = structural_mutate(func.body, [(For, loop)])
    return func.with_body(with_buffers(body, slots) if slots else body)


class _Pipeline:
    """Pipelines one loop.

    aliased: buffers that have views. slots: for each pipelined tile the buffer of all of its slots. copies: the
    statements that run ahead. computation: the others. tiles: the destinations of the copies.
    """

    def __init__(
        self, node: For, stages: int, aliased: set[Var], func: PrimFunc, slots: dict[Var, Var], env: PassEnv
    ) -> None:
        self.node, self.stages, self.slots, self.env = node, stages, slots, env
        parts = list(node.body.seq) if isinstance(node.body, SeqStmt) else [node.body]
        calls = [as_tile_call(p) if isinstance(p, Evaluate) else None for p in parts]
        used = {id(p): variables(p) for p in parts}
        outside = _buffers_used_outside(func, node)
        values = _bound_values(parts)
        self.copies: list[Stmt] = []
        self.computation: list[Stmt] = []
        tiles: list[Var] = []
        for position, (part, call) in enumerate(zip(parts, calls, strict=True)):
            if call is not None and _can_run_ahead(call, node, values) and call.dst.source not in aliased | outside:
                tile = call.dst.source
                used_before = any(tile in used[id(p)] for p in parts[:position])
                written_again = any(writes(p, tile) for p in parts if p is not part)
                depends = any(writes(p, call.src.source) for p in parts)
                if not (used_before or written_again or depends or tile in slots):
                    self.copies.append(substitute(part, values))
                    tiles.append(tile)
                    continue
            self.computation.append(part)
        self.tiles = tiles

    def run(self) -> Stmt:
        node, stages = self.node, self.stages
        if not self.copies or not self.computation:
            return node
        for tile in self.tiles:
            shape = [stages, *(int(constant(s) or 0) for s in tile.shape)]
            scope = str(tile.scope())
            self.slots[tile] = tirx.decl_buffer(shape, dtype_of(tile), str(tile.name), scope=scope, layout=None)
            transfer_layout(self.env, tile, self.slots[tile], stages)
        names = ", ".join(str(t.name) for t in self.tiles)
        self.env.note("pipelines", {"tiles": names, "stages": stages})
        k, dtype = node.loop_var, dtype_of(node.loop_var)
        first = [self._start(node.min + const(p, dtype), const(p, dtype)) for p in range(stages - 1)]
        iteration = _simplified(k - node.min)
        ahead = k + const(stages - 1, dtype)
        body = seq(
            [
                wait(stages - 2),
                self._start(ahead, _slot_of(iteration + const(stages - 1, dtype), stages)),
                *(on_slot(p, self.slots, self.tiles, _slot_of(iteration, stages)) for p in self.computation),
            ]
        )
        loop = For(k, node.min, node.extent, node.kind, body, annotations=_other_annotations(node), span=node.span)
        return seq([*first, loop, wait(0)])

    def _start(self, loop_value: Any, slot: Any) -> Stmt:
        """Starts the copies of an iteration as one group; guarded, since the loop may have no such iteration."""
        node = self.node
        loop_value = _simplified(loop_value)
        exists = _simplified(loop_value < node.min + node.extent)
        copies = [_with_guarded_loads(substitute(p, {node.loop_var: loop_value}), exists) for p in self.copies]
        copies = [_with_async_hint(on_slot(p, self.slots, self.tiles, slot)) for p in copies]
        return seq([where([] if constant(exists) else [exists], seq(copies)), commit()])


def _with_guarded_loads(part: Stmt, exists: Any) -> Stmt:
    """The copy with its loads under the condition that the iteration exists: a copy may compute its source's indices
    before its own guard."""

    def load(node: TensorLoad, mutator: Any) -> Any:
        mutated = mutator.default_mutate(node)
        return tirx.if_then_else(exists, mutated, const(0, dtype_of(mutated)))

    return part if constant(exists) else structural_mutate(part, [(TensorLoad, load)])


def _slot_of(iteration: Any, stages: int) -> Any:
    return tirx.floormod(iteration, const(stages, dtype_of(iteration)))


def _simplified(value: Any) -> Any:
    return Analyzer().simplify(value)


def _other_annotations(node: For) -> dict[str, Any]:
    return {key: value for key, value in node.annotations.items() if key != STAGES}


def _bound_values(parts: list[Stmt]) -> dict[Var, Any]:
    """The values of the variables that the loop's own statements bind, such as an entry of a page table."""
    values: dict[Var, Any] = {}
    for part in parts:
        if isinstance(part, Bind):
            values[part.var] = substitute(part.value, values)
    return values


def _can_run_ahead(call: TileCall, node: For, values: dict[Var, Any]) -> bool:
    """Is it a copy from global memory into a whole shared tile, whose source region does not depend on what the loop's
    other statements compute? The region may depend on memory that the loop does not write."""
    if call.op.name != "copy" or not is_global(call.src.source) or not is_shared(call.dst.source):
        return False
    starts = [substitute(r.min, values) for r in call.src.region]
    if any(op_name(c) != "if_then_else" for c in collect(starts, Call)):
        return False
    sources = {n.source for n in collect(starts, TensorLoad)}
    if not all(is_global(s) or is_private(s) for s in sources) or any(writes(node.body, s) for s in sources):
        return False
    bound = {n.loop_var for n in collect(node.body, For)} | {n.var for n in collect(node.body, Bind)}
    return is_whole(call.dst) and not any(variables(start) & bound for start in starts)


def _buffers_used_outside(func: PrimFunc, node: For) -> set[Var]:
    """The buffers that code outside of the loop accesses."""

    def loop(n: For, mutator: Any) -> Any:
        return nothing() if n.loop_var.same_as(node.loop_var) else mutator.default_mutate(n)

    outside = structural_mutate(func.body, [(For, loop)])
    accesses = collect(outside, TensorLoad, TensorRegion, BufferStore)
    return {n.buffer if isinstance(n, BufferStore) else n.source for n in accesses}


def writes(part: Stmt, buffer: Var) -> bool:
    """Does a statement of tile IR write the buffer?"""
    if any(s.buffer.same_as(buffer) for s in collect(part, BufferStore)):
        return True
    for node in collect(part, Evaluate):
        call = as_tile_call(node)
        if call is not None and any(call.args[name].source.same_as(buffer) for name in call.op.writes):
            return True
    return False


def on_slot(part: Stmt, slots: dict[Var, Var], tiles: list[Var], slot: Any) -> Stmt:
    """The statement with one slot of each tile in place of the tile.

    slots: for each tile the buffer of all of its slots, with the slot as first axis. slot: the index of the slot.
    """

    def load(node: TensorLoad, mutator: Any) -> Any:
        mutated = mutator.default_mutate(node)
        if mutated.source not in tiles:
            return mutated
        return BufferLoad(slots[mutated.source], [slot, *mutated.indices], span=node.span)

    def store(node: BufferStore, mutator: Any) -> Any:
        mutated = mutator.default_mutate(node)
        if mutated.buffer not in tiles:
            return mutated
        return BufferStore(slots[mutated.buffer], mutated.value, [slot, *mutated.indices], span=node.span)

    def region(node: TensorRegion, mutator: Any) -> Any:
        mutated = mutator.default_mutate(node)
        if mutated.source not in tiles:
            return mutated
        slot_range = Range.from_min_extent(slot, const(1, dtype_of(slot)))
        return BufferRegion(slots[mutated.source], [slot_range, *mutated.region])

    def axis(node: Evaluate, mutator: Any) -> Any:
        """The slot is the first axis: a reduction or scan along axis d runs along axis d + 1 now."""
        mutated, call = mutator.default_mutate(node), as_tile_call(node)
        if call is None or "dim" not in call.args or call.src.source not in tiles:
            return mutated
        position = call.op.operand_names().index("dim")
        args = list(mutated.value.args)
        args[position] = const(call.dim + 1, "int32")
        return as_tile_call(mutated).rebuilt(args)  # type: ignore[union-attr]

    rules = [(TensorLoad, load), (BufferStore, store), (TensorRegion, region), (Evaluate, axis)]
    return structural_mutate(part, rules)


def _with_async_hint(part: Stmt) -> Stmt:
    """The statement with the hint that its copies may be asynchronous."""

    def mark(node: Evaluate, mutator: Any) -> Any:
        call = as_tile_call(node)
        if call is None or call.op.name != "copy":
            return node
        return call.rebuilt(hints={**call.hints, ASYNC: 1})

    return structural_mutate(part, [(Evaluate, mark)])


PIPELINE_LOOPS = Pass("pipeline_loops", pipeline_loops)
