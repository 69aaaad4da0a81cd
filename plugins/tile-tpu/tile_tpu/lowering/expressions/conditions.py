"""Choices between values: comparisons become select instructions, ``and``, ``or`` and ``not`` nested ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_tpu.ir.views import stored
from tile_tpu.lowering.commands.frames import NotTensor, Tile, Value
from tile_tpu.lowering.expressions.min_max import is_number
from tile_tpu.lowering.expressions.selects import COMPARED, comparable, compare, if_number, if_zero
from tilecore.dtypes import FACTS
from tilecore.ir.build import const, constant, dtype_of, op_name, seq
from tilecore.ir.nodes import FloatImm, IfThenElse

if TYPE_CHECKING:
    from tile_tpu.lowering.expressions.values import Values

FLOAT_TESTS = ("isnan", "isinf", "isfinite")
_CONNECTIVES = {"And": "And", "BitwiseAnd": "And", "Or": "Or", "BitwiseOr": "Or", "Not": "Not", "BitwiseNot": "Not"}


def select(values: Values, condition: Any, yes: Any, no: Any) -> Value:
    """``yes if condition else no`` of expressions. Raises NotTensor."""
    if values.is_uniform(condition):
        return _select_on_control_core(values, condition, yes, no)
    dtype = dtype_of(yes)
    with values.guard():
        first, second = values.value(yes), values.value(no)
    return choose(values, condition, first, second, dtype)


def truth_value(values: Values, node: Any) -> Value:
    """A condition as a value: 1 or 0."""
    return select(values, node, const(1, "uint8"), const(0, "uint8"))


def choose(values: Values, condition: Any, yes: Value, no: Value, dtype: str) -> Value:
    """``yes if condition else no`` of computed values. Raises NotTensor."""
    constant_condition = constant(condition)
    if constant_condition is not None:
        return yes if constant_condition else no
    name = type(condition).__name__
    name = _CONNECTIVES.get(name, name)
    if name in ("And", "Or", "Not", "BitwiseXor"):
        return _connective(values, name, condition, yes, no, dtype)
    if op_name(condition) == "if_then_else" and dtype_of(condition) == "bool":
        test, if_true, if_false = condition.args
        with values.guard():
            first, second = choose(values, if_true, yes, no, dtype), choose(values, if_false, yes, no, dtype)
        return choose(values, test, first, second, dtype)
    if op_name(condition) in FLOAT_TESTS:
        return _float_test(values, condition, yes, no, dtype)
    if name in ("LT", "LE", "GT", "GE", "EQ", "NE"):
        return _comparison(values, name, condition, yes, no, dtype)
    return _if_set(values, condition, yes, no, dtype)


def _connective(values: Values, name: str, condition: Any, yes: Value, no: Value, dtype: str) -> Value:
    if name == "Not":
        return choose(values, condition.a, no, yes, dtype)
    if name == "BitwiseXor":
        first, second = (choose(values, condition.b, *pair, dtype) for pair in ((no, yes), (yes, no)))
        return choose(values, condition.a, first, second, dtype)
    with values.guard():  # the second operand matters only where the first one does not decide
        inner = choose(values, condition.b, yes, no, dtype)
    return choose(values, condition.a, *((inner, no) if name == "And" else (yes, inner)), dtype)


def _comparison(values: Values, name: str, condition: Any, yes: Value, no: Value, dtype: str) -> Value:
    a, b, compared_type = _compared(values, condition.a, condition.b)
    if name in ("LT", "LE"):
        a, b, name = b, a, "GT" if name == "LT" else "GE"
    if name == "GT":
        return compare(values, "greater", a, b, yes, no, dtype)
    if name == "EQ":
        return _equal(values, a, b, yes, no, dtype, compared_type)
    if name == "NE":
        return _equal(values, a, b, no, yes, dtype, compared_type)
    return _at_least(values, a, b, yes, no, dtype, compared_type)


def _at_least(values: Values, a: Value, b: Value, yes: Value, no: Value, dtype: str, compared_type: str) -> Tile:
    """a >= b. The unit's "less" is its opposite, also with NaN, except for two NaN with the same bits."""
    not_less = _unless_nan(values, a, b, yes, no, dtype, compared_type)
    return compare(values, "less", a, b, no, not_less, dtype)


def _equal(values: Values, a: Value, b: Value, yes: Value, no: Value, dtype: str, compared_type: str) -> Tile:
    """The unit's "equal" compares bits: it is not used where a float may be 0 or NaN."""
    is_float = FACTS[compared_type].kind == "float"
    if not is_float or values.emit.fast or _has_unique_bits(a) or _has_unique_bits(b):
        return compare(values, "equal", a, b, yes, no, dtype)
    not_less = _unless_nan(values, a, b, yes, no, dtype, compared_type)
    return compare(values, "less", a, b, no, compare(values, "less", b, a, no, not_less, dtype), dtype)


def _has_unique_bits(value: Value) -> bool:
    """Whether the value is a constant that only one bit pattern represents, so neither 0 nor NaN."""
    return isinstance(value, FloatImm) and float(value.value) != 0 and float(value.value) == float(value.value)


def _unless_nan(values: Values, a: Value, b: Value, yes: Value, no: Value, dtype: str, compared_type: str) -> Value:
    """``yes``; ``no`` where both operands may be NaN with the same bits."""
    is_float = FACTS[compared_type].kind == "float"
    if not is_float or values.emit.fast or is_number(values, a) or is_number(values, b):
        return yes
    return if_number(values, a if isinstance(a, Tile) else b, yes, no, dtype)


def _if_set(values: Values, condition: Any, yes: Value, no: Value, dtype: str) -> Tile:
    """Chooses by a condition that is a bool value, or a number that is cast to bool."""
    tested = condition.value if type(condition).__name__ == "Cast" else condition
    return if_zero(values, values.tile(tested, dtype_of(tested)), no, yes, dtype)


def _float_test(values: Values, condition: Any, yes: Value, no: Value, dtype: str) -> Tile:
    """Chooses by isnan, isinf or isfinite."""
    (tested,) = condition.args
    x = comparable(values, values.tile(tested))
    if op_name(condition) == "isnan":
        return if_number(values, x, no, yes, dtype)
    magnitude = values.emit.new(x.axes, x.dtype)
    values.emit.emit("abs", magnitude.view, x.view)
    infinity = const(float("inf"), x.dtype)
    if op_name(condition) == "isinf":
        return compare(values, "equal", magnitude, infinity, yes, no, dtype)
    return compare(values, "greater", infinity, magnitude, yes, no, dtype)


def _compared(values: Values, a: Any, b: Any) -> tuple[Value, Value, str]:
    """Both operands of a comparison, and the type in which they are compared. Raises NotTensor."""
    source_type = dtype_of(a)
    first, second = values.value(a), values.value(b)
    source_type = stored(source_type)
    if source_type in COMPARED:
        return first, second, source_type
    if FACTS[source_type].kind != "float" or FACTS[source_type].bits > 16:
        raise NotTensor(f"the tensor unit does not compare {source_type}")
    first, second = (values.as_type(value, "float32", source_type) for value in (first, second))
    return first, second, "float32"


def _select_on_control_core(values: Values, condition: Any, yes: Any, no: Any) -> Value:
    """Chooses by a uniform condition: the control core branches, and only the chosen value is computed."""
    test = values.expanded(condition)
    constant_test = constant(test)
    if constant_test is not None:
        return values.value(yes if constant_test else no)
    emit, dtype = values.emit, dtype_of(yes)
    computed_before = list(values.computed)
    results, branches = [], []
    for node in (yes, no):
        with emit.inner() as statements:
            results.append(values.value(node))
        branches.append(statements)
        values.computed[:] = computed_before
    tiles = [result for result in results if isinstance(result, Tile)]
    axes = frozenset().union(*(tile.axes for tile in tiles)) if tiles else frozenset()
    chosen = emit.new(axes, dtype)
    bodies = []
    for result, branch in zip(results, branches, strict=True):
        with emit.inner() as assignment:
            emit.assign(chosen, result)
        bodies.append(seq([*branch, *assignment]))
    emit.add(IfThenElse(test, *bodies, span=emit.span))
    return chosen
