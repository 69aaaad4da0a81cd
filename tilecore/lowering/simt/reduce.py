"""reduce on fragments: every thread joins its own elements, then the threads that share a result join theirs."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import all_of, cast, const, dtype_of, load, seq, store
from tilecore.ir.fragments import THREAD, FragmentLayout
from tilecore.ir.nodes import AllocBuffer, Stmt, tirx
from tilecore.ir.reductions import accumulator, element, identity, join, join_number, joiner
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TileCall, tile_call
from tilecore.lowering.implementation import TileOpImpl
from tilecore.lowering.passes import PassEnv
from tilecore.lowering.simt.following import widened
from tilecore.lowering.simt.shares import is_there, steps_of, unrolled


def matches(call: TileCall, env: PassEnv) -> str | None:
    if not is_fragment(call.src.source) or not is_fragment(call.dst.source):
        return "source and result are no fragments both"
    return None if is_whole(call.src) and is_whole(call.dst) else "a part of a fragment"


def kept_axes(call: TileCall) -> list[int]:
    return [a for a in range(len(call.src.region)) if a != call.dim]


def relate(call: TileCall, known: dict[Any, Any]) -> dict[Any, Any]:
    """The result lies as the source does, without the axis; it may keep an axis of one element in its place."""
    layout: FragmentLayout | None = known.get(call.src.source)
    if layout is None:
        return {}
    small = layout.project(kept_axes(call))
    if len(call.dst.source.shape) == len(layout.shape):
        small = widened(small, [axis != call.dim for axis in range(len(layout.shape))])
    return {call.dst.source: small}


def lower(call: TileCall, env: PassEnv) -> Stmt:
    binding = env.facts["binding"]
    source, target = call.src.source, call.dst.source
    layout: FragmentLayout = binding.layout(source)
    kind = joiner(call.kind) + (".nan" if call.nan_propagate and joiner(call.kind) in ("max", "min") else "")
    total_dtype = accumulator(dtype_of(target))
    total = tirx.decl_buffer([1], total_dtype, "total", scope="local", layout=None)
    zero = const(0, "int32")

    steps = steps_of(layout, "r")
    inner = {d: var for d, var in steps.items() if d.axis == call.dim}
    outer = {d: var for d, var in steps.items() if d.axis != call.dim}
    places = [
        const(p, "int32") if isinstance(p, int) else p for p in layout.indices(binding.thread, list(steps.values()))
    ]
    value = element(call.kind, cast(load(source, places, call.span), total_dtype))
    there = is_there(layout, places)
    if there:
        value = tirx.if_then_else(all_of(there), value, identity(call.kind, total_dtype))
    step = store(total, join_number(kind, load(total, [zero]), value), [zero], call.span)
    joined = load(total, [zero])
    for stride, extent in _groups(layout, call.dim):
        joined = tile_call("allreduce", [joined, kind, extent, stride], dtype=total_dtype)
    where = _target(call, places)
    if not call.clear:
        joined = join(kind, joined, cast(load(target, where, call.span), total_dtype))
    body = seq(
        [
            AllocBuffer(total),
            store(total, identity(call.kind, total_dtype), [zero], call.span),
            unrolled(inner, step, call.span),
            store(target, cast(joined, dtype_of(target)), where, call.span),
        ]
    )
    return unrolled(outer, body, call.span)


def _groups(layout: FragmentLayout, axis: int) -> list[tuple[int, int]]:
    """The threads that share a result, as (stride, extent) of their numbers; those that follow one another as one."""
    found: list[tuple[int, int]] = []
    for digit in sorted((d for d in layout.of_axis(axis) if d.where == THREAD), key=lambda d: d.stride):
        if found and found[-1][0] * found[-1][1] == digit.stride:
            found[-1] = (found[-1][0], found[-1][1] * digit.extent)
        else:
            found.append((digit.stride, digit.extent))
    return found


def _target(call: TileCall, places: list[Any]) -> list[Any]:
    shape = call.dst.source.shape
    if len(shape) == len(places):
        return [const(0, "int32") if axis == call.dim else p for axis, p in enumerate(places)]
    return [places[a] for a in kept_axes(call)] or [const(0, "int32") for _ in shape]


REDUCE = TileOpImpl("reduce", "registers, then threads", lower, matches, priority=1, late=True, relate=relate)
