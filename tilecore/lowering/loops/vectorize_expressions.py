"""Vectorizes the expressions of a loop body: each lane is one iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import Strided, coefficient, lane_step
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import cast, const, dtype_of, op_name
from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import (
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    Expr,
    Ramp,
    Range,
    Select,
    StringImm,
    TensorLoad,
    Var,
    structural_equal,
    tirx,
)
from tilecore.ir.thread_calls import ATOMIC_ELEMENT, DEVICE_ASSERT, PRINT
from tilecore.ir.tile_op_table import ALLREDUCE
from tilecore.ir.tile_op_table import BALLOT as TILE_BALLOT
from tilecore.ir.tile_op_table import SHUFFLE as TILE_SHUFFLE
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.loops.lane_ops import MASKED_LOAD, RAW_LOAD, masked_load

_COMPARISONS = {"LT": tirx.LT, "LE": tirx.LE, "GT": tirx.GT, "GE": tirx.GE, "EQ": tirx.EQ, "NE": tirx.NE}
_BINARY = {
    "Add": tirx.Add,
    "Sub": tirx.Sub,
    "Mul": tirx.Mul,
    "Div": tirx.Div,
    "Mod": tirx.Mod,
    "FloorDiv": tirx.FloorDiv,
    "FloorMod": tirx.FloorMod,
    "Min": tirx.Min,
    "Max": tirx.Max,
    "BitwiseAnd": tirx.BitwiseAnd,
    "BitwiseOr": tirx.BitwiseOr,
    "BitwiseXor": tirx.BitwiseXor,
    "LShift": tirx.LShift,
    "RShift": tirx.RShift,
    **_COMPARISONS,
}
_TRAPPING = ("Div", "Mod", "FloorDiv", "FloorMod")
_WARP = (TILE_SHUFFLE, TILE_BALLOT)
_EFFECTS = (
    ATOMIC_ELEMENT,
    PRINT,
    DEVICE_ASSERT,
    ALLREDUCE,
    "call_extern",
    MASKED_LOAD,
    *_WARP,
)


class CannotVectorizeError(Exception):
    """The body has no vector form; the message says why, for ``kernel.explain()``."""


class LaneExpressions:
    """The vector form of expressions: ``var`` becomes ``base + lane`` for ``count`` lanes.

    mask: bool vector of the active lanes, or None for all. vectors: variables that differ between lanes.
    buffers: buffers private to a lane, each with the vector buffer, and the slot in it, that replaces it.
    varying: variables and buffers that differ between lanes.
    """

    def __init__(self, var: Var, base: Expr, count: int, mask: Expr | None = None) -> None:
        self.var = var
        self.base = base
        self.count = count
        self.mask = mask
        self.vectors: dict[Var, Any] = {var: Ramp(base, const(1, dtype_of(var)), count)}
        self.buffers: dict[Var, tuple[Var, int]] = {}
        self.varying: set[Var] = {var}

    def expr(self, node: Expr) -> Expr:
        """The vector form of an expression; the expression itself if all lanes have the same value."""
        if not self._varies(node):
            effect = effect_in(node)
            if effect is not None:  # it must happen once for every iteration, although it is uniform
                raise CannotVectorizeError(f"{effect} runs element by element")
            return node
        name = type(node).__name__
        if name == "Var":
            return self.vectors[node]
        if name in _BINARY:
            return self._binary(name, node)
        handler = _EXPRESSIONS.get(name)
        if handler is None:
            raise CannotVectorizeError(f"an expression contains {name}, which has no vector form")
        return handler(self, node)

    def _varies(self, node: Expr) -> bool:
        if any(v in self.varying for v in variables(node)):
            return True
        return any(load.source in self.varying for load in collect(node, TensorLoad))

    def vector(self, value: Expr) -> Expr:
        return value if lanes_of(value) > 1 else Broadcast(value, self.count)

    def _binary(self, name: str, node: Any) -> Expr:
        if name in _COMPARISONS:
            special = self._compare_indices(name, node)
            if special is not None:
                return special
        a, b = self.vector(self.expr(node.a)), self.vector(self.expr(node.b))
        if name in _TRAPPING and self.mask is not None and not dtype_of(b).startswith(("float", "bfloat")):
            b = Select(self.mask, b, Broadcast(const(1, dtype_of(node.b)), self.count))
        return _BINARY[name](a, b)

    def _compare_indices(self, name: str, node: Any) -> Expr | None:
        """A comparison of indices that are affine in the lane, done on int32 lane indices instead of wide indices."""
        if not dtype_of(node.a).startswith("int"):
            return None
        left, right = coefficient(node.a, self.var), coefficient(node.b, self.var)
        if (
            self._varies_otherwise(node.a)
            or self._varies_otherwise(node.b)
            or not (isinstance(left, int) and isinstance(right, int))
        ):
            return None
        step = left - right
        if step not in (1, -1) or name in ("EQ", "NE"):
            return None
        zero = {self.var: self.base}
        # in 64 bits, as the difference of two values of 32 bits may wrap around
        start, end = (cast(substitute(side, zero), "int64") for side in (node.a, node.b))
        difference = Analyzer().simplify(end - start)
        # step * lane  <name>  difference
        bound = cast(
            tirx.min(
                tirx.max(difference, const(-self.count - 1, dtype_of(difference))),
                const(self.count + 1, dtype_of(difference)),
            ),
            "int32",
        )
        lanes = Ramp(const(0, "int32"), const(step, "int32"), self.count)
        return _COMPARISONS[name](lanes, Broadcast(bound, self.count))

    def _varies_otherwise(self, node: Expr) -> bool:
        """Does the expression vary other than through the loop variable?"""
        return any(v in self.varying and not v.same_as(self.var) for v in variables(node)) or bool(
            collect(node, TensorLoad)
        )

    def _logic(self, node: Any) -> Expr:
        a = self.vector(self.expr(node.a))
        is_and = type(node).__name__ == "And"
        b = self._masked(a if is_and else tirx.Not(a), lambda: self.vector(self.expr(node.b)))
        return (tirx.And if is_and else tirx.Or)(a, b)

    def _bitwise_not(self, node: Any) -> Expr:
        return tirx.BitwiseNot(self.vector(self.expr(node.a)))

    def _not(self, node: Any) -> Expr:
        return tirx.Not(self.vector(self.expr(node.a)))

    def _select(self, node: Any) -> Expr:
        condition, a, b = node.condition, node.true_value, node.false_value
        test = self.expr(condition)
        if lanes_of(test) == 1:
            return tirx.if_then_else(test, self.vector(self.expr(a)), self.vector(self.expr(b)))
        if not isinstance(node, _Choice):  # a Select: both sides may be read whatever the condition
            return Select(test, self.vector(self.expr(a)), self.vector(self.expr(b)))
        mask = test if self.mask is None else tirx.And(self.mask, test)
        then = self._masked(test, lambda: self.vector(self.expr(a)))
        other = self._masked(tirx.Not(test), lambda: self.vector(self.expr(b)))
        is_load = isinstance(then, Call) and then.op.name == MASKED_LOAD
        # only a load under exactly this condition, not one with a further condition and its own value where that fails
        if is_load and structural_equal(then.args[1], mask) and not collect(other, TensorLoad):
            return Call(MASKED_LOAD, [then.args[0], then.args[1], other], ret_ty=dtype_of(then))
        return Select(test, then, other)

    def _cast(self, node: Cast) -> Expr:
        value = self.expr(node.value)
        return Cast(f"{dtype_of(node)}x{self.count}", self.vector(value))

    def _load(self, node: TensorLoad) -> Expr:
        if node.source in self.buffers:
            buffer, slot = self.buffers[node.source]
            index = self.expr(node.indices[0])
            if lanes_of(index) != 1:
                raise CannotVectorizeError(
                    f"{node.source.name} is private to an iteration and is indexed by the loop variable"
                )
            return BufferLoad(buffer, [index + slot])
        index = self._index(node.source, node.indices)
        if lanes_of(index) == 1:
            return BufferLoad(node.source, [index], span=node.span)
        if self.mask is not None:
            zero = Broadcast(const(0, dtype_of(node)), self.count)
            return masked_load(node.source, index, self.mask, zero)
        return BufferLoad(node.source, [index], span=node.span)

    def _raw_load(self, node: Call) -> Expr:
        """One wide load of adjacent words of memory."""
        element = node.args[0]
        width = max(1, DType(dtype_of(node)).bits // DType(dtype_of(element)).bits)
        step = lane_step(element.indices[0], self.var, self.count)
        if step != width or self.mask is not None:
            raise CannotVectorizeError("a raw load is masked, or its lanes are not adjacent in memory")
        first = BufferLoad(element.source, [substitute(element.indices[0], {self.var: self.base})])
        return Call(RAW_LOAD, [first], ret_ty=f"{dtype_of(node)}x{self.count}")

    def _index(self, buffer: Var, indices: Any) -> Expr:
        """The offsets of all lanes: a Ramp where they are evenly spaced, else a vector of offsets."""
        (offset,) = indices
        if not self._varies(offset):
            return offset
        if not self._varies_otherwise(offset):
            step = coefficient(offset, self.var)
            if step is None:
                offset = self._simplified(offset)
                step = coefficient(offset, self.var)
            if step is not None:
                base = substitute(offset, {self.var: self.base})
                if isinstance(step, Strided):
                    return Ramp(base, cast(step.step, dtype_of(base)), self.count)
                return Ramp(base, const(step, dtype_of(base)), self.count) if step else base
        return self.vector(self.expr(offset))

    def _simplified(self, offset: Expr) -> Expr:
        """The offset with the variable split into base and lane, simplified. This resolves ``// 32`` and ``% 32``."""
        lane = Var("lane", dtype_of(self.var))
        analyzer = Analyzer()
        analyzer.bind(lane, Range.from_min_extent(const(0, dtype_of(lane)), const(self.count, dtype_of(lane))))
        simplified = analyzer.simplify(substitute(offset, {self.var: self.base + lane}))
        step = coefficient(simplified, lane)
        if not isinstance(step, int):
            return offset
        return substitute(simplified, {lane: self.var - self.base})

    def _call(self, node: Call) -> Expr:
        name = op_name(node)
        if name == RAW_LOAD:
            return self._raw_load(node)
        if name in _EFFECTS:
            raise CannotVectorizeError(f"{name.removeprefix('tile.')} runs element by element")
        if name == "if_then_else":
            condition, a, b = node.args
            return self._select(_Choice(condition, a, b))
        args = [arg if isinstance(arg, StringImm) else self.vector(self.expr(arg)) for arg in node.args]
        return Call(node.op, args, ret_ty=f"{dtype_of(node)}x{self.count}")

    def _masked(self, condition: Expr, make: Callable[[], Any]) -> Any:
        before = self.mask
        self.mask = condition if before is None else tirx.And(before, condition)
        try:
            return make()
        finally:
            self.mask = before


class _Choice:
    """An if_then_else in the form of a Select."""

    def __init__(self, condition: Expr, true_value: Expr, false_value: Expr) -> None:
        self.condition = condition
        self.true_value = true_value
        self.false_value = false_value


_EXPRESSIONS: dict[str, Callable[[LaneExpressions, Any], Expr]] = {
    "And": LaneExpressions._logic,
    "Or": LaneExpressions._logic,
    "Not": LaneExpressions._not,
    "BitwiseNot": LaneExpressions._bitwise_not,
    "Select": LaneExpressions._select,
    "Cast": LaneExpressions._cast,
    "TensorLoad": LaneExpressions._load,
    "Call": LaneExpressions._call,
}


def lanes_of(value: Any) -> int:
    """The number of lanes of a value, 1 for a scalar."""
    return int(value.ty.dtype.lanes)
