"""Implements copy, transpose and fill as parallel loops over elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import cast, constant, dtype_of, load, nest, store
from tilecore.ir.nodes import Stmt, TensorRegion
from tilecore.ir.tile_ops import TileCall


def axes_of(region: TensorRegion) -> list[int]:
    """The axes of a region that have more than one element."""
    return [axis for axis, r in enumerate(region.region) if constant(r.extent) != 1]


def indices_of(region: TensorRegion, axes: Sequence[int], variables: Sequence[Any]) -> list[Any]:
    """Indices of the element at ``variables`` along ``axes`` of a region."""
    where = [r.min for r in region.region]
    for axis, var in zip(axes, variables, strict=True):
        where[axis] = where[axis] + var
    return where


def lower_copy(call: TileCall, env: PassEnv) -> Stmt:
    source, target = call.src, call.dst
    from_axes, to_axes = axes_of(source), axes_of(target)
    kind = dtype_of(target.source)

    def body(variables: list[Any]) -> Stmt:
        value = load(source.source, indices_of(source, from_axes, variables), call.span)
        return store(target.source, cast(value, kind), indices_of(target, to_axes, variables), call.span)

    return nest([target.region[axis].extent for axis in to_axes], body, span=call.span)


def lower_transpose(call: TileCall, env: PassEnv) -> Stmt:
    source, target = call.src, call.dst
    rank_in, rank_out = len(source.region), len(target.region)
    kind = dtype_of(target.source)

    def body(variables: list[Any]) -> Stmt:
        i, j = variables
        value = load(source.source, indices_of(source, (rank_in - 2, rank_in - 1), (j, i)), call.span)
        where = indices_of(target, (rank_out - 2, rank_out - 1), (i, j))
        return store(target.source, cast(value, kind), where, call.span)

    return nest([r.extent for r in target.region[-2:]], body, span=call.span)


def lower_fill(call: TileCall, env: PassEnv) -> Stmt:
    target = call.dst
    axes = axes_of(target)

    def body(variables: list[Any]) -> Stmt:
        return store(target.source, call.value, indices_of(target, axes, variables), call.span)

    return nest([target.region[axis].extent for axis in axes], body, span=call.span)


IMPLEMENTATIONS = (
    TileOpImpl("copy", "loops", lower_copy),
    TileOpImpl("transpose", "loops", lower_transpose),
    TileOpImpl("fill", "loops", lower_fill),
)
