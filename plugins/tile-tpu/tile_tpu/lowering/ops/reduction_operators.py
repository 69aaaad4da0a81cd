"""How values are joined: the instruction of each kind of reduction, and what values go through before.

The tensor unit's max and min are ``a > b ? a : b`` and ``a > b ? b : a`` (measured on the vendor's CModel): max with a
number replaces NaN by it, min does so with the number as its first operand, and to ``select_less`` a NaN is less than
minus infinity. A pool lets a NaN drop what came before it. So NaN is taken out first, and marked apart where it is to
stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tile_tpu.ir.views import View, stored
from tile_tpu.lowering.ops.work import Work, known_shape
from tilecore.dtypes import FACTS
from tilecore.ir.build import const
from tilecore.ir.nodes import Expr
from tilecore.ir.reductions import identity, joiner

_INSTRUCTIONS = {
    **{"sum": "add", "prod": "mul", "max": "max", "min": "min"},
    **{"bitand": "and", "bitor": "or", "bitxor": "xor"},
}
_POOLS = {"sum": "reduce_sum", "max": "reduce_max", "min": "reduce_min"}
_WIDTHS = (8, 16, 32)


@dataclass(frozen=True)
class ReductionOperator:
    """kind: of the reduction. dtype: of its result. keeps_nan: a NaN among the values makes the result NaN. fast:
    values are taken to hold no NaN."""

    kind: str
    dtype: str
    keeps_nan: bool = False
    fast: bool = False

    @property
    def is_float(self) -> bool:
        return FACTS[self.dtype].kind == "float"

    @property
    def total(self) -> str:
        """The element type of results in between: sums of narrow floats are float32."""
        narrow = self.is_float and (joiner(self.kind) in ("sum", "prod") or FACTS[self.dtype].bits < 16)
        return "float32" if narrow else stored(self.dtype)

    @property
    def instruction(self) -> str:
        return _INSTRUCTIONS[joiner(self.kind)]

    @property
    def pool(self) -> str | None:
        """The instruction that joins along w, which floats have."""
        return _POOLS.get(joiner(self.kind)) if self.is_float else None

    @property
    def drops_nan(self) -> bool:
        return self.is_float and joiner(self.kind) in ("max", "min") and not self.fast

    @property
    def identity(self) -> Expr:
        """In the type of results in between; of bool as 0 or 1."""
        if self.dtype == "bool":
            return const(int(identity(self.kind, "bool").value), "uint8")
        return identity(self.kind, self.total)

    def plain(self) -> ReductionOperator:
        """That of values that are prepared already."""
        return replace(self, kind=joiner(self.kind), keeps_nan=False, fast=True)


def declines(kind: str, source: str, target: str) -> str | None:
    """Why the tensor unit cannot join values of ``source`` into ``target``."""
    for one in (source, target):
        if FACTS[stored(one)].bits not in _WIDTHS:
            return f"the tensor unit has no {one}"
    if source == target:
        return None
    a, b = FACTS[source], FACTS[target]
    if target == "bool":
        return f"a conversion from {source} to bool"
    if a.kind == "float" and b.kind == "float":
        return None
    if b.kind == "float":
        return None if target == "float32" or a.bits < 16 else f"a conversion from {source} to {target}"
    fits = a.kind in ("int", "uint", "bool") and a.bits < b.bits and (a.kind != "int" or b.kind == "int")
    return None if fits or source == "bool" else f"a conversion from {source} to {target} that may not fit"


def prepare(work: Work, operator: ReductionOperator, view: View, width: str | None = None) -> View:
    """The values as they are joined: of the result's type, absolute, without NaN. width: the type to give them where
    that is not the narrow type that pools take."""
    widens = width is None and operator.instruction == "add" and operator.dtype == "float32"
    keeps = widens and FACTS[view.dtype].kind == "float" and FACTS[view.dtype].bits == 16  # the pool widens itself
    made = view if keeps else work.converted(view, stored(operator.dtype))
    if FACTS[made.dtype].kind == "float" and FACTS[made.dtype].bits < 16:
        made = work.converted(made, "float32")
    if width is not None:
        made = work.converted(made, width)
    unsigned = FACTS[made.dtype].kind == "uint"
    if operator.kind.startswith("abs") and not unsigned:
        made = _applied(work, "abs", made, view)
    return _without_nan(work, operator, made, view) if operator.drops_nan else made


def _applied(work: Work, name: str, value: View, source: View, *more: Any) -> View:
    """An instruction in new memory, or in place where that is new already."""
    own = not value.buffer.same_as(source.buffer)
    made = value if own else work.room(known_shape(value), value.dtype, "prepared")
    work.emit(name, made, value, *more)
    return made


def _without_nan(work: Work, operator: ReductionOperator, value: View, source: View) -> View:
    edge = identity(operator.kind, value.dtype)
    if operator.instruction == "max":
        return _applied(work, "max", value, source, edge)
    own = not value.buffer.same_as(source.buffer)
    made = value if own else work.room(known_shape(value), value.dtype, "prepared")
    work.emit("min", made, everywhere(work, edge, value), value)
    return made


def everywhere(work: Work, number: Any, like: View) -> View:
    """A view of the extents of ``like`` whose elements are all the same number, one element in each lane."""
    shape = known_shape(like)
    one = work.room((1, min(shape[1], work.chip.lanes), 1, 1), like.dtype, "number")
    work.emit("fill", one, number)
    return replace(one, shape=like.shape, strides=(0, 0, 0, 0))


def nan_marks(work: Work, operator: ReductionOperator, view: View) -> View:
    """0 for each value, NaN for each NaN. view: the values as they are."""
    value = work.aligned_operand(work.converted(view, "float32"))
    clean = work.room(known_shape(value), "float32", "clean")
    lowest = const(float("-inf"), "float32")
    work.emit("select_less", clean, value, lowest, const(float("nan"), "float32"), const(0.0, "float32"))
    return clean
