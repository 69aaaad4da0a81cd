"""Chooses an implementation for every tile operation, and lowers those that need no layouts to parallel loops.

The other operations stay, with the hint ``implementation``, until threads are bound: the layouts that they require of
their operands take part in the inference of layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.contract.implementation import Choice, TileOpImpl
from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.ir.attributes import CallAttr, LoopAttr
from tilecore.ir.build import const, is_nothing
from tilecore.ir.nodes import AllocBuffer, Evaluate, For, ForKind, PrimFunc, Var, structural_map
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall, as_tile_call, reducers_of
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.assumptions import assumed_divisors
from tilecore.lowering.simt.analysis.parallel_nests import LOOP_HINTS
from tilecore.lowering.simt.state import RequestedLayouts, TileFunction
from tilecore.lowering.simt.tile_ops.reduce_to_shared import reduce_to_shared
from tilecore.lowering.tile_ops.choice import choose_all, describe, is_lowered

_MOVES = ("copy", "fill", "atomic")


def choose_tile_ops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    env.publish(TileFunction(func))
    env.publish(BufferLayouts())
    return choose(func, env)


def choose(func: PrimFunc, env: PassEnv) -> PrimFunc:
    """The function with an implementation for each operation; updates the states TileFunction and BufferLayouts.

    infer_layouts calls it, too, after it has moved fragments to shared memory: which implementations apply depends on
    where operands are, and which fragments have layouts depends on the implementations.
    """
    func = reduce_to_shared(func)
    tile = env.state(TileFunction)
    tile.function, tile.divisors, tile.reducers = func, assumed_divisors(func), reducers_of(func.body)
    nodes = [node for node in collect(func.body, Evaluate) if is_lowered(as_tile_call(node))]
    calls = [call for node in nodes if (call := as_tile_call(node)) is not None]
    choices, layouts = choose_all(calls, func, env, env.state(RequestedLayouts).of_shared, _workspaces(func, calls))
    env.state(BufferLayouts).by_buffer = layouts
    lowered: dict[Evaluate, Any] = {}
    for node, choice in zip(nodes, choices, strict=True):
        env.note("tile_ops", describe(choice))
        if choice.impl.late:
            lowered[node] = choice.call.rebuilt(hints={**choice.call.hints, CallAttr.IMPLEMENTATION: choice.impl.name})
        else:
            lowered[node] = _lower_to_nest(choice, env)
    return func.with_body(structural_map(func.body, (Evaluate, lambda node: lowered.get(node, node))))


def _workspaces(func: PrimFunc, calls: Sequence[TileCall]) -> set[Var]:
    """The buffers of T.alloc_global that may have a layout, as only the function sees them. Those of other operations
    than moves keep theirs: a gemm, for instance, would ask for the layout of a tile in shared memory."""
    others = {region.source for call in calls if call.op.name not in _MOVES for region in call.regions}
    buffers = (alloc.buffer for alloc in collect(func.body, AllocBuffer))
    return {buffer for buffer in buffers if is_global(buffer) and buffer not in others}


def _lower_to_nest(choice: Choice, env: PassEnv) -> Any:
    """The operation lowered to a nest of parallel loops with the hints of the operation, or to nothing."""
    nest = choice.impl.lower(choice.call, env)
    if is_nothing(nest):
        return nest
    if not isinstance(nest, For):  # one element: a nest of one iteration
        var = Var("i", "int32")
        nest = For(var, const(0, "int32"), const(1, "int32"), ForKind.PARALLEL, nest, span=choice.call.span)
    notes = dict(nest.annotations) | {key: choice.call.hints[key] for key in LOOP_HINTS if key in choice.call.hints}
    if CallAttr.ASYNC in choice.call.hints:
        notes[CallAttr.ASYNC] = 1
    if any(str(region.source.scope()) == "local" for region in choice.call.regions):
        notes[LoopAttr.PRIVATE] = 1
    return For(nest.loop_var, nest.min, nest.extent, nest.kind, nest.body, annotations=notes, span=nest.span)


def chosen(call: TileCall, env: PassEnv) -> TileOpImpl:
    """The implementation that this pass chose for an operation that it did not lower."""
    name = str(call.hints[CallAttr.IMPLEMENTATION])
    return next(i for i in env.implementations if i.op == call.op.name and i.name == name)


CHOOSE_TILE_OPS = Pass(
    "choose_tile_ops",
    choose_tile_ops,
    needs=(RequestedLayouts,),
    leaves=(TileFunction, BufferLayouts),
    runs_implementations=True,
)
