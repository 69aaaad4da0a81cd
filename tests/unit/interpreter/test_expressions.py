"""What operators mean, for every element type, inside T.Parallel and outside."""

import math
import operator

import ml_dtypes
import numpy as np
import pytest
from element_types import FLOATS, INTEGERS, element
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import InterpreterError, LanguageError, UnsupportedError
from tilecore.interpreter import interpret
from tilecore.ir.nodes import BufferLoad, BufferStore, Call, For, ForKind, IntImm, Var, tirx

from .kit import buffer, function, launch, map_elements, sample, wide

LIMITS = {name: np.iinfo(name) for name in INTEGERS}


def wrapped(value: int, dtype: str) -> int:
    info = LIMITS[dtype]
    return (value - int(info.min)) % 2**info.bits + int(info.min)


def pairs(dtype: str):
    info = LIMITS[dtype]
    edge = st.sampled_from([int(info.min), int(info.max), 0, 1, 2, 7] + ([-1, -2] if info.min < 0 else []))
    number = edge | st.integers(int(info.min), int(info.max))
    return st.lists(st.tuples(number, number), min_size=1, max_size=6)


def trunc_div(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


INTEGER_OPERATORS = {
    "add": (operator.add, operator.add),
    "sub": (operator.sub, operator.sub),
    "mul": (operator.mul, operator.mul),
    "floordiv": (operator.floordiv, operator.floordiv),
    "floormod": (operator.mod, operator.mod),
    "truncdiv": (lambda a, b: tirx.Div(a, b), trunc_div),
    "truncmod": (lambda a, b: tirx.Mod(a, b), lambda a, b: a - trunc_div(a, b) * b),
    "min": (T.min, min),
    "max": (T.max, max),
    "and": (operator.and_, operator.and_),
    "or": (operator.or_, operator.or_),
    "xor": (operator.xor, operator.xor),
}


@pytest.mark.parametrize("name", sorted(INTEGER_OPERATORS))
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_integer_operators_are_pythons_modulo_two_to_the_bits(name, data):
    kernel, python = INTEGER_OPERATORS[name]
    dtype = data.draw(st.sampled_from(INTEGERS))
    values = data.draw(pairs(dtype))
    if "div" in name or "mod" in name:
        values = [(a, b or 1) for a, b in values]
    a, b = (np.array(side, dtype) for side in zip(*values, strict=True))
    got = map_elements(kernel, dtype, a, b)
    assert got.tolist() == [wrapped(python(x, y), dtype) for x, y in values]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "min", "max"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_operators_round_each_result_once(name, dtype):
    a, b = sample(dtype, 64, 1), sample(dtype, 64, 2)
    b[b == 0] = 1
    kernel = {"min": T.min, "max": T.max}.get(name) or getattr(operator, name)
    exact = {"min": np.minimum, "max": np.maximum}.get(name) or getattr(operator, name)
    work = np.float64 if dtype == "float64" else np.float32
    with np.errstate(all="ignore"):
        expected = exact(a.astype(work), b.astype(work))
    if dtype.startswith("float8"):
        top = float(ml_dtypes.finfo(element(dtype)).max)
        expected = np.clip(expected, -top, top)
    expected = expected.astype(element(dtype))
    np.testing.assert_array_equal(wide(map_elements(kernel, dtype, a, b)), wide(expected))


def test_a_sum_of_halves_is_rounded_after_every_step():
    a, b, c = (np.array([x], np.float16) for x in (2048.0, 1.0, 1.0))
    assert map_elements(lambda x, y, z: x + y + z, "float16", a, b, c)[0] == 2048.0
    assert map_elements(lambda x, y, z: x + (y + z), "float16", a, b, c)[0] == 2050.0


def test_extremes_of_nan_are_the_other_operand():
    a, b = np.float32([np.nan, 1.0, np.nan]), np.float32([2.0, np.nan, np.nan])
    for function_ in (T.max, T.min):
        got = map_elements(function_, "float32", a, b)
        assert got[:2].tolist() == [2.0, 1.0]
        assert np.isnan(got[2])


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons(name, dtype):
    compare = getattr(operator, name)
    a, b = sample(dtype, 50, 3), sample(dtype, 50, 4)
    b[::3] = a[::3]
    if dtype in FLOATS:
        a[1] = np.nan
    expected = compare(wide(a), wide(b))
    got = map_elements(lambda x, y: tirx.Select(T.any_of(compare(x, y)), T.int8(1), T.int8(0)), "int8", a, b)
    np.testing.assert_array_equal(got.astype(bool), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(dtype):
    bits = LIMITS[dtype].bits
    a = sample(dtype, bits, 5)
    by = np.arange(bits, dtype=dtype)
    left = map_elements(lambda x, n: x << n, dtype, a, by)
    right = map_elements(lambda x, n: x >> n, dtype, a, by)
    assert left.tolist() == [wrapped(int(x) << int(n), dtype) for x, n in zip(a, by, strict=True)]
    assert right.tolist() == [int(x) >> int(n) for x, n in zip(a, by, strict=True)]


@pytest.mark.parametrize("amount", [-1, 32, 40])
def test_a_shift_by_a_wrong_amount_is_an_error(amount):
    with pytest.raises(InterpreterError, match="shifted") as caught:
        map_elements(lambda x, n: x << n, "int32", np.int32([1, 1]), np.int32([3, amount]))
    assert "i = 1" in str(caught.value)


@pytest.mark.parametrize("divide", [operator.floordiv, operator.mod, tirx.Div, tirx.Mod])
def test_integer_division_by_zero_is_an_error_at_the_iteration(divide):
    with pytest.raises(InterpreterError, match="division by zero") as caught:
        map_elements(divide, "int32", np.int32([1, 2, 3]), np.int32([1, 0, 1]))
    assert "i = 1" in caught.value.message
    assert caught.value.location is not None


def test_float_division_by_zero_is_infinite():
    got = map_elements(operator.truediv, "float32", np.float32([1, -1, 0]), np.float32([0, 0, 0]))
    assert got[:2].tolist() == [np.inf, -np.inf]
    assert np.isnan(got[2])


def test_an_untaken_division_does_not_trap():
    a, b = np.int32([6, 7, 8]), np.int32([2, 0, 4])
    lazy = map_elements(lambda x, y: T.if_then_else(y != 0, x // y, -1), "int32", a, b)
    eager = map_elements(lambda x, y: T.Select(y != 0, x // y, -1), "int32", a, b)
    assert lazy.tolist() == eager.tolist() == [3, -1, 2]


def test_and_or_run_their_right_side_only_where_it_decides():
    a, b = np.int32([6, 7, 9]), np.int32([2, 0, 4])
    both = map_elements(lambda x, y: T.if_then_else(T.all_of(y != 0, x % y == 0), 1, 0), "int32", a, b)
    either = map_elements(lambda x, y: T.if_then_else(T.any_of(y == 0, x % y == 1), 1, 0), "int32", a, b)
    assert both.tolist() == [1, 0, 0]
    assert either.tolist() == [0, 1, 1]


def test_not_and_bitwise_not():
    a = sample("int16", 20, 6)
    assert map_elements(lambda x: ~x, "int16", a).tolist() == (~a).tolist()
    b = sample("bool", 20, 7)
    assert map_elements(lambda x: tirx.Not(x), "bool", b).tolist() == (~b).tolist()


def test_four_bit_arithmetic_wraps():
    a, b = sample("int4", 16, 8), sample("int4", 16, 9)
    got = map_elements(lambda x, y: x * y + x, "int4", a, b)
    expected = [((int(x) * int(y) + int(x)) + 8) % 16 - 8 for x, y in zip(a.astype(int), b.astype(int), strict=True)]
    assert got.astype(int).tolist() == expected


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, "bool"])
@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS, "bool"])
def test_every_cast(source, target):
    a = sample(source, 40, 10)
    got = map_elements(lambda x: T.cast(x, target), target, a)
    value = wide(a)
    if target in FLOATS:
        top = float(ml_dtypes.finfo(element(target)).max)
        value = np.clip(value, -top, top) if target.startswith("float8") else value
        expected = value.astype(np.float32).astype(element(target)) if target != "float64" else value
    elif target == "bool":
        expected = value != 0
    elif source in FLOATS:
        info = LIMITS[target]
        expected = np.array([min(max(math.trunc(x), int(info.min)), int(info.max)) for x in value], target)
    else:
        expected = np.array([wrapped(int(x), target) for x in value], target)
    np.testing.assert_array_equal(wide(got), wide(expected))


def test_let_binds_inside_an_expression():
    def expression(x):
        v = Var("v", "int32")
        return tirx.Let(v, x * 2, v * v + v)

    assert map_elements(expression, "int32", np.int32([1, 2, 3])).tolist() == [6, 20, 42]


def test_a_sum_of_thousands_of_terms_needs_no_recursion():
    def expression(x):
        total = x
        for k in range(5000):
            total = total + (k % 3) if k % 2 else total - x
        return total

    x = np.int32([3])
    assert map_elements(expression, "int32", x)[0] == 3 - 2500 * 3 + sum(k % 3 for k in range(1, 5000, 2))


def test_one_lane_and_many_lanes_agree():
    """The same expression with the loop serial: scalars take other paths than arrays."""

    @T.prim_func
    def serial(A: T.Tensor((12,), "int32"), B: T.Tensor((12,), "int32"), Y: T.Tensor((12,), "int32")):
        with T.Kernel(1):
            for i in T.serial(12):
                Y[i] = T.if_then_else(
                    T.all_of(B[i] != 0, A[i] > 0), A[i] // B[i] + (A[i] << 3) % 5, T.min(A[i], B[i]) ^ ~A[i]
                )

    def expression(a, b):
        return T.if_then_else(T.all_of(b != 0, a > 0), a // b + (a << 3) % 5, T.min(a, b) ^ ~a)

    a, b = sample("int32", 12, 1), sample("int32", 12, 2)
    b[3] = 0
    y = np.zeros(12, np.int32)
    interpret(serial, a, b, y)
    assert y.tolist() == map_elements(expression, "int32", a, b).tolist()


def store_one(value, dtype: str) -> None:
    y = buffer("Y", (1,), dtype)
    interpret(function([y], launch(BufferStore(y, value, [0]), 1)), np.zeros(1, element(dtype)))


def test_an_unknown_call_is_named():
    with pytest.raises(UnsupportedError, match=r"tirx\.q_multiply_shift"):
        store_one(Call("tirx.q_multiply_shift", [IntImm("int32", 1)] * 4, ret_ty="int32"), "int32")


def test_vectors_are_refused():
    y = buffer("Y", (8,), "int32")
    index = tirx.Ramp(IntImm("int32", 0), IntImm("int32", 1), 4)
    main = function([y], launch(BufferStore(y, BufferLoad(y, [index]), [index]), 1))
    with pytest.raises(UnsupportedError, match="Ramp"):
        interpret(main, np.zeros(8, np.int32))


def test_a_variable_without_a_value_is_an_error():
    with pytest.raises(LanguageError, match="variable ghost has no value"):
        store_one(Var("ghost", "int32"), "int32")


def test_a_buffer_that_was_not_declared_is_an_error():
    other = buffer("other", (1,), "int32", "shared.dyn")
    with pytest.raises(LanguageError, match="buffer other is not declared"):
        store_one(BufferLoad(other, [0]), "int32")


def test_loop_variables_keep_their_type():
    y, i = buffer("Y", (4,), "int64"), Var("i", "int64")
    loop = For(i, IntImm("int64", 0), IntImm("int64", 4), ForKind.SERIAL, BufferStore(y, i * (2**40), [i]))
    out = np.zeros(4, np.int64)
    interpret(function([y], launch(loop, 1)), out)
    assert out.tolist() == [k * 2**40 for k in range(4)]
