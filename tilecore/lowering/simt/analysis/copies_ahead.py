"""Which copies of a T.Pipelined loop may run ahead of their iteration: from global memory to a whole shared tile."""

from __future__ import annotations

from typing import Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import const, constant, dtype_of, nothing, op_name
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import (
    Bind,
    BufferStore,
    Call,
    Evaluate,
    For,
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
from tilecore.ir.views import sources_in
from tilecore.ir.visit import collect, defined_variables, substitute, variables


class CopiesAhead:
    """The statements of a loop, split into copies that may run ahead and the rest.

    node: the loop. memory: of the function. excluded: tiles that other loops have claimed. ahead: the copies, whose
    addresses depend on the loop variable and on values from outside of the loop only. tiles: their destinations.
    """

    def __init__(self, node: For, memory: Memory, excluded: set[Var]) -> None:
        aliased = sources_in(memory.body)
        parts = list(node.body.seq) if isinstance(node.body, SeqStmt) else [node.body]
        calls = [as_tile_call(p) if isinstance(p, Evaluate) else None for p in parts]
        inside = {id(p): variables(p) for p in parts}
        outside = _uses_outside(memory.body, node)
        writes = [writes_of(p) for p in parts]
        values = _bound_values(parts)
        self.ahead: list[Stmt] = []
        self.rest: list[Stmt] = []
        self.tiles: list[Var] = []
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
                if not (used_before or written_again or depends or tile in excluded):
                    self.ahead.append(substitute(part, values))
                    self.tiles.append(tile)
                    continue
            self.rest.append(part)


def copies_of_iteration(copies: list[Stmt], node: For, iteration: Any) -> tuple[list[Stmt], list[Any]]:
    """The copies of an iteration of the loop, and the condition that it exists, none where it always does.

    It also guards loads in the copies' indices, because code may compute an address before the guard of the copy.
    """
    iteration = simplified(iteration)
    exists = simplified(iteration < node.min + node.extent)
    of_iteration = [substitute(copy, {node.loop_var: iteration}) for copy in copies]
    if constant(exists):
        return of_iteration, []
    return [_guarded_loads(copy, exists) for copy in of_iteration], [exists]


def _guarded_loads(copy: Stmt, exists: Any) -> Stmt:
    def load(node: TensorLoad, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        return tirx.if_then_else(exists, rewritten, const(0, dtype_of(rewritten)))

    return structural_mutate(copy, [(TensorLoad, load)])


def simplified(value: Any) -> Any:
    """The value as the analyzer simplifies it."""
    return Analyzer().simplify(value)


def without_stages(node: For) -> dict[str, Any]:
    """The annotations of a loop but the number of stages."""
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
    if any(constant(size) is None for size in call.dst.source.shape):
        return False  # slots of a size of the call
    starts = [substitute(r.min, values) for r in call.src.region]
    if any(op_name(c) != "if_then_else" for c in collect(starts, Call)):
        return False
    sources = {n.source for n in collect(starts, TensorLoad)}
    changes = writes_of(node.body)
    if any(not (is_global(s) or is_private(s)) or memory.may_change(changes, s, in_place=False) for s in sources):
        return False
    bound = defined_variables(node.body)
    return is_whole(call.dst) and not any(variables(place) & bound for place in starts)


def _uses_outside(body: Stmt, node: For) -> set[Var]:
    """The buffers that code outside of the loop accesses."""

    def loop(n: For, mutator: Any) -> Any:
        return nothing() if n.loop_var.same_as(node.loop_var) else mutator.default_mutate(n)

    outside = structural_mutate(body, [(For, loop)])
    accesses = collect(outside, TensorLoad, TensorRegion, BufferStore)
    return {n.buffer if isinstance(n, BufferStore) else n.source for n in accesses}
