"""Indices that count from the end of an axis, as TileLang's legalisation of negative indices defines them.

An index that is negative in every iteration of the loops around counts from the end. An index whose sign is known only
when the kernel runs stays as it is, unless it is a vector (T.Ramp): then each of its lanes that is negative counts from
the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.nodes import Expr, IntImm, Range, Sub, Var, tirx
from tilecore.ir.visit import collect
from tilecore.language.conversions import unify
from tilecore.language.values import as_expr

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder


def from_end(builder: Builder, index: Expr, extent: Any) -> Expr:
    """The index of an axis with so many elements, counted from its start."""
    is_vector = _is_vector(builder, index)
    if str(index.ty.dtype).startswith("uint") or not (is_vector or _may_be_negative(index)):
        return index
    analyzer = _analyzer(builder)
    if analyzer.can_prove(index < 0):
        return analyzer.simplify(index + as_expr(extent))
    if not is_vector or analyzer.can_prove(index >= 0):
        return index
    wrapped, plain = unify(index + as_expr(extent), index)
    return tirx.Select(index < 0, wrapped, plain)


def _may_be_negative(index: Expr) -> bool:
    """False for sums and products of variables and positive numbers, which are seldom negative in every iteration."""
    return bool(collect(index, Sub)) or any(int(number) < 0 for number in collect(index, IntImm))


def _is_vector(builder: Builder, index: Expr) -> bool:
    """Is it computed from the lane of a vector? A vector that is read from memory is none."""
    return any(var.same_as(lane) for lane in builder.lanes.values() for var in collect(index, Var))


def _analyzer(builder: Builder) -> Analyzer:
    """An analyzer that knows the ranges of the variables of the open loops, lanes, blocks and threads."""
    analyzer = Analyzer()
    for var, extent in _ranges(builder):
        analyzer.bind(var, Range.from_min_extent(as_expr(0, str(var.ty.dtype)), as_expr(extent)))
    return analyzer


def _ranges(builder: Builder) -> list[tuple[Var, Any]]:
    ranges = [(lane, count) for count, lane in builder.lanes.items()]
    for frame in builder.frames:
        if "var" in frame.facts:
            ranges.append((frame.facts["var"], frame.facts["extent"]))
        elif frame.kind == "kernel":
            kernel = frame.facts["kernel"]
            ranges += [*zip(kernel.thread_vars, kernel.threads, strict=True)]
            ranges += [*zip(kernel.block_vars, kernel.blocks, strict=True)]
    return ranges
