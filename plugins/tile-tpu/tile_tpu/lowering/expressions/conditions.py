"""Choices between values: comparisons become select instructions, ``and``, ``or`` and ``not`` become their nesting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_tpu.ir.views import stored
from tile_tpu.lowering.commands.frames import NotTensor, Tile
from tile_tpu.lowering.expressions.functions import FLOAT_TESTS
from tile_tpu.lowering.expressions.min_max import is_number
from tile_tpu.lowering.expressions.select_widths import of_one_width
from tilecore.dtypes import FACTS
from tilecore.ir.build import const, constant, dtype_of, op_name
from tilecore.ir.nodes import FloatImm, IfThenElse

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Value, Values

_COMPARED = ("float32", "float16", "bfloat16", "int32", "int16", "int8", "uint32", "uint16", "uint8")
_JOINS = {"And": "And", "BitwiseAnd": "And", "Or": "Or", "BitwiseOr": "Or", "Not": "Not", "BitwiseNot": "Not"}


def select(values: Values, condition: Any, yes: Any, no: Any) -> Value:
    """``yes if condition else no``; yes and no are expressions. Raises NotTensor."""
    if values.is_uniform(condition):
        return _by_control(values, condition, yes, no)
    dtype = dtype_of(yes)
    with values.guard():
        first, second = values.value(yes), values.value(no)
    return choose(values, condition, first, second, dtype)


def choose(values: Values, condition: Any, yes: Value, no: Value, dtype: str) -> Value:
    """The same for values that are there already."""
    known = constant(condition)
    if known is not None:
        return yes if known else no
    name = type(condition).__name__
    name = _JOINS.get(name, name)
    if name in ("And", "Or"):
        with values.guard():  # the second one counts where the first one does not decide
            inner = choose(values, condition.b, yes, no, dtype)
        return choose(values, condition.a, *((inner, no) if name == "And" else (yes, inner)), dtype)
    if name == "Not":
        return choose(values, condition.a, no, yes, dtype)
    if name == "BitwiseXor":
        first, second = (choose(values, condition.b, *pair, dtype) for pair in ((no, yes), (yes, no)))
        return choose(values, condition.a, first, second, dtype)
    if op_name(condition) == "if_then_else" and dtype_of(condition) == "bool":
        test, one, other = condition.args
        with values.guard():
            first, second = choose(values, one, yes, no, dtype), choose(values, other, yes, no, dtype)
        return choose(values, test, first, second, dtype)
    if op_name(condition) in FLOAT_TESTS:
        return _float_test(values, condition, yes, no, dtype)
    if name not in ("LT", "LE", "GT", "GE", "EQ", "NE"):
        return _if_set(values, condition, yes, no, dtype)
    a, b, kind = _compared(values, condition.a, condition.b)
    if name in ("LT", "LE"):
        a, b, name = b, a, "GT" if name == "LT" else "GE"
    if name == "GT":
        return compare(values, "greater", a, b, yes, no, dtype)
    if name == "EQ":
        return _equal(values, a, b, yes, no, dtype, kind)
    if name == "NE":
        return _equal(values, a, b, no, yes, dtype, kind)
    return _at_least(values, a, b, yes, no, dtype, kind)


def _at_least(values: Values, a: Value, b: Value, yes: Value, no: Value, dtype: str, kind: str) -> Tile:
    """a >= b. The unit's "less" is its opposite, also with NaN, but for two NaN of the same bits."""
    return compare(values, "less", a, b, no, _unless_nan(values, a, b, yes, no, dtype, kind), dtype)


def _equal(values: Values, a: Value, b: Value, yes: Value, no: Value, dtype: str, kind: str) -> Tile:
    """The unit's "equal" compares bits: it is not used where a float may be 0 or NaN."""
    if FACTS[kind].kind != "float" or values.emit.fast or _has_bits_of_its_own(a) or _has_bits_of_its_own(b):
        return compare(values, "equal", a, b, yes, no, dtype)
    there = _unless_nan(values, a, b, yes, no, dtype, kind)
    return compare(values, "less", a, b, no, compare(values, "less", b, a, no, there, dtype), dtype)


def _has_bits_of_its_own(value: Value) -> bool:
    """Is it a number that no other bits stand for?"""
    return isinstance(value, FloatImm) and float(value.value) != 0 and float(value.value) == float(value.value)


def _unless_nan(values: Values, a: Value, b: Value, yes: Value, no: Value, dtype: str, kind: str) -> Value:
    """``no`` where both may be NaN of the same bits."""
    if FACTS[kind].kind != "float" or values.emit.fast or is_number(values, a) or is_number(values, b):
        return yes
    return if_number(values, a if isinstance(a, Tile) else b, yes, no, dtype)


def if_number(values: Values, x: Value, yes: Value, no: Value, dtype: str) -> Tile:
    """``no`` where x, of floats, is NaN: that is less than minus infinity to the unit."""
    assert isinstance(x, Tile)
    return compare(values, "less", x, const(-float("inf"), x.dtype), no, yes, dtype)


def _if_set(values: Values, condition: Any, yes: Value, no: Value, dtype: str) -> Tile:
    """By a value of bool, or by what is made bool."""
    number = condition.value if type(condition).__name__ == "Cast" else condition
    kind = dtype_of(number)
    return if_zero(values, values.tile(number, kind), no, yes, dtype)


def if_zero(values: Values, x: Tile, yes: Value, no: Value, dtype: str) -> Tile:
    """NaN is none, nor is a subnormal number."""
    x = _comparable(values, x)
    if FACTS[x.dtype].kind == "float":
        no = compare(values, "equal", x, const(-0.0, x.dtype), yes, no, dtype)
    return compare(values, "equal", x, const(0, x.dtype), yes, no, dtype)


def _float_test(values: Values, condition: Any, yes: Value, no: Value, dtype: str) -> Tile:
    """isnan, isinf, isfinite."""
    (number,) = condition.args
    x = _comparable(values, values.tile(number))
    if op_name(condition) == "isnan":
        return if_number(values, x, no, yes, dtype)
    size = values.emit.new(x.axes, x.dtype)
    values.emit.emit("abs", size.view, x.view)
    infinite = const(float("inf"), x.dtype)
    if op_name(condition) == "isinf":
        return compare(values, "equal", size, infinite, yes, no, dtype)
    return compare(values, "greater", infinite, size, yes, no, dtype)


def _comparable(values: Values, x: Tile) -> Tile:
    """Narrow floats are compared as float32."""
    return x if x.dtype in _COMPARED else values.converted(x, "float32", x.dtype)


def _compared(values: Values, a: Any, b: Any) -> tuple[Value, Value, str]:
    kind = dtype_of(a)
    first, second = values.value(a), values.value(b)
    kind = stored(kind)
    if kind in _COMPARED:
        return first, second, kind
    if FACTS[kind].kind != "float" or FACTS[kind].bits > 16:
        raise NotTensor(f"comparisons of {kind}")
    made = [values.as_type(v, "float32", kind) for v in (first, second)]
    return made[0], made[1], "float32"


def compare(values: Values, test: str, a: Value, b: Value, yes: Value, no: Value, dtype: str) -> Tile:
    """``yes if a test b else no``, of values that are there."""
    kind = next((value.dtype for value in (a, b) if isinstance(value, Tile)), None) or dtype_of(a)
    if FACTS[kind].bits != FACTS[dtype].bits and not values.emit.chip.mixed_selects:
        return of_one_width(values, test, (a, b), (yes, no), kind, dtype)
    tiles = [v for v in (a, b, yes, no) if isinstance(v, Tile)]
    axes = frozenset().union(*(t.axes for t in tiles))
    emit = values.emit
    operands = [emit.aligned(v, axes) if isinstance(v, Tile) else v for v in (a, b, yes, no)]
    made = emit.new(axes, dtype)
    emit.emit(f"select_{test}", made.view, *operands)
    return made


def _by_control(values: Values, condition: Any, yes: Any, no: Any) -> Value:
    """A condition that is the same for all: the control core decides which value is computed."""
    test = values._expanded(condition)
    known = constant(test)
    if known is not None:
        return values.value(yes if known else no)
    emit, dtype = values.emit, dtype_of(yes)
    kept = list(values.known)
    results, branches = [], []
    for node in (yes, no):
        with emit.inner() as made:
            results.append(values.value(node))
        branches.append(made)
        values.known[:] = kept
    tiles = [r for r in results if isinstance(r, Tile)]
    axes = frozenset().union(*(t.axes for t in tiles)) if tiles else frozenset()
    made_tile = emit.new(axes, dtype)
    finished = []
    for result, branch in zip(results, branches, strict=True):
        with emit.inner() as last:
            put(values, result, made_tile)
        finished.append([*branch, *last])
    from tilecore.ir.build import seq

    emit.add(IfThenElse(test, seq(finished[0]), seq(finished[1]), span=emit.span))
    return made_tile


def put(values: Values, value: Value, to: Tile) -> None:
    """Copies a value into a place that varies along at least the same axes."""
    from tile_tpu.lowering.commands.frames import over

    if not isinstance(value, Tile):
        values.emit.emit("fill", to.view, value)
    else:
        values.emit.emit("copy", to.view, over(value, values.frame, to.axes))
