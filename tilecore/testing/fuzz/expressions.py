"""Makes random expressions of a given element type, with defined behaviour and known bounds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilecore.dtypes import FACTS
from tilecore.testing.fuzz.program import Expr, Name, Num, Op
from tilecore.testing.fuzz.types import NARROW, common_type, is_float, is_integer, limit, sum_type


@dataclass(frozen=True)
class Value:
    """An expression, its element type and a bound of its magnitude. smooth: it may be rounded, so that no condition or
    index may depend on it."""

    expr: Expr
    dtype: str
    bound: float
    smooth: bool = False


Leaf = Callable[[], Value]

# the function, how its argument is brought into the domain, and the bound of the result
_FUNCTIONS: tuple[tuple[str, Callable[[Expr], Expr], float], ...] = (
    ("exp", lambda x: Op("min", (x, Num(3))), 21),
    ("exp2", lambda x: Op("min", (x, Num(4))), 16),
    ("tanh", lambda x: x, 1),
    ("sigmoid", lambda x: x, 1),
    ("sin", lambda x: Op("clamp", (x, Num(-20), Num(20))), 1),
    ("cos", lambda x: Op("clamp", (x, Num(-20), Num(20))), 1),
    ("erf", lambda x: x, 1),
    ("atan", lambda x: x, 2),
    ("log", lambda x: Op("+", (Op("abs", (x,)), Num(1))), 64),
    ("log2", lambda x: Op("+", (Op("abs", (x,)), Num(1))), 64),
    ("sqrt", lambda x: Op("+", (Op("abs", (x,)), Num(1))), 4096),
    ("rsqrt", lambda x: Op("+", (Op("abs", (x,)), Num(1))), 1),
)
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Expressions:
    """Makes expressions from leaves. exact: whole numbers only, else functions and fractions too. special: floats may
    have any values, and only operations that do not round are used."""

    def __init__(
        self, rng: random.Random, exact: bool, leaves: Sequence[tuple[float, Leaf]], special: bool = False
    ) -> None:
        self.rng = rng
        self.exact = exact
        self.special = special
        self.fits = False
        self.leaves = [leaf for _, leaf in leaves]
        self.weights = [weight for weight, _ in leaves]

    def stored(self, dtype: str, cap: float, depth: int) -> Value:
        """A value to be stored in an element of this type, of a magnitude of at most ``cap``."""
        return self.fitting(self.of_type(dtype, depth), dtype, cap)

    def of_type(self, dtype: str, depth: int) -> Value:
        """A value of this type, or of one that can be converted to it."""
        if dtype == "bool":
            return self.condition(depth)
        if depth <= 0:
            return self.converted(self.leaf(), dtype)
        make = self.float_op if is_float(dtype) else self.integer_op
        kind = self.rng.random()
        if kind < 0.12:
            return self.select(dtype, depth)
        if kind < 0.25:
            return self.converted(self.leaf(), dtype)
        return make(dtype, depth)

    def leaf(self) -> Value:
        return self.rng.choices(self.leaves, self.weights)[0]()

    def constant(self, dtype: str) -> Value:
        if dtype == "bool":
            return Value(Num(self.rng.random() < 0.5), dtype, 1)
        low = 0 if FACTS[dtype].kind == "uint" else -7
        if is_float(dtype) and self.special and self.rng.random() < 0.5:
            words = ("infinity", "max_value", "min_value") if FACTS[dtype].has_infinity else ("max_value", "min_value")
            constant = Op(self.rng.choice(words), (), dtype)
            return Value(Op("neg", (constant,)) if self.rng.random() < 0.3 else constant, dtype, limit(dtype))
        if is_float(dtype) and not self.exact and self.rng.random() < 0.5:
            return Value(Op("cast", (Num(self.rng.choice((0.5, 0.25, -1.5, 0.1, 2.75))),), dtype), dtype, 3, True)
        number = self.rng.randint(low, 7)
        return Value(Op("cast", (Num(number),), dtype), dtype, abs(number))

    # -- types and bounds ----------------------------------------------------------------------------------------

    def converted(self, value: Value, dtype: str) -> Value:
        """``value`` as this type; a magnitude that the type cannot hold exactly is reduced first."""
        if value.dtype == dtype:
            return value
        bound = value.bound
        expr = value.expr
        if self.special:
            return Value(Op("cast", (expr,), dtype), dtype, limit(dtype))
        if is_float(dtype):
            most = limit(dtype)
            if bound > most and is_integer(value.dtype):
                expr, bound = Op("%", (expr, Num(13))), 12
            elif bound > most:
                expr, bound = _clamped(expr, value.dtype, most), most
            return Value(Op("cast", (expr,), dtype), dtype, bound, value.smooth)
        if value.smooth:  # the integer could depend on a rounding
            return self.constant(dtype)
        return Value(Op("cast", (expr,), dtype), dtype, min(bound, limit(dtype)) if dtype != "bool" else 1)

    def fitting(self, value: Value, dtype: str, cap: float) -> Value:
        """``value`` within ``cap``, so that a store as ``dtype`` does not round it."""
        if self.special:
            return value
        if value.smooth and not is_float(dtype):
            return self.constant(dtype)
        if is_float(dtype) and value.bound > cap:
            if is_integer(value.dtype):
                whole = int(min(cap, 100)) + 1
                return Value(Op("%", (value.expr, Num(whole))), value.dtype, whole)
            return Value(_clamped(value.expr, value.dtype, cap), value.dtype, cap, value.smooth)
        return value

    def bounded(self, value: Value, most: float) -> Value:
        """``value``, a float, clamped to this magnitude."""
        if value.bound <= most:
            return value
        return Value(_clamped(value.expr, value.dtype, most), value.dtype, most, value.smooth)

    # -- operators -----------------------------------------------------------------------------------------------

    def float_op(self, dtype: str, depth: int) -> Value:
        kind = self.rng.random()
        if self.special:
            return self.float_choice(dtype, depth)
        if kind < 0.2:
            return self.float_function(dtype, depth)
        mixed = self.converted(self.leaf(), "float32") if kind < 0.3 else None
        left = self.of_type(dtype, depth - 1)
        right = mixed or self.of_type(dtype, depth - 1)
        if left.dtype == "bool" or not is_float(common_type(left.dtype, right.dtype)):
            left = self.converted(left, dtype)
        result_type = sum_type(left.dtype, right.dtype)
        op = self.rng.choice(("+", "+", "-", "*", "*", "max", "min"))
        bound = left.bound * right.bound if op == "*" else left.bound + right.bound
        if op in ("max", "min"):
            bound = max(left.bound, right.bound)
        if bound > limit(result_type) / 2:
            if op == "*":
                op = "max"
            left, right = self.tamed(left, limit(result_type) / 8), self.tamed(right, limit(result_type) / 8)
            bound = left.bound + right.bound
        return Value(Op(op, (left.expr, right.expr)), result_type, bound, left.smooth or right.smooth or not self.exact)

    def float_choice(self, dtype: str, depth: int) -> Value:
        """An operation on floats that does not round."""
        left = self.converted(self.of_type(dtype, depth - 1), dtype)
        kind = self.rng.random()
        if kind < 0.35:
            op = self.rng.choice(("abs", "neg", "floor", "ceil", "trunc", "round"))
            return Value(Op(op, (left.expr,)), dtype, limit(dtype))
        right = self.converted(self.of_type(dtype, depth - 1), dtype)
        if kind < 0.45:
            return Value(Op("clamp", (left.expr, Op("cast", (Num(-2),), dtype), right.expr)), dtype, limit(dtype))
        return Value(Op(self.rng.choice(("max", "min")), (left.expr, right.expr)), dtype, limit(dtype))

    def tamed(self, value: Value, most: float) -> Value:
        if is_float(value.dtype) or value.bound <= most:
            return self.bounded(value, most)
        return Value(Op("%", (value.expr, Num(7))), value.dtype, 6)

    def float_function(self, dtype: str, depth: int) -> Value:
        inner = self.converted(self.of_type(dtype, depth - 1), dtype)
        if not self.exact and dtype not in NARROW and self.rng.random() < 0.7:
            name, before, bound = self.rng.choice(_FUNCTIONS)
            return Value(Op(name, (before(inner.expr),)), dtype, bound, True)
        ops = ["abs", "neg"] if inner.smooth else ["abs", "neg", "floor", "ceil", "trunc", "round"]
        return Value(Op(self.rng.choice(ops), (inner.expr,)), dtype, inner.bound, inner.smooth)

    def integer_op(self, dtype: str, depth: int) -> Value:
        left = self.integer(dtype, depth - 1)
        right = self.integer(dtype, depth - 1)
        result_type = common_type(left.dtype, right.dtype)
        kind = self.rng.random()
        if kind < 0.55:
            op = self.rng.choice(("+", "-", "*", "&", "|", "^", "max", "min"))
            return Value(Op(op, (left.expr, right.expr)), result_type, _integer_bound(op, left, right, result_type))
        if kind < 0.75:
            op = self.rng.choice(("//", "%", "truncdiv", "truncmod"))
            number = self.rng.choice((1, 2, 3, 5, 7, 8, 16, 100))
            if FACTS[left.dtype].kind == "int" and self.rng.random() < 0.3:
                number = -number
            if self.rng.random() < 0.25:  # by a number of the kernel, which is made positive
                return Value(Op(op, (left.expr, Op("max", (right.expr, Num(1))))), result_type, limit(result_type))
            return Value(Op(op, (left.expr, Num(number))), common_type(left.dtype, "int32"), limit("int64"))
        if kind < 0.85:
            op = self.rng.choice(("<<", ">>"))
            return Value(Op(op, (left.expr, Op("&", (right.expr, Num(3))))), left.dtype, limit("int64"))
        if kind < 0.93:
            op = self.rng.choice(("neg", "~", "abs"))
            return Value(Op(op, (left.expr,)), left.dtype, limit(left.dtype))
        if FACTS[left.dtype].bits >= 32:
            op = self.rng.choice(("popcount", "clz"))
            return Value(Op("cast", (Op(op, (left.expr,)),), "int32"), "int32", 64)
        return Value(Op("clamp", (left.expr, Num(1), Num(50))), left.dtype, 50)

    def integer(self, dtype: str, depth: int) -> Value:
        """An integer, mostly of this type."""
        value = self.of_type(dtype, depth)
        value = value if is_integer(value.dtype) else self.converted(value, dtype)
        return Value(Op("&", (value.expr, Num(15))), value.dtype, 15) if self.fits else value

    def index(self, depth: int) -> Expr:
        """An int32 for an index, whose sums and products fit: where they do not, an index is undefined."""
        self.fits = True
        value = self.integer_op("int32", depth) if depth > 0 else self.integer("int32", depth)
        self.fits = False
        return Op("cast", (value.expr,), "int32")

    def select(self, dtype: str, depth: int) -> Value:
        condition = self.condition(depth - 1)
        left = self.converted(self.of_type(dtype, depth - 1), dtype)
        right = self.converted(self.of_type(dtype, depth - 1), dtype)
        smooth = left.smooth or right.smooth
        op = self.rng.choice(("if_then_else", "if_then_else", "Select"))
        return Value(Op(op, (condition.expr, left.expr, right.expr)), dtype, max(left.bound, right.bound), smooth)

    def condition(self, depth: int) -> Value:
        kind = self.rng.random()
        if depth > 1 and kind < 0.2:
            op = self.rng.choice(("and", "or"))
            return Value(Op(op, (self.condition(depth - 1).expr, self.condition(depth - 1).expr)), "bool", 1)
        if depth > 1 and kind < 0.27:
            return Value(Op("not", (self.condition(depth - 1).expr,)), "bool", 1)
        left = self.leaf()
        for _ in range(8):
            if not left.smooth and not isinstance(left.expr, Num):
                break
            left = self.leaf()
        if left.smooth or isinstance(left.expr, Num):
            return self.constant("bool")
        if left.dtype == "bool":
            return left
        if self.special and is_float(left.dtype) and kind > 0.8:
            return Value(Op(self.rng.choice(("isnan", "isinf", "isfinite")), (left.expr,)), "bool", 1)
        right = self.constant(left.dtype) if kind < 0.6 or depth < 1 else self.converted(self.leaf(), left.dtype)
        if right.smooth:
            right = Value(Op("cast", (Num(1),), left.dtype), left.dtype, 1)
        return Value(Op(self.rng.choice(_COMPARISONS), (left.expr, right.expr)), "bool", 1)


def _clamped(expr: Expr, dtype: str, most: float) -> Expr:
    low = 0 if FACTS[dtype].kind == "uint" else -int(most)
    return Op("clamp", (expr, Num(low), Num(int(most))))


def _integer_bound(op: str, left: Value, right: Value, result_type: str) -> float:
    """The bound of the result, which may wrap in its type."""
    if op in ("max", "min"):
        bound = max(left.bound, right.bound)
    elif op == "*":
        bound = left.bound * right.bound
    else:
        bound = 2 * (left.bound + right.bound)
    signed = FACTS[result_type].kind == "int"
    return bound if bound < limit(result_type) and signed else limit(result_type)


def index_value(name: str, bound: float) -> Value:
    return Value(Name(name), "int32", bound)


def plus(base: Expr, offset: Expr) -> Expr:
    """A sum, without zeros."""
    if base == Num(0):
        return offset
    return base if offset == Num(0) else Op("+", (base, offset))


def times(name: str, size: str) -> Expr:
    return Op("*", (Name(name), Name(size)))
