"""Copies the source of a tile operation to a temporary buffer if the operation may overwrite it before reading it.

A tile operation reads all of its sources before it writes, but the loops that it is lowered to alternate both.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant, dtype_of, seq
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferRegion,
    Evaluate,
    IntImm,
    PrimFunc,
    Range,
    TensorRegion,
    Var,
    structural_equal,
    structural_map,
    tirx,
)
from tilecore.ir.scopes import FRAGMENT, is_private
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import TileCall, as_tile_call, name_in_language, tile_statement
from tilecore.ir.views import memory_roots


def separate_overlaps(func: PrimFunc, env: PassEnv) -> PrimFunc:
    roots = memory_roots(func.body)

    def root(buffer: Var) -> Var:
        return roots.get(buffer, buffer)

    def separate(node: Evaluate) -> Any:
        call = as_tile_call(node)
        if call is None:
            return node
        written = [call.args[name] for name in call.op.writes]
        before = []
        args = list(call.call.args)
        for position, name in enumerate(call.op.operand_names()):
            region = call.args.get(name)
            if name in call.op.writes or not isinstance(region, TensorRegion):
                continue
            if any(root(region.source) == root(w.source) and _may_overlap(call, region, w) for w in written):
                statements, args[position] = _copy_of(call, region)
                before += statements
        if not before:
            return node
        return seq([*before, call.rebuilt(args)])

    return func.with_body(structural_map(func.body, (Evaluate, separate)))


def _may_overlap(call: TileCall, read: TensorRegion, written: TensorRegion) -> bool:
    """May the operation write an element of ``read`` before it has read it?"""
    if not read.source.same_as(written.source):
        return True
    if call.op.elementwise and structural_equal(read.region, written.region):
        return False
    analyzer = Analyzer()
    for a, b in zip(read.region, written.region, strict=True):
        if analyzer.can_prove(a.min + a.extent <= b.min) or analyzer.can_prove(b.min + b.extent <= a.min):
            return False
    return True


def _copy_of(call: TileCall, region: TensorRegion) -> tuple[list[Any], TensorRegion]:
    extents = [constant(r.extent) for r in region.region]
    if None in extents:
        raise UnsupportedError(
            f"{name_in_language(call)} reads and writes the same buffer, and its size is known only at the call",
            location=location_of_span(call.span),
            hint="copy the source to another buffer first",
        )
    shape = [IntImm("int32", e) for e in extents]
    name = f"{region.source.name}_before"
    scope = str(region.source.scope()) if is_private(region.source) else FRAGMENT  # private memory stays private
    buffer = tirx.decl_buffer(shape, dtype_of(region.source), name, scope=scope, layout=None)
    whole = BufferRegion(buffer, [Range.from_min_extent(IntImm("int32", 0), e) for e in shape])
    return [AllocBuffer(buffer, span=call.span), tile_statement("copy", [region, whole], span=call.span)], whole


SEPARATE_OVERLAPS = Pass("separate_overlaps", separate_overlaps)
