"""T.Pipelined with stages: copies of global memory into shared tiles run ahead of the computation.

Each such tile gets one slot for every stage. Step k works on slot k % stages while the copies of step k + stages - 1
are on their way; they are started after the threads agree that step k - 1 is done with the slot.
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
from tilecore.lowering.simt.analysis.asynchronous import commit, wait
from tilecore.lowering.simt.read_layouts import transfer_layout
from tilecore.lowering.simt.state import RequestedLayouts


def pipeline_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    aliased = {d.data.args[0] for d in collect(func.body, DeclBuffer)}
    memory = Memory(func.body)
    slots: dict[Var, Var] = {}

    def loop(node: For, mutator: Any) -> Any:
        made = mutator.default_mutate(node)
        stages = int(node.annotations.get(LoopAttr.STAGES, 0))
        if stages < 2:
            return made
        return _Pipeline(made, stages, aliased, memory, slots, env).run()

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
        values = _values(parts)
        self.ahead: list[Stmt] = []
        self.rest: list[Stmt] = []
        tiles: list[Var] = []
        for number, (part, call) in enumerate(zip(parts, calls, strict=True)):
            if (
                call is not None
                and _runs_ahead(call, node, values, memory)
                and call.dst.source not in aliased | outside
            ):
                tile = call.dst.source
                used_before = any(tile in inside[id(p)] for p in parts[:number])
                written_again = any(memory.are_of(writes[n], tile) for n in range(len(parts)) if n != number)
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
            transfer_layout(self.env, tile, self.slots[tile], stages)
        names = ", ".join(str(t.name) for t in self.tiles)
        self.env.note("pipelines", {"tiles": names, "stages": stages})
        k, dtype = node.loop_var, dtype_of(node.loop_var)
        first = [self._start(node.min + const(p, dtype), const(p, dtype)) for p in range(stages - 1)]
        number = _simple(k - node.min)
        following = k + const(stages - 1, dtype)
        body = seq(
            [
                wait(stages - 2),
                self._start(following, _ring(number + const(stages - 1, dtype), stages)),
                *(on_slot(p, self.slots, self.tiles, _ring(number, stages)) for p in self.rest),
            ]
        )
        made = For(k, node.min, node.extent, node.kind, body, annotations=_plain(node), span=node.span)
        return seq([*first, made, wait(0)])

    def _start(self, step: Any, slot: Any) -> Stmt:
        """The copies of a step, if there is such a step, as one group."""
        node = self.node
        step = _simple(step)
        inside = _simple(step < node.min + node.extent)
        there = [_guarded(substitute(p, {node.loop_var: step}), inside) for p in self.ahead]
        copies = [_marked(on_slot(p, self.slots, self.tiles, slot)) for p in there]
        return seq([where([] if constant(inside) else [inside], seq(copies)), commit()])


def _guarded(part: Stmt, inside: Any) -> Stmt:
    """Without reads of memory for a step that there is not: a copy may work its place out before it asks."""

    def load(node: TensorLoad, mutator: Any) -> Any:
        made = mutator.default_mutate(node)
        return tirx.if_then_else(inside, made, const(0, dtype_of(made)))

    return part if constant(inside) else structural_mutate(part, [(TensorLoad, load)])


def _ring(number: Any, stages: int) -> Any:
    return tirx.floormod(number, const(stages, dtype_of(number)))


def _simple(value: Any) -> Any:
    return Analyzer().simplify(value)


def _plain(node: For) -> dict[str, Any]:
    return {key: value for key, value in node.annotations.items() if key != LoopAttr.STAGES}


def _values(parts: list[Stmt]) -> dict[Var, Any]:
    """What the names stand for that the loop's own statements give to values, such as the page of a table."""
    values: dict[Var, Any] = {}
    for part in parts:
        if isinstance(part, Bind):
            values[part.var] = substitute(part.value, values)
    return values


def _runs_ahead(call: TileCall, node: For, values: dict[Var, Any], memory: Memory) -> bool:
    """A copy of a piece of global memory into all of a shared tile, whose place nothing in the loop decides: it may be
    read from memory that the loop does not write."""
    if call.op.name != "copy" or not is_global(call.src.source) or not is_shared(call.dst.source):
        return False
    places = [substitute(r.min, values) for r in call.src.region]
    if any(op_name(c) != "if_then_else" for c in collect(places, Call)):
        return False
    sources = {n.source for n in collect(places, TensorLoad)}
    changes = writes_of(node.body)
    if any(not (is_global(s) or is_private(s)) or memory.may_change(changes, s, in_place=False) for s in sources):
        return False
    bound = {n.loop_var for n in collect(node.body, For)} | {n.var for n in collect(node.body, Bind)}
    return is_whole(call.dst) and not any(variables(place) & bound for place in places)


def _uses_outside(body: Stmt, node: For) -> set[Var]:
    """Buffers that code outside of the loop touches."""

    def loop(n: For, mutator: Any) -> Any:
        return nothing() if n.loop_var.same_as(node.loop_var) else mutator.default_mutate(n)

    outside = structural_mutate(body, [(For, loop)])
    accesses = collect(outside, TensorLoad, TensorRegion, BufferStore)
    return {n.buffer if isinstance(n, BufferStore) else n.source for n in accesses}


def on_slot(part: Stmt, slots: dict[Var, Var], tiles: list[Var], slot: Any) -> Stmt:
    """``part`` on one slot of the tiles."""

    def load(node: TensorLoad, mutator: Any) -> Any:
        made = mutator.default_mutate(node)
        if made.source not in tiles:
            return made
        return BufferLoad(slots[made.source], [slot, *made.indices], span=node.span)

    def store(node: BufferStore, mutator: Any) -> Any:
        made = mutator.default_mutate(node)
        if made.buffer not in tiles:
            return made
        return BufferStore(slots[made.buffer], made.value, [slot, *made.indices], span=node.span)

    def region(node: TensorRegion, mutator: Any) -> Any:
        made = mutator.default_mutate(node)
        if made.source not in tiles:
            return made
        one = Range.from_min_extent(slot, const(1, dtype_of(slot)))
        return BufferRegion(slots[made.source], [one, *made.region])

    def axis(node: Evaluate, mutator: Any) -> Any:
        """The slot is an axis in front: a reduction or scan along axis d goes along d + 1 now."""
        made, call = mutator.default_mutate(node), as_tile_call(node)
        if call is None or "dim" not in call.args or call.src.source not in tiles:
            return made
        at = call.op.operand_names().index("dim")
        args = list(made.value.args)
        return as_tile_call(made).rebuilt([*args[:at], const(call.dim + 1, "int32"), *args[at + 1 :]])  # type: ignore[union-attr]

    rules = [(TensorLoad, load), (BufferStore, store), (TensorRegion, region), (Evaluate, axis)]
    return structural_mutate(part, rules)


def _marked(part: Stmt) -> Stmt:
    """Its copies may be asynchronous."""

    def mark(node: Evaluate, mutator: Any) -> Any:
        call = as_tile_call(node)
        if call is None or call.op.name != "copy":
            return node
        return call.rebuilt(hints={**call.hints, CallAttr.ASYNC: 1})

    return structural_mutate(part, [(Evaluate, mark)])


PIPELINE_LOOPS = Pass("pipeline_loops", pipeline_loops, needs=(RequestedLayouts,))
