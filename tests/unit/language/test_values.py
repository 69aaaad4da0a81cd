"""Values of a kernel: constants, conversions, promotion, conditions, and what plain Python may not decide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.dtypes import FACTS
from tilecore.element_values import cast as interpreted_cast
from tilecore.element_values import value_type
from tilecore.errors import LanguageError
from tilecore.ir.nodes import Call, Cast, FloatImm, IntImm, Var, tirx
from tilecore.language.conditions import as_condition
from tilecore.language.conversions import convert, promoted, unify
from tilecore.language.values import as_expr
from tilecore.tracing.builder import Builder
from tilecore.tracing.current import building

from .kit import in_kernel, kind

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, "int32"), (-(2**31), "int32"), (2**31, "int64"), (True, "bool"), (1.5, "float32"), (np.int8(3), "int32")],
)
def test_python_numbers_as_expressions(value, expected):
    assert kind(as_expr(value)) == expected


@given(st.sampled_from(INTEGERS), st.integers(-(2**70), 2**70))
def test_integers_are_checked_to_fit(target, value):
    facts = FACTS[target]
    low = -(2 ** (facts.bits - 1)) if facts.kind == "int" else 0
    high = 2 ** (facts.bits - (facts.kind == "int")) - 1
    if low <= value <= high:
        constant = convert(value, target)
        assert int(constant.value) % 2**facts.bits == value % 2**facts.bits
    else:
        with pytest.raises(LanguageError, match="does not fit"):
            convert(value, target)


def number_of(constant):
    """Negative constants of the floats without -0, which TVM refuses, are given by their bits."""
    if not isinstance(constant, Call):
        return float(constant.value)
    bits = np.array([int(constant.args[0].value)], np.uint8)
    return float(bits.view(T.dtype(str(constant.ty.dtype)).as_numpy()).astype(np.float32)[0])


WITH_SIGN = [name for name, facts in FACTS.items() if facts.kind == "float" and not facts.is_scale]


@pytest.mark.parametrize("target", WITH_SIGN)
def test_numbers_are_checked_to_fit_floats(target):
    limit = FACTS["float32" if target == "tfloat32" else target].max
    for value in (limit, -limit, 0.0, 3, np.inf, -np.inf, np.nan, True):
        expected = float(value)
        if FACTS[target].bits <= 8:  # infinities saturate there, and NaN where there is none
            expected = float(np.clip(limit if value != value and FACTS[target].bits < 8 else expected, -limit, limit))
        np.testing.assert_equal(number_of(convert(value, target)), expected)
    for value in (2 * int(limit), -2 * int(limit), 10**400, *([limit * 1.1] if target != "float64" else [])):
        with pytest.raises(LanguageError, match="does not fit in") as caught:
            convert(value, target)
        assert "T.cast(" in caught.value.hint


@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.integers(-(2**62), 2**62))
def test_constants_convert_as_casts_in_the_kernel_do(source, target, value):
    start = interpreted_cast(value_type("int64"), value_type(source), np.int64(value))
    expected = interpreted_cast(value_type(source), value_type(target), start)
    constant = convert(IntImm(source, int(start)), target)
    assert kind(constant) == target
    assert int(constant.value) % 2 ** FACTS[target].bits == int(expected) % 2 ** FACTS[target].bits


@given(st.sampled_from(INTEGERS), st.floats(width=32))
def test_float_constants_convert_as_casts_in_the_kernel_do(target, value):
    expected = interpreted_cast(value_type("float32"), value_type(target), np.float32(value))
    constant = convert(FloatImm("float32", value), target)
    assert int(constant.value) % 2 ** FACTS[target].bits == int(expected) % 2 ** FACTS[target].bits


def test_floats_and_bools_convert():
    assert math.isnan(convert(float("nan"), "float16").value)
    assert convert(2.75, "bfloat16").value == 2.75
    assert kind(convert(1, "float32")) == "float32"
    assert bool(convert(3, "bool").value) is True
    x = Var("x", "float32")
    assert convert(x, "float32") is x
    assert isinstance(convert(x, "int8"), Cast)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("float16", "int64", "float16"),
        ("float16", "bfloat16", "float32"),
        ("float32", "float64", "float64"),
        ("int8", "int32", "int32"),
        ("uint32", "int32", "uint32"),
        ("int4", "uint4", "uint4"),
        ("bool", "int4", "int4"),
        ("bool", "float16", "float16"),
        ("uint8", "int16", "int16"),
        ("bool", "uint8", "uint8"),
        ("float8_e4m3fn", "float16", "float16"),
        ("float8_e4m3fn", "float8_e5m2", "float32"),
    ],
)
def test_promotion_is_symmetric(a, b, expected):
    assert promoted(a, b) == promoted(b, a) == expected
    x, y = unify(Var("x", a), Var("y", b))
    assert kind(x) == kind(y) == expected


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        ("float16", 1, "float16"),
        ("float16", 0.5, "float32"),
        ("bfloat16", 100000, "bfloat16"),
        ("float64", 0.1, "float64"),
        ("int8", 1, "int32"),
        ("uint8", True, "uint8"),
        ("uint32", 1, "uint32"),
        ("int64", 1, "int64"),
        ("int8", 2**31, "int64"),
        ("uint64", 2**64 - 1, "uint64"),
        ("int32", 0.5, "float32"),
        ("bool", 1, "int32"),
    ],
)
def test_python_numbers_are_int32_float32_and_bool(name, number, expected):
    x = Var("x", name)
    assert [kind(v) for v in unify(x, number)] == [kind(v) for v in unify(number, x)] == [expected, expected]
    assert int(unify(x, number)[1].value) % 2**64 == number or isinstance(number, float)


TYPES = [name for name, facts in FACTS.items() if name != "tfloat32" and not facts.is_scale]


@given(st.sampled_from(TYPES), st.sampled_from(TYPES))
def test_operators_and_functions_agree_on_the_type(a, b):
    """And with TVM's operators, but for floats of one width."""
    with building(Builder("test")):
        x, y = Var("x", a), Var("y", b)
        added = kind(x + y)
        chosen = {kind(T.max(x, y)), kind(T.min(y, x)), kind(T.if_then_else(Var("c", "bool"), x, y))}
        assert kind(y - x) == kind(x * y) == added
        assert kind(as_expr(x == y)) == kind(x < y) == kind(as_expr(x != y)) == kind(x >= y) == "bool"
    assert chosen == {promoted(a, b)}
    assert added == ("int32" if a == b == "bool" else promoted(a, b))
    if a == b or not (FACTS[a].kind == FACTS[b].kind == "float" and FACTS[a].bits == FACTS[b].bits):
        assert promoted(a, b) == kind(tirx.max(x, y))


def test_no_other_code_gets_these_operators():
    """Outside of a kernel TVM's expressions keep TVM's operators: passes make index arithmetic with them."""
    x = Var("x", "bool")
    assert kind(x + Var("y", "bool")) == "bool"
    with pytest.raises(TypeError):
        abs(x)
    with pytest.raises(TypeError):
        Var("n", "int32") ** 2


def test_conditions_compare_numbers_with_zero():
    assert kind(as_condition(Var("x", "float32"))) == "bool"
    flag = Var("b", "bool")
    assert as_condition(flag) is flag


def same(a, b):
    """A plain helper, which knows nothing of kernels."""
    return 1 if a == b else 2


def smaller(a, b):
    return a if a < b else b


def test_plain_helpers_may_not_decide_on_kernel_values():
    for helper in (same, smaller):
        with pytest.raises(LanguageError, match=r"plain Python|Python condition") as caught:
            in_kernel(lambda X, i, helper=helper: helper(X[i, 0], X[i, 1]))
        assert "T.if_then_else" in str(caught.value)
    with pytest.raises(LanguageError):
        in_kernel(lambda X, i: [1] if X[i, 0] != 0 else [2])
    assert in_kernel(lambda X, i: same(3, 3)) == 1


def test_comparisons_outside_of_kernels_keep_tvms_meaning():
    x, y = Var("x", "int32"), Var("y", "int32")
    assert bool(x == x)
    assert not bool(x == y)


def test_plain_helpers_may_compute_on_kernel_values():
    expression = in_kernel(lambda X, i: (abs(-2) * X[i, 0] + i) / 3.0)
    assert kind(expression) == "float32"


def test_buffers_tell_what_they_are():
    def look(X, i):
        return X.shape, X.dtype, X.ndim, X.scope(), X.name, len(X.strides), T.alloc_shared((2, 3), "int8").shape

    shape, dtype, ndim, scope, name, strides, inner = in_kernel(look)
    assert (shape, dtype, ndim, scope, name, strides, inner) == ((8, 8), "float32", 2, "global", "X", 0, (2, 3))
    assert dtype == T.float32


def test_limits():
    for name in INTEGERS:
        limits = np.iinfo(name)
        assert int(T.max_value(name).value) % 2 ** FACTS[name].bits == limits.max
        assert int(T.min_value(name).value) == limits.min
    assert T.max_value("float16").value == 65504
    assert T.min_value("float8_e4m3fn").value == -448
    assert T.infinity("bfloat16").value == math.inf


def test_python_numbers_stay_python():
    assert T.max(3, 4) == 4
    assert T.min(3, 4, -1) == -1
    assert T.abs(-3) == 3
    assert T.sqrt(9.0) == 3.0
    assert T.exp2(3) == 8.0
    assert T.if_then_else(True, "a", "b") == "a"
    assert T.clamp(7, 0, 5) == 5


def in_a_warp(statement):
    def build():
        @T.prim_func
        def kernel(X: T.Tensor((64,), "int32")):
            with T.Kernel(1, threads=64):
                statement(X, T.get_thread_binding())

        return kernel

    return build


@pytest.mark.parametrize(
    ("shuffle", "words"),
    [
        (lambda x: T.shfl_xor(x, 32), "T.shfl_xor: lane_mask is 32"),
        (lambda x: T.shfl_up(x, 40), "T.shfl_up: delta is 40"),
        (lambda x: T.shfl_down(x, 32), "T.shfl_down: delta is 32"),
    ],
)
def test_shuffles_do_not_leave_the_warp(shuffle, words):
    """A warp has 32 threads on every target: those of the other half of a wave of 64 are not in it."""

    def statement(X, tx):
        X[tx] = shuffle(X[tx])

    with pytest.raises(LanguageError, match=words) as error:
        in_a_warp(statement)().ir  # noqa: B018
    assert "less than 32" in str(error.value)


def test_a_policy_by_its_name():
    def statement(X, tx):
        a, c = T.alloc_shared((16, 16), "float16"), T.alloc_fragment((16, 16), "float32")
        T.gemm(a, a, c, policy="FullRow")

    with pytest.raises(LanguageError, match=r"T\.gemm: policy is 'FullRow'") as error:
        in_a_warp(statement)().ir  # noqa: B018
    assert "T.GemmWarpPolicy.Square, T.GemmWarpPolicy.FullRow" in str(error.value)


def test_element_types_tell_their_size_and_kind():
    assert [T.dtype(name).itemsize for name in ("float16", "int4", "bool", "float32x4")] == [2, 1, 1, 16]
    names = ("int8", "uint64", "float16", "bfloat16", "bool", "float8_e5m2", "float4_e2m1fn", "float32x2")
    assert [T.dtype(name).type_code for name in names] == [0, 1, 2, 4, 6, 12, 17, 2]


def test_vector_types_by_their_number_of_lanes():
    assert T.float16.with_lanes(4) == T.float16x4
    assert isinstance(T.float16.with_lanes(4), T.dtype)
    assert T.float32x8.with_lanes(2) == T.float32x2
    assert T.float32x8.with_lanes(1) == T.float32
    with pytest.raises(LanguageError, match="float32x3"):
        T.float32.with_lanes(3)
