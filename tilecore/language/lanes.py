"""Vectors as values: T.Broadcast, T.Shuffle, T.extract_lane, casts to vector types, reinterpretation, and the packed
arithmetic of pairs (T.add2 and the like).

A vector is an expression in which a variable stands for the lane (:mod:`tilecore.tracing.vectors`), so that all
functions of values apply to each lane of it.
"""

from __future__ import annotations

import numbers
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, WrongIndexError, WrongTypeError
from tilecore.ir.nodes import Expr, IntImm, TensorRegion, Var, tirx
from tilecore.language.arithmetic import Arithmetic, binary
from tilecore.language.conversions import convert, ir_dtype
from tilecore.language.integers import whole_number
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import active, current
from tilecore.tracing.vectors import at_lane, in_memory, lane_of

PACKED = ("float32", "float16", "bfloat16")  # the element types of packed arithmetic


class Broadcasted(Arithmetic):
    """A vector of equal values: beside other vectors it is the value itself."""

    def __init__(self, value: Any, lanes: int) -> None:
        self.value = as_expr(value)
        self.lanes = lanes

    def expr(self) -> Expr:
        return self.value


class Bits(Arithmetic):
    """Bits that were loaded: a vector of the elements as they lie in memory, of type ``source``, which counts as one of
    type ``kind``, unsigned integers of 32 bits."""

    def __init__(self, vector: Expr, source: DType, kind: DType) -> None:
        self.vector, self.source, self.kind, self.lanes = vector, source, kind, kind.lanes

    @property
    def dtype(self) -> DType:
        return self.kind

    def expr(self) -> Expr:
        return reinterpret_vector(self.vector, self.kind)

    def read_as(self, kind: DType) -> Expr:
        """The bits as a value or a vector of type ``kind``."""
        return self.vector if kind == self.source else reinterpret_vector(self.vector, kind)


def Broadcast(value: Any, lanes: int) -> Broadcasted:
    """A vector of ``lanes`` equal values."""
    current("T.Broadcast")
    return Broadcasted(value, whole_number(lanes, "T.Broadcast(lanes=...)", 1))


def as_vector(value: Any) -> tuple[Expr, int]:
    """The value as an expression, with its number of lanes: 1 for one value. A slice along one axis is a vector."""
    from tilecore.language.slice_stores import lanes_of, load_vector

    if isinstance(value, TensorRegion):
        value = load_vector(value)
    expression = as_expr(value)
    return expression, lanes_of(current("a vector"), value)


# -- lanes -----------------------------------------------------------------------------------------------------


def extract_lane(vector: Any, lane: Any) -> Expr:
    """The element of a vector at ``lane``, an int from 0 on."""
    lanes = _lanes_of_tvm(vector)
    if active() is not None and lanes is None:
        if not is_kernel_value(vector):
            raise WrongTypeError("T.extract_lane expects a PrimExpr, a vector", found=repr(vector)[:80])
        vector, lanes = as_vector(vector)
    if lanes is None:
        if not isinstance(vector, Expr):
            raise WrongTypeError("T.extract_lane expects a PrimExpr, a vector", found=repr(vector)[:80])
        lanes = 1
    if lanes == 1:
        raise LanguageError("T.extract_lane expects a vector expression", found=f"{vector}, one value")
    number = int(lane) if isinstance(lane, (IntImm, numbers.Integral)) and not isinstance(lane, bool) else None
    if number is None:
        raise WrongTypeError(
            "T.extract_lane expects a compile-time integer as the number of the lane",
            found=str(lane)[:80],
            expected=f"an int from 0 to {lanes - 1}",
            hint="store the vector to a T.alloc_local and index that",
        )
    if not 0 <= number < lanes:
        raise WrongIndexError(
            f"lane {number} is out of bounds of a vector of {lanes} lanes", expected=f"0 to {lanes - 1}"
        )
    return tirx.Shuffle([vector], [number]) if active() is None else at_lane(current(), vector, number)


def _lanes_of_tvm(vector: Any) -> int | None:
    """The number of lanes of an expression of one of TVM's own vector types; None for anything else."""
    lanes = getattr(getattr(getattr(vector, "ty", None), "dtype", None), "lanes", 1) if isinstance(vector, Expr) else 1
    return int(lanes) if int(lanes) > 1 else None


def Shuffle(vectors: Any, indices: Any) -> Expr:
    """The vector of the elements ``indices`` (ints) of ``vectors`` one after the other, each a vector or one value."""
    builder = current("T.Shuffle")
    elements: list[tuple[Expr, int]] = []
    for value in vectors if isinstance(vectors, (list, tuple)) else [vectors]:
        expression, lanes = as_vector(value)
        elements += [(expression, lane) for lane in range(lanes)]
    chosen = [whole_number(index, "an index of T.Shuffle", 0) for index in indices]
    if not chosen or max(chosen) >= len(elements):
        raise WrongIndexError(
            f"T.Shuffle takes elements {chosen} of {len(elements)}",
            expected=f"indices from 0 to {len(elements) - 1}, one at least",
        )
    kinds = {str(expression.ty.dtype) for expression, _ in elements}
    if len(kinds) > 1:
        raise LanguageError("T.Shuffle takes vectors of different element types", found=", ".join(sorted(kinds)))
    values = [at_lane(builder, *elements[index]) for index in chosen]
    return values[0] if len(values) == 1 else in_memory(builder, "lanes", values)


def vector_of(values: tuple[Any, ...], kind: DType) -> Expr:
    """The vector of type ``kind`` that has these lanes."""
    builder = current(f"T.{kind}")
    if len(values) != kind.lanes or kind.lanes == 1:
        raise LanguageError(
            f"T.{kind} is called with {len(values)} values",
            expected="one value" if kind.lanes == 1 else f"{kind.lanes} values, or one",
        )
    lanes = [value for value in values if is_kernel_value(value) and as_vector(value)[1] > 1]
    if lanes:
        raise LanguageError(
            f"T.{kind} is called with a vector among its values",
            found=str(lanes[0])[:80],
            expected="one value for each lane",
            hint="T.Shuffle puts vectors together",
        )
    return in_memory(builder, "lanes", [convert(value, kind.element) for value in values])


def cast_vector(value: Any, kind: DType) -> Any:
    """``value`` converted to a vector type: each lane of a vector, or one value for all lanes."""
    if not is_kernel_value(value):
        return Broadcasted(convert(value, kind.element), kind.lanes)
    expression, lanes = as_vector(value)
    if lanes == 1 or isinstance(value, Broadcasted):
        return Broadcasted(convert(expression, kind.element), kind.lanes)
    if lanes != kind.lanes:
        raise LanguageError(
            f"a vector of {lanes} lanes is cast to {kind}", found=str(value)[:80], expected=f"{kind.lanes} lanes"
        )
    return convert(expression, kind.element)


# -- reinterpretation ------------------------------------------------------------------------------------------


def reinterpret_vector(value: Any, kind: DType) -> Expr:
    """The bits of a value or a vector as another type of as many bits. The first lane has the lowest bits."""
    builder = current("T.reinterpret")
    if isinstance(value, Bits):
        return value.read_as(kind)
    expression, lanes = as_vector(value)
    source = DType(str(expression.ty.dtype))
    if source.bits * lanes != kind.bits * kind.lanes:
        spelled = source if lanes == 1 else f"{lanes} lanes of {source}"
        raise LanguageError(
            f"T.reinterpret cannot read {spelled} as {kind}",
            found=f"{source.bits * lanes} bits",
            expected=f"a value of {kind.bits * kind.lanes} bits",
        )
    if source.bits == kind.bits:
        return _bits_as(expression, kind.element)
    if not isinstance(expression, Var):
        expression = builder.bind("bits", expression)
    lane = IntImm("int32", 0) if kind.lanes == 1 else lane_of(builder, kind.lanes)
    if source.bits > kind.bits:
        parts = source.bits // kind.bits
        word = _bits_as(at_lane(builder, expression, lane // parts), f"uint{source.bits}")
        part = word >> convert(lane % parts * kind.bits, f"uint{source.bits}")
        return _bits_as(convert(part, f"uint{kind.bits}"), kind.element)
    total: Any = None
    for part in range(kind.bits // source.bits):
        element = at_lane(builder, expression, lane * (kind.bits // source.bits) + part)
        bits = convert(_bits_as(element, f"uint{source.bits}"), f"uint{kind.bits}")
        shifted = bits << convert(part * source.bits, f"uint{kind.bits}") if part else bits
        total = shifted if total is None else total | shifted
    return _bits_as(total, kind.element)


def _bits_as(value: Expr, kind: str) -> Expr:
    """The bits of a value as another element type of as many bits."""
    return value if str(value.ty.dtype) == ir_dtype(kind) else tirx.reinterpret(ir_dtype(kind), value)


# -- packed arithmetic -----------------------------------------------------------------------------------------


def _pairs(name: str, *values: Any) -> list[Any]:
    """The operands of a packed operation, which are vectors of two floats of one type."""
    kinds = []
    for value in values:
        lanes = _lanes_of_tvm(value)
        expression, count = (value, lanes) if lanes is not None or active() is None else as_vector(value)
        kinds.append((str(expression.ty.dtype).partition("x")[0], count))
        if count != 2 or kinds[-1][0] not in PACKED:
            raise LanguageError(
                f"T.{name} takes vectors of two lanes",
                found=f"{count or 1} lane(s) of {kinds[-1][0]}: {value}",
                expected=", ".join(f"{kind}x2" for kind in PACKED),
                hint="A[T.Ramp(i, 1, 2)] loads two elements",
            )
    if len(set(kinds)) > 1:
        raise LanguageError(
            f"Expected all packed x2 arguments of T.{name} to have the same dtype",
            found=", ".join(f"{kind}x2" for kind, _ in kinds),
        )
    current(f"T.{name}")
    return [as_vector(value)[0] for value in values]


def add2(x: Any, y: Any) -> Expr:
    """x + y of pairs."""
    return binary("add", *_pairs("add2", x, y))


def sub2(x: Any, y: Any) -> Expr:
    """x - y of pairs."""
    return binary("sub", *_pairs("sub2", x, y))


def mul2(x: Any, y: Any) -> Expr:
    """x * y of pairs."""
    return binary("mul", *_pairs("mul2", x, y))


def fma2(x: Any, y: Any, z: Any) -> Expr:
    """x * y + z of pairs, rounded once where the target can."""
    from tilecore.language.numeric import fma

    return fma(*_pairs("fma2", x, y, z))


def max2(x: Any, y: Any) -> Expr:
    """The larger one of each lane of pairs, as T.max."""
    from tilecore.language.numeric import max as maximum

    return maximum(*_pairs("max2", x, y))


def min2(x: Any, y: Any) -> Expr:
    """The smaller one of each lane of pairs, as T.min."""
    from tilecore.language.numeric import min as minimum

    return minimum(*_pairs("min2", x, y))


def abs2(x: Any) -> Expr:
    """The absolute value of each lane of a pair."""
    from tilecore.language.numeric import abs as absolute

    return absolute(*_pairs("abs2", x))
