"""Expressions as C: compiled by the host and held against the interpreter, which is what they mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from element_types import element
from host_kit import BX, HOST, TX, buffer, interpreted, kernel, needs_compiler, run, source
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.codegen.forms import C
from tilecore.codegen.literals import floating
from tilecore.errors import UnsupportedError
from tilecore.ir.build import const, load, seq, store
from tilecore.ir.nodes import Call, Cast, For, ForKind, Mul, Ramp, Var, tirx

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
COUNT = 64
QUICK = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def values(dtype: str, seed: int = 0) -> np.ndarray:
    """Numbers that matter: limits, zero, ones, infinities and NaN where there are, and random ones."""
    rng = np.random.default_rng(seed)
    kind = element(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, COUNT).astype(bool)
    if dtype in INTEGERS:
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        array = rng.integers(low, high, COUNT, dtype=kind, endpoint=True)
        array[:6] = [low, high, 0, 1, kind.type(-1 if low else 2), low // 2]
        return array
    array = (rng.standard_normal(COUNT) * np.exp2(rng.integers(-12, 12, COUNT))).astype(np.float32).astype(kind)
    array[:6] = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], np.float32).astype(kind)
    return array


def same(a: np.ndarray, b: np.ndarray, text: str) -> None:
    np.testing.assert_array_equal(a.astype(np.float64) if a.dtype.kind in "fV" else a, _wide(b, a), text)


def _wide(b: np.ndarray, a: np.ndarray) -> np.ndarray:
    return b.astype(np.float64) if a.dtype.kind in "fV" else b


def _finite(array: np.ndarray) -> np.ndarray:
    """An infinity of 8 bits may have become the largest number."""
    return np.clip(array.astype(np.float64), -57344, 57344) if array.dtype.itemsize == 1 else array


def check(make, result: str, *dtypes: str, seed: int = 0, alike=lambda array: array) -> str:
    """``make(a, b, ...)`` (or a list of such) for elements of ``dtypes``, compiled and interpreted; the source."""
    makers = make if isinstance(make, list) else [make]
    buffers = [buffer("ABCDEFGHIJKLMNOP"[i], COUNT, kind) for i, kind in enumerate(dtypes)]
    out = buffer("Y", COUNT * len(makers), result)
    stores = [store(out, m(*(load(b, [TX]) for b in buffers)), [TX + COUNT * i]) for i, m in enumerate(makers)]
    func = kernel([*buffers, out], seq(stores), threads=[COUNT])
    given_values = [values(kind, seed + i) for i, kind in enumerate(dtypes)]
    y, z = np.zeros(COUNT * len(makers), element(result)), np.zeros(COUNT * len(makers), element(result))
    text = run(func, *given_values, y, threads=[COUNT])
    interpreted(func, *given_values, z, threads=COUNT)
    same(alike(y), alike(z), text)
    return text


# -- integers ----------------------------------------------------------------------------------------------------


@st.composite
def integer_expressions(draw, dtype: str, depth: int = 4):
    """A function of two elements that builds an expression of ``dtype``."""
    kind = draw(st.sampled_from(["leaf", "sum", "divide", "extreme", "bits", "shift", "cast", "choose", "invert"]))
    bits = int(dtype.lstrip("uint"))
    if depth == 0 or kind == "leaf":
        low, high = (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        number = draw(st.one_of(st.integers(max(low, -9), 9), st.integers(low, min(high, 2**63 - 1))))
        which = draw(st.sampled_from("abc"))
        return {"a": lambda a, b: a, "b": lambda a, b: b, "c": lambda a, b: const(number, dtype)}[which]
    x = draw(integer_expressions(dtype, depth - 1))
    y = draw(integer_expressions(dtype, depth - 1))
    if kind == "sum":
        op = draw(st.sampled_from([tirx.Add, tirx.Sub, tirx.Mul]))
        return lambda a, b: op(x(a, b), y(a, b))
    if kind == "divide":
        op = draw(st.sampled_from([tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod]))
        divisor = draw(st.sampled_from([1, 2, 3, 7, 8, 64, 100]))
        return lambda a, b: op(x(a, b), const(divisor, dtype))
    if kind == "extreme":
        op = draw(st.sampled_from([tirx.Min, tirx.Max]))
        return lambda a, b: op(x(a, b), y(a, b))
    if kind == "bits":
        op = draw(st.sampled_from([tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor]))
        return lambda a, b: op(x(a, b), y(a, b))
    if kind == "shift":
        op, amount = draw(st.sampled_from([tirx.LShift, tirx.RShift])), draw(st.integers(0, bits - 1))
        return lambda a, b: op(x(a, b), const(amount, dtype))
    if kind == "cast":
        other = draw(st.sampled_from(INTEGERS))
        return lambda a, b: Cast(dtype, tirx.Add(Cast(other, x(a, b)), Cast(other, y(a, b))))
    if kind == "invert":
        return lambda a, b: tirx.BitwiseNot(x(a, b))
    test = draw(st.sampled_from([tirx.LT, tirx.LE, tirx.EQ, tirx.NE, tirx.GT, tirx.GE]))
    logic = draw(st.sampled_from([tirx.And, tirx.Or]))
    return lambda a, b: tirx.Select(
        logic(test(x(a, b), y(a, b)), tirx.Not(test(a, b))), y(a, b), tirx.Sub(y(a, b), x(a, b))
    )


@needs_compiler
@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_product_wraps(dtype):
    """C multiplies elements of uint16 as `int`, which their products do not fit into: undefined behaviour in C."""
    text = check(lambda a, b: a * b, dtype, dtype, dtype)
    if dtype == "uint16":
        assert "(unsigned short)((unsigned)A[tx] * (unsigned)B[tx])" in text, text


@needs_compiler
@pytest.mark.parametrize("dtype", INTEGERS)
@QUICK
@given(data=st.data())
def test_integer_expressions(dtype, data):
    check(data.draw(st.lists(integer_expressions(dtype), min_size=12, max_size=12)), dtype, dtype, dtype)


@needs_compiler
def test_differences_of_any_64_bit_numbers():
    """TVM's bounds of them fail rather than say that they know none."""
    check(
        lambda a, b: tirx.Select(
            tirx.And(tirx.LT(a, const(-(2**62), "int64")), tirx.Not(tirx.LT(a, b))),
            b,
            tirx.Sub(tirx.Select(tirx.LT(a, b), a, const(-(2**63), "int64")), tirx.Sub(b, const(2**63 - 1, "int64"))),
        ),
        "int64", "int64", "int64",
    )  # fmt: skip


@needs_compiler
def test_sums_of_large_constants_wrap():
    """Constants, and indices of threads with constants, whose sum is beyond the type."""
    for dtype, bits in (("int32", 32), ("int64", 64)):
        largest = (1 << (bits - 1)) - 1
        thread = TX if dtype == "int32" else Cast(dtype, TX)
        for make in (
            lambda a: tirx.Sub(const(-231656507, dtype), const(largest - 231656505, dtype)),  # noqa: B023
            lambda a: tirx.Add(const(largest, dtype), const(1, dtype)),  # noqa: B023
            lambda a: tirx.Mul(const(largest, dtype), const(largest, dtype)),  # noqa: B023
            lambda a: tirx.Add(thread, const(largest - 10, dtype)),  # noqa: B023
            lambda a: tirx.Sub(tirx.Sub(const(-largest, dtype), thread), const(5, dtype)),  # noqa: B023
        ):
            check(make, dtype, dtype)


@needs_compiler
@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisions_by_elements(dtype):
    """Python's meaning for all signs."""

    def positive(b):
        return tirx.Select(tirx.EQ(b, const(0, dtype)), const(3, dtype), tirx.Div(b, const(2, dtype)) + const(1, dtype))

    for op in (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod):
        check(
            lambda a, b, op=op: op(tirx.Div(a, const(2, dtype)), tirx.Max(positive(b), const(1, dtype))),
            dtype,
            dtype,
            dtype,
        )
    if dtype[0] == "i":
        for op in (tirx.FloorDiv, tirx.FloorMod):
            check(lambda a, b, op=op: op(a, tirx.Min(positive(b), const(-2, dtype))), dtype, dtype, dtype)


@needs_compiler
@pytest.mark.parametrize("name", ["popcount", "clz"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_counts_of_bits(name, dtype):
    full = "tirx.popcount" if name == "popcount" else "prim.clz"
    check(lambda a: Call(full, [a], ret_ty="int32"), "int32", dtype)


@needs_compiler
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_absolute_values_wrap(dtype):
    buffers = [buffer("A", COUNT, dtype), buffer("Y", COUNT, dtype)]
    func = kernel(buffers, store(buffers[1], T.abs(load(buffers[0], [TX])), [TX]), threads=[COUNT])
    a, y = values(dtype), np.zeros(COUNT, element(dtype))
    run(func, a, y, threads=[COUNT])
    np.testing.assert_array_equal(y, np.abs(a))


@needs_compiler
@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("form", range(4))
def test_absolute_values_of_few_bits_are_no_choices(dtype, form):
    """NVRTC 13.0 finds them in choices, and takes the largest of several wrongly."""
    buffers = [buffer("A", COUNT, dtype), buffer("Y", COUNT, dtype)]
    x, zero = load(buffers[0], [TX]), const(0, dtype)
    value = [
        lambda: tirx.Select(x >= zero, x, zero - x), lambda: tirx.Select(x > zero, x, zero - x),
        lambda: tirx.if_then_else(x < zero, zero - x, x), lambda: tirx.if_then_else(x <= zero, zero - x, x),
    ][form]()  # fmt: skip
    func = kernel(buffers, store(buffers[1], value, [TX]), threads=[COUNT])
    a, y = values(dtype), np.zeros(COUNT, element(dtype))
    assert "tc_abs(" in run(func, a, y, threads=[COUNT])
    np.testing.assert_array_equal(y, np.abs(a))
    other = kernel(buffers, store(buffers[1], tirx.Select(x >= zero, zero - x, x), [TX]), threads=[COUNT])
    assert "tc_abs(" not in run(other, a, y, threads=[COUNT])
    np.testing.assert_array_equal(y, -np.abs(a))


# -- floats ------------------------------------------------------------------------------------------------------


@st.composite
def float_expressions(draw, dtype: str, depth: int = 3):
    kind = draw(st.sampled_from(["leaf", "sum", "extreme", "choose", "call", "floor"]))
    if depth == 0 or kind == "leaf":
        number = draw(st.floats(-30, 30, width=16))
        which = draw(st.sampled_from("abc"))
        return {"a": lambda a, b: a, "b": lambda a, b: b, "c": lambda a, b: const(number, dtype)}[which]
    x = draw(float_expressions(dtype, depth - 1))
    y = draw(float_expressions(dtype, depth - 1))
    if kind == "sum":
        op = draw(st.sampled_from([tirx.Add, tirx.Sub, tirx.Mul, tirx.Div]))
        return lambda a, b: op(x(a, b), y(a, b))
    if kind == "extreme":
        op = draw(st.sampled_from([tirx.Min, tirx.Max]))
        # of -0 and 0 it may be either, and a number divided by it inf or -inf: adding 0 makes it 0
        return lambda a, b: tirx.Add(op(x(a, b), y(a, b)), const(0, dtype))
    if kind == "call":
        name = draw(st.sampled_from("sqrt floor ceil trunc round abs".split()))
        return lambda a, b: getattr(T, name)(x(a, b))
    if kind == "floor":
        return lambda a, b: tirx.FloorDiv(x(a, b), const(3, dtype))
    test = draw(st.sampled_from([tirx.LT, tirx.LE, tirx.EQ, tirx.NE, tirx.GT, tirx.GE]))
    return lambda a, b: tirx.Select(test(x(a, b), y(a, b)), y(a, b), x(a, b))


@needs_compiler
@pytest.mark.parametrize("dtype", FLOATS)
@QUICK
@given(data=st.data())
def test_float_expressions(dtype, data):
    check(data.draw(st.lists(float_expressions(dtype), min_size=12, max_size=12)), dtype, dtype, dtype)


@needs_compiler
@pytest.mark.parametrize("dtype", FLOATS)
def test_extremes_of_zeros_and_nan(dtype):
    """Which of -0 and 0 it is, is not said: adding 0 makes it 0. Of NaN and a number it is the number."""

    def inverse(extreme, zero):
        return lambda a: tirx.Div(const(1, dtype), tirx.Add(extreme(a, const(zero, dtype)), const(0, dtype)))

    def with_one(extreme, first):
        return lambda a: extreme(const(1, dtype), a) if first else extreme(a, const(1, dtype))

    extremes = (tirx.Min, tirx.Max)
    check([inverse(extreme, zero) for extreme in extremes for zero in (0.0, -0.0)], dtype, dtype)
    check([with_one(extreme, first) for extreme in extremes for first in (True, False)], dtype, dtype, alike=_finite)


@needs_compiler
@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS, "bool"])
def test_casts(target):
    sources = [kind for kind in (*INTEGERS, *FLOATS, "bool") if kind != target]
    check([lambda *operands, i=i: Cast(target, operands[i]) for i in range(len(sources))], target, *sources)


@needs_compiler
def test_functions():
    names = "exp exp2 log log2 log10 log1p sin cos tanh erf rsqrt sigmoid atan sinh asinh".split()
    for name in names:
        buffers = [buffer("A", COUNT), buffer("Y", COUNT)]
        call = getattr(T, name)(load(buffers[0], [TX]))
        func = kernel(buffers, store(buffers[1], call, [TX]), threads=[COUNT])
        a = np.linspace(0.01, 3, COUNT, dtype=np.float32)
        y, z = np.zeros_like(a), np.zeros_like(a)
        run(func, a, y, threads=[COUNT])
        interpreted(func, a, z, threads=COUNT)
        np.testing.assert_allclose(y, z, rtol=2e-6, err_msg=name)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_negated_negative_constant_is_no_decrement(dtype, place):
    """``-x`` as an operand of a fused multiply-add has its sign in front, as the constant has: ``--3.0f``."""

    def fused(a, b):
        operands = [a, b, a]
        operands[place] = Mul(const(-3.0, dtype), const(-1.0, dtype))
        return T.fma(*operands)

    text = check(fused, dtype, dtype, dtype)
    assert "--" not in text


@pytest.mark.parametrize("pair", [("float32", "int32"), ("float16", "uint16"), ("int64", "float64")])
def test_bits(pair):
    check(lambda a: Call("tirx.reinterpret", [a], ret_ty=pair[1]), pair[1], pair[0])
    text = check(lambda a: Call("tirx.reinterpret", [a], ret_ty=pair[0]), pair[0], pair[1])
    assert "tc_bits" in text


@needs_compiler
def test_tests_of_floats():
    for name in ("isnan", "isinf", "isfinite"):
        for dtype in ("float32", "float16"):
            check(lambda a, name=name: getattr(T, name)(a), "bool", dtype)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1.0, "float32", "1.0f"),
        (0.1, "float32", "0.1f"),
        (1 / 3, "float32", "0x1.555556p-2f"),
        (1 / 3, "float64", "0x1.5555555555555p-2"),
        (-2.5, "float64", "-2.5"),
        (1e30, "float32", "1e+30f"),
        (float("inf"), "float32", "TC_INFINITY"),
        (float("-inf"), "float64", "-(double)TC_INFINITY"),
        (float("nan"), "float32", "TC_NAN"),
        (1.5, "float16", "tc_half::from_bits(0x3e00 /* 1.5 */)"),
        (1e9, "float8_e4m3fn", "tc_fp8_e4m3::from_bits(0x7e /* 448 */)"),
        (-0.0, "float32", "-0.0f"),
    ],
)
def test_constants(value, dtype, text):
    assert floating(value, dtype, HOST).text == text


# -- how they look -----------------------------------------------------------------------------------------------


def shown(make, dtype: str = "int32", size: int = 1 << 20) -> str:
    a, y = buffer("A", size, dtype), buffer("Y", size, dtype)
    text = source(kernel([a, y], store(y, make(a), [TX]), grid=[512], threads=[128]))
    return text.split("Y[tx] = ")[1].split(";")[0]


def test_indices_are_plain():
    assert shown(lambda a: load(a, [BX * 128 + TX - 1])) == "A[bx * 128 + tx - 1]"
    assert shown(lambda a: load(a, [(BX * 4 + tirx.FloorDiv(TX, 32)) * 32 + tirx.FloorMod(TX, 32)])) == (
        "A[(bx * 4 + tx / 32) * 32 + tx % 32]"
    )
    assert shown(lambda a: load(a, [load(a, [TX]) * 4 + 1])) == "A[A[tx] * 4 + 1]"


def test_values_that_may_overflow_are_computed_without_sign():
    assert shown(lambda a: load(a, [TX]) * 3 + BX) == "(int)((unsigned)A[tx] * 3u + (unsigned)bx)"
    assert shown(lambda a: tirx.FloorMod(load(a, [TX]), 16) + BX) == "(A[tx] & 15) + bx"
    assert shown(lambda a: BX * 16777619 + 7) == "(int)((unsigned)bx * 16777619u + 7u)"


def test_parentheses_stand_where_they_are_needed():
    assert (
        shown(lambda a: tirx.Sub(load(a, [0]), tirx.Sub(load(a, [1]), load(a, [2]))), "float32")
        == "A[0] - (A[1] - A[2])"
    )
    assert shown(lambda a: (load(a, [0]) + load(a, [1])) * load(a, [2]), "float32") == "(A[0] + A[1]) * A[2]"
    assert shown(lambda a: tirx.Select(load(a, [0]) < load(a, [1]), load(a, [2]), load(a, [3])), "float32") == (
        "A[0] < A[1] ? A[2] : A[3]"
    )


# -- refusals ----------------------------------------------------------------------------------------------------


def bits_of(value, dtype: str):
    return Call("tirx.reinterpret", [value], ret_ty=dtype)


@pytest.mark.parametrize(
    ("make", "dtype", "text"),
    [
        (lambda x: x * x + x, "float16",
         "tc_half_from(tc_single(tc_half_from(tc_single({0}) * tc_single({0}))) + tc_single({0}))"),
        (lambda x: tirx.Max(x, const(1.5, "bfloat16")), "bfloat16",
         "tc_bfloat16_from(tc_max(tc_single({0}), tc_single(tc_bfloat16_bits(0x3fc0 /* 1.5 */))))"),
        (lambda x: Cast("float16", Cast("int8", x)), "float16", "tc_half_from(tc_truncate_int8(tc_single({0})))"),
        (lambda x: Cast("float32", x > const(0, "float32")), "float32", "(float)({0} > 0.0f)"),
        (lambda x: bits_of(bits_of(x, "int32"), "float32"), "float32",
         "tc_bits_float32(tc_bits_int32({0}))"),
    ],
)  # fmt: skip
def test_forms_of_c(make, dtype, text):
    """C has no operators for narrow floats, no templates and no constructors."""
    a, y = buffer("A", 64, dtype), buffer("Y", 64, dtype)
    dialect = replace(HOST, forms=C)
    text_of_kernel = source(kernel([a, y], store(y, make(load(a, [TX])), [TX]), threads=[64]), dialect)
    assert text_of_kernel.split("Y[tx] = ")[1].split(";")[0] == text.format("A[tx]")


def test_what_has_no_form_is_refused():
    with pytest.raises(UnsupportedError, match="vectorlow has no form on target host"):
        shown(lambda a: Call("tirx.vectorlow", [load(a, [0])], ret_ty="int32"))
    ramp, b = Ramp(0, 1, 4), buffer("B", 8)
    sum_of_vectors = kernel([b], store(b, load(b, [ramp]) + load(b, [ramp]), [ramp]))
    with pytest.raises(UnsupportedError, match="vector"):
        source(sum_of_vectors)
    i = Var("i", "int32")
    a = buffer("A", 4)
    loop = For(i, 0, 4, ForKind.VECTORIZED, store(a, const(0.0, "float32"), [i]))
    with pytest.raises(UnsupportedError, match="VECTORIZED"):
        source(kernel([a], loop))
