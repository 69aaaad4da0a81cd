"""Masked stores to tensors: a condition that holds in a range of one loop clips the transfer."""

from __future__ import annotations

from typing import Any

from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import NotTensor, extents_of
from tile_tpu.lowering.views.clips import Clip
from tile_tpu.lowering.views.global_views import GlobalAccess
from tilecore.ir.build import constant
from tilecore.ir.nodes import Var, tirx


def with_masks(emit: Emitter, access: GlobalAccess, masks: list[Any]) -> GlobalAccess:
    """The access, clipped to the iterations in which all masks hold. Raises NotTensor where a mask is no range of one
    loop."""
    clips = dict(access.clips)
    for mask in masks:
        for part in _conjuncts(mask):
            var, first, last = _range(emit, part)
            if var not in access.steps:
                raise NotTensor("the condition of a store is on a loop that does not index the tensor")
            extent = extents_of(emit.frame)[var]
            clip = clips.get(var, Clip(0, extent))
            clips[var] = _intersection(emit, clip, first, last)
    return GlobalAccess(access.buffer, access.offset, access.steps, clips)


def _conjuncts(mask: Any) -> list[Any]:
    name = type(mask).__name__
    if name in ("And", "BitwiseAnd"):
        return [*_conjuncts(mask.a), *_conjuncts(mask.b)]
    if name in ("Not", "BitwiseNot"):
        return _opposites(mask.a)
    return [mask]


_OPPOSITE = {"LT": ">=", "LE": ">", "GT": "<=", "GE": "<"}


def _opposites(mask: Any) -> list[Any]:
    """The conjuncts of the negation of ``mask``."""
    name = type(mask).__name__
    if name in ("Or", "BitwiseOr"):
        return [*_opposites(mask.a), *_opposites(mask.b)]
    return _conjuncts(mask.a) if name in ("Not", "BitwiseNot") else [_opposite(mask)]


def _opposite(condition: Any) -> Any:
    relation = _OPPOSITE.get(type(condition).__name__)
    if relation is None:
        raise NotTensor(f"the condition of a store to a tensor is not a range of one loop: not {condition}")
    a, b = condition.a, condition.b
    return {">=": lambda: a >= b, ">": lambda: a > b, "<=": lambda: a <= b, "<": lambda: a < b}[relation]()


def _range(emit: Emitter, condition: Any) -> tuple[Var, Any, Any]:
    """The iterations in which a comparison holds: (loop variable, first, last + 1). None is an open end."""
    name = type(condition).__name__
    if name not in ("LT", "LE", "GT", "GE", "EQ"):
        raise NotTensor(f"the condition of a store to a tensor is not a range of one loop: {condition}")
    factors, rest = emit.frame.terms(condition.a - condition.b)
    if len(factors) != 1:
        raise NotTensor(f"the condition of a store to a tensor is not a range of one loop: {condition}")
    ((var, factor),) = factors.items()
    if factor not in (1, -1):
        raise NotTensor(f"the condition of a store to a tensor is not a range of one loop: {condition}")
    if factor == -1:  # -var + rest < 0  <=>  var - rest > 0
        rest = -rest
        name = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "EQ": "EQ"}[name]
    edge = -rest  # var (relation) edge
    if name == "LT":
        return var, None, edge
    if name == "LE":
        return var, None, edge + 1
    if name == "GT":
        return var, edge + 1, None
    if name == "GE":
        return var, edge, None
    return var, edge, edge + 1


def _intersection(emit: Emitter, clip: Clip, first: Any, last: Any) -> Clip:
    start, end = clip.first, clip.first + clip.count
    if first is not None:
        start = _extreme(emit, max, tirx.max, start, first)
    if last is not None:
        end = _extreme(emit, min, tirx.min, end, last)
    count = _extreme(emit, max, tirx.max, end - start, 0)
    return Clip(start, count)


def _extreme(emit: Emitter, of_constants: Any, of_expressions: Any, a: Any, b: Any) -> Any:
    constant_a, constant_b = constant(a), constant(b)
    if constant_a is not None and constant_b is not None:
        return of_constants(constant_a, constant_b)
    extreme = emit.analyzer.simplify(of_expressions(a, b))
    constant_value = constant(extreme)
    return extreme if constant_value is None else constant_value
