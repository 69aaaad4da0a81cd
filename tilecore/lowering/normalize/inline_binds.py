"""Inlines integer variables, so that later passes can analyze index arithmetic."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant, dtype_of, nothing
from tilecore.ir.nodes import (
    Bind,
    BufferRegion,
    Call,
    Expr,
    PrimFunc,
    Range,
    TensorLoad,
    TensorRegion,
    Var,
    structural_mutate,
)
from tilecore.ir.visit import collect, substitute

LIMIT = 64  # nodes of an expression; index arithmetic is smaller, and larger values would only be computed twice


def inline_binds(func: PrimFunc, env: PassEnv) -> PrimFunc:
    values: dict[Var, Any] = {}

    def bind(node: Bind, mutator: Any) -> Any:
        value = substitute(node.value, values)
        is_integer = dtype_of(node.var).startswith(("int", "uint"))
        if is_integer and not collect(value, TensorLoad, Call) and len(collect(value, Expr)) <= LIMIT:
            values[node.var] = value
            return nothing()
        return Bind(node.var, value, span=node.span)

    def var(node: Var, mutator: Any) -> Any:
        return values.get(node, node)

    def region(node: TensorRegion, mutator: Any) -> Any:
        changed = mutator.default_mutate(node)
        return changed if changed.same_as(node) else _with_known_sizes(changed)

    return func.with_body(structural_mutate(func.body, [(Bind, bind), (Var, var), (TensorRegion, region)]))


def _with_known_sizes(region: TensorRegion) -> TensorRegion:
    """The region with constant extents where they are differences such as ``(k + 1) * 64 - k * 64``."""
    analyzer = Analyzer()
    bounds = []
    for bound in region.region:
        extent = bound.extent if constant(bound.extent) is not None else analyzer.simplify(bound.extent)
        is_new = constant(extent) is not None
        bounds.append(Range.from_min_extent(bound.min, extent) if is_new else bound)
    return BufferRegion(region.source, bounds)


INLINE_BINDS = Pass("inline_binds", inline_binds)
