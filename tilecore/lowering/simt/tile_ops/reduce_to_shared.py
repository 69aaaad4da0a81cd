"""Reductions of fragments into shared memory: into a fragment beside it first, and from there, element by element.

So threads join what they hold. Without it the source would have to be in shared memory as well.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import cast, const, dtype_of, load, seq, store
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferRegion,
    Evaluate,
    For,
    ForKind,
    PrimFunc,
    Stmt,
    Var,
    structural_map,
    tirx,
)
from tilecore.ir.reductions import accumulator, join_number, joining
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment, is_shared
from tilecore.ir.tile_ops import TileCall, as_tile_call


def reduce_beside(func: PrimFunc) -> PrimFunc:
    def reduction(node: Evaluate) -> Any:
        call = as_tile_call(node)
        if call is None or call.op.name != "reduce" or not _is_meant(call):
            return node
        return _beside(call)

    return func.with_body(structural_map(func.body, (Evaluate, reduction)))


def _is_meant(call: TileCall) -> bool:
    if not is_fragment(call.src.source) or not is_shared(call.dst.source):
        return False
    return is_whole(call.src) and is_whole(call.dst)


def _beside(call: TileCall) -> Stmt:
    target = call.dst.source
    dtype = accumulator(dtype_of(target))
    part = tirx.decl_buffer(list(target.shape), dtype, f"{target.name}_part", scope="local.fragment", layout=None)
    region = BufferRegion(part, list(call.dst.region))
    source, _, kind, dim, _, nan = call.call.args
    reduced = call.rebuilt([source, region, kind, dim, const(1, "int32"), nan])
    places = [Var(name, "int32") for name in "ijklmn"[: len(target.shape)]]
    value = load(part, places, call.span)
    if not call.clear:
        value = join_number(joining(call.kind, call.nan_propagate), value, cast(load(target, places, call.span), dtype))
    written: Stmt = store(target, cast(value, dtype_of(target)), places, call.span)
    for place, size in zip(reversed(places), reversed(list(target.shape)), strict=True):
        written = For(place, const(0, "int32"), size, ForKind.PARALLEL, written, span=call.span)
    return seq([AllocBuffer(part), reduced, written])
