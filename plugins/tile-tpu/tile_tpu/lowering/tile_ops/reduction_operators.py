"""The operators of reductions: the instruction of each kind, and how values are prepared for it.

The tensor unit's max and min are ``a > b ? a : b`` and ``a > b ? b : a`` (measured on the vendor's CModel). So max with
a number replaces NaN by the number, and min does so with the number as its first operand. To ``select_less`` a NaN is
less than minus infinity. In a pool a NaN drops the values before it. So NaN is removed first, and marked separately
where the result must keep it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tile_tpu.ir.views import View, stored
from tile_tpu.lowering.tile_ops.emitter import Work, constant_shape_of
from tilecore.dtypes import FACTS
from tilecore.ir.build import const
from tilecore.ir.nodes import Expr
from tilecore.ir.reductions import combining_kind, identity

_INSTRUCTIONS = {
    **{"sum": "add", "prod": "mul", "max": "max", "min": "min"},
    **{"bitand": "and", "bitor": "or", "bitxor": "xor"},
}
_POOLS = {"sum": "reduce_sum", "max": "reduce_max", "min": "reduce_min"}
_WIDTHS = (8, 16, 32)


@dataclass(frozen=True)
class ReductionOperator:
    """One reduction operator.

    kind: of the reduction. dtype: of its result. keeps_nan: a NaN among the values makes the result NaN. fast: the
    values are assumed to hold no NaN.
    """

    kind: str
    dtype: str
    keeps_nan: bool = False
    fast: bool = False

    @property
    def is_float(self) -> bool:
        return FACTS[self.dtype].kind == "float"

    @property
    def total(self) -> str:
        """The element type of intermediate results: sums of narrow floats are float32."""
        narrow = self.is_float and (combining_kind(self.kind) in ("sum", "prod") or FACTS[self.dtype].bits < 16)
        return "float32" if narrow else stored(self.dtype)

    @property
    def instruction(self) -> str:
        return _INSTRUCTIONS[combining_kind(self.kind)]

    @property
    def pool(self) -> str | None:
        """The pooling instruction that reduces along w; None for integers."""
        return _POOLS.get(combining_kind(self.kind)) if self.is_float else None

    @property
    def drops_nan(self) -> bool:
        return self.is_float and combining_kind(self.kind) in ("max", "min") and not self.fast

    @property
    def identity(self) -> Expr:
        """The operator's identity in the type of intermediate results; of bool as 0 or 1."""
        if self.dtype == "bool":
            return const(int(identity(self.kind, "bool").value), "uint8")
        return identity(self.kind, self.total)

    def plain(self) -> ReductionOperator:
        """The operator for values that are already prepared."""
        return replace(self, kind=combining_kind(self.kind), keeps_nan=False, fast=True)


def declines(kind: str, source: str, target: str) -> str | None:
    """The reason why the tensor unit cannot reduce ``source`` values to ``target``; None where it can."""
    for element_type in (source, target):
        if FACTS[stored(element_type)].bits not in _WIDTHS:
            return f"the tensor unit does not support {element_type}"
    if source == target:
        return None
    a, b = FACTS[source], FACTS[target]
    if target == "bool":
        return f"the tensor unit does not convert {source} to bool"
    if a.kind == "float" and b.kind == "float":
        return None
    if b.kind == "float":
        return None if target == "float32" or a.bits < 16 else f"the tensor unit does not convert {source} to {target}"
    fits = a.kind in ("int", "uint", "bool") and a.bits < b.bits and (a.kind != "int" or b.kind == "int")
    return None if fits or source == "bool" else f"{target} does not hold all values of {source}"


def prepare(work: Work, operator: ReductionOperator, view: View, width: str | None = None) -> View:
    """The values prepared for the reduction: converted to the result's type, absolute values where the kind asks for
    them, without NaN. width: the type to convert to where it is not the narrow type that pools take."""
    widens = width is None and operator.instruction == "add" and operator.dtype == "float32"
    keeps = widens and FACTS[view.dtype].kind == "float" and FACTS[view.dtype].bits == 16  # the pool itself widens
    prepared = view if keeps else work.converted(view, stored(operator.dtype))
    if FACTS[prepared.dtype].kind == "float" and FACTS[prepared.dtype].bits < 16:
        prepared = work.converted(prepared, "float32")
    if width is not None:
        prepared = work.converted(prepared, width)
    unsigned = FACTS[prepared.dtype].kind == "uint"
    if operator.kind.startswith("abs") and not unsigned:
        prepared = _applied(work, "abs", prepared, view)
    return _without_nan(work, operator, prepared, view) if operator.drops_nan else prepared


def _applied(work: Work, name: str, value: View, source: View, *more: Any) -> View:
    """The result of an instruction, in new memory; in place where the operand is already in new memory."""
    is_new = not value.buffer.same_as(source.buffer)
    result = value if is_new else work.room(constant_shape_of(value), value.dtype, "prepared")
    work.emit(name, result, value, *more)
    return result


def _without_nan(work: Work, operator: ReductionOperator, value: View, source: View) -> View:
    edge = identity(operator.kind, value.dtype)
    if operator.instruction == "max":
        return _applied(work, "max", value, source, edge)
    is_new = not value.buffer.same_as(source.buffer)
    result = value if is_new else work.room(constant_shape_of(value), value.dtype, "prepared")
    work.emit("min", result, everywhere(work, edge, value), value)
    return result


def everywhere(work: Work, number: Any, like: View) -> View:
    """A view with the extents of ``like`` whose elements are all ``number``: one element in each lane."""
    shape = constant_shape_of(like)
    element = work.room((1, min(shape[1], work.chip.lanes), 1, 1), like.dtype, "number")
    work.emit("fill", element, number)
    return replace(element, shape=like.shape, strides=(0, 0, 0, 0))


def nan_marks(work: Work, operator: ReductionOperator, view: View) -> View:
    """A tile with 0 for each number and NaN for each NaN of ``view``."""
    value = work.aligned_operand(work.converted(view, "float32"))
    clean = work.room(constant_shape_of(value), "float32", "clean")
    lowest = const(float("-inf"), "float32")
    work.emit("select_less", clean, value, lowest, const(float("nan"), "float32"), const(0.0, "float32"))
    return clean
