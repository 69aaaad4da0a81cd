"""Splits a reduction of a fragment into shared memory: reduce into a temporary fragment, then store its elements.

Threads then reduce the elements that they hold. Otherwise the source would have to be in shared memory as well.
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
from tilecore.ir.reductions import accumulator, combine_numbers, combining_kind_of
from tilecore.ir.regions import is_whole
from tilecore.ir.scopes import is_fragment, is_shared
from tilecore.ir.tile_ops import TileCall, as_tile_call

PART = "_part"


def reduce_to_shared(func: PrimFunc) -> PrimFunc:
    """Splits the reductions of whole fragments into whole shared buffers."""

    def reduction(node: Evaluate) -> Any:
        call = as_tile_call(node)
        if call is None or call.op.name != "reduce" or not _is_fragment_to_shared(call):
            return node
        return _by_fragment(call)

    return func.with_body(structural_map(func.body, (Evaluate, reduction)))


def _is_fragment_to_shared(call: TileCall) -> bool:
    if not is_fragment(call.src.source) or not is_shared(call.dst.source):
        return False
    if str(call.dst.source.name).endswith(2 * PART):
        return False  # a temporary fragment of before, which had no layout either: so the source moves to shared memory
    return is_whole(call.src) and is_whole(call.dst)


def _by_fragment(call: TileCall) -> Stmt:
    target = call.dst.source
    dtype = accumulator(dtype_of(target))
    result = tirx.decl_buffer(list(target.shape), dtype, f"{target.name}{PART}", scope="local.fragment", layout=None)
    region = BufferRegion(result, list(call.dst.region))
    source, _, kind, dim, _, nan = call.call.args
    reduced = call.rebuilt([source, region, kind, dim, const(1, "int32"), nan])
    indices = [Var(name, "int32") for name in "ijklmn"[: len(target.shape)]]
    value = load(result, indices, call.span)
    if not call.clear:
        old = cast(load(target, indices, call.span), dtype)
        value = combine_numbers(combining_kind_of(call.kind, call.nan_propagate), value, old)
    nest: Stmt = store(target, cast(value, dtype_of(target)), indices, call.span)
    for index, size in zip(reversed(indices), reversed(list(target.shape)), strict=True):
        nest = For(index, const(0, "int32"), size, ForKind.PARALLEL, nest, span=call.span)
    return seq([AllocBuffer(result), reduced, nest])
