"""Bounds of tensors and tiles that clip a nest: the range of iterations in which an index is inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import NotTensor
from tilecore.ir.build import constant
from tilecore.ir.nodes import Var, tirx


@dataclass(frozen=True)
class Clip:
    """The iterations of one loop that are inside: ``first`` to ``first + count - 1``, ints or expressions."""

    first: Any
    count: Any


def clip_axis(emit: Emitter, factors: dict[Var, int], rest: Any, size: Any, extents: dict[Var, int]) -> Clip | None:
    """The iterations of the index's loop for which ``0 <= index < size``; None where it holds for all of them. Raises
    NotTensor where it depends on several loops."""
    top = rest
    for var, factor in factors.items():
        top = top + max(factor, 0) * (extents[var] - 1)
    low = rest
    for var, factor in factors.items():
        low = low + min(factor, 0) * (extents[var] - 1)
    inside_below, inside_above = _holds(emit, low, ">=", 0), _holds(emit, top, "<", size)
    if inside_below and inside_above:
        return None
    if not factors:
        raise NotTensor("an element may be outside of its tensor")
    if len(factors) > 1 or next(iter(factors.values())) != 1:
        raise NotTensor("the end of a tensor cuts several loops at once")
    (extent,) = (extents[var] for var in factors)
    first: Any = 0
    if not inside_below:
        first = _simplify(emit, tirx.max(-rest, 0)) if not isinstance(rest, int) else max(-rest, 0)
    last: Any = extent
    if not inside_above:
        last = _minimum(emit, extent, size - rest)
    count = last - first
    constant_count = constant(count)
    if constant_count is None:
        count = _simplify(emit, tirx.max(count, 0))
        constant_count = constant(count)
    return Clip(first, max(constant_count, 0) if constant_count is not None else count)


def clamped(emit: Emitter, index: Any, size: int) -> Any:
    """A uniform index, clamped to the range from 0 to ``size - 1`` where it may be outside."""
    constant_index = constant(index)
    if constant_index is not None:
        return min(max(constant_index, 0), size - 1)
    low = index if _holds(emit, index, ">=", 0) else tirx.max(index, 0)
    return low if _holds(emit, index, "<", size) else tirx.min(low, size - 1)


def _minimum(emit: Emitter, a: int, b: Any) -> Any:
    constant_b = constant(b)
    return min(a, constant_b) if constant_b is not None else _simplify(emit, tirx.min(b, a))


def _simplify(emit: Emitter, value: Any) -> Any:
    simplified = emit.analyzer.simplify(value)
    constant_value = constant(simplified)
    return simplified if constant_value is None else constant_value


def _holds(emit: Emitter, value: Any, relation: str, bound: Any) -> bool:
    constant_value, limit = constant(value), constant(bound)
    if constant_value is not None and limit is not None:
        return constant_value >= limit if relation == ">=" else constant_value < limit
    condition = value >= bound if relation == ">=" else value < bound
    return emit.proves(condition)
