"""Mathematical functions and bit counts against math, numpy and exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from element_types import FLOATS, INTEGERS, element
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.element_values import value_type
from tilecore.errors import UnsupportedError
from tilecore.interpreter.fused import fused_multiply_add
from tilecore.ir.nodes import Call, tirx

from .kit import map_elements, sample, wide

UNARY = {
    "exp": (np.exp, 1.0),
    "exp2": (np.exp2, 1.0),
    "exp10": (lambda x: 10.0**x, 1.0),
    "log": (np.log, "positive"),
    "log2": (np.log2, "positive"),
    "log10": (np.log10, "positive"),
    "log1p": (np.log1p, "positive"),
    "sin": (np.sin, 1.0),
    "cos": (np.cos, 1.0),
    "tan": (np.tan, 1.0),
    "asin": (np.arcsin, "unit"),
    "acos": (np.arccos, "unit"),
    "atan": (np.arctan, 1.0),
    "sinh": (np.sinh, 1.0),
    "cosh": (np.cosh, 1.0),
    "tanh": (np.tanh, 1.0),
    "asinh": (np.arcsinh, 1.0),
    "acosh": (np.arccosh, "above one"),
    "atanh": (np.arctanh, "unit"),
    "erf": (np.vectorize(math.erf), 1.0),
    "sqrt": (np.sqrt, "positive"),
    "rsqrt": (lambda x: 1 / np.sqrt(x), "positive"),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 1.0),
    "floor": (np.floor, 1.0),
    "ceil": (np.ceil, 1.0),
    "trunc": (np.trunc, 1.0),
    "abs": (np.abs, 1.0),
}


def inputs(domain, dtype: str) -> np.ndarray:
    values = sample("float64", 60, 11) * 2
    if domain == "positive":
        values = np.abs(values) + 0.01
    elif domain == "unit":
        values = np.tanh(values) * 0.9
    elif domain == "above one":
        values = np.abs(values) + 1.01
    return values.astype(np.float32).astype(element(dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_are_rounded_from_float64(name, dtype):
    reference, domain = UNARY[name]
    x = inputs(domain, dtype)
    got = map_elements(getattr(T, name), dtype, x)
    expected = reference(wide(x))
    if dtype in ("float64", "float32", "float16"):
        np.testing.assert_array_equal(wide(got), expected.astype(dtype).astype(np.float64))
    else:
        np.testing.assert_allclose(wide(got), expected, rtol=2.0**-8)


@pytest.mark.parametrize("name", ["round", "nearbyint"])
def test_rounding_halves_to_even(name):
    x = np.float32([0.5, 1.5, 2.5, -0.5, -1.5, 2.4, 2.6, 1e9])
    assert map_elements(getattr(T, name), "float32", x).tolist() == [0.0, 2.0, 2.0, -0.0, -2.0, 2.0, 3.0, 1e9]


BINARY = {
    "pow": (lambda a, b: T.pow(T.abs(a), b), lambda a, b: np.abs(a) ** b),
    "atan2": (T.atan2, np.arctan2),
    "fmod": (T.fmod, np.fmod),
    "hypot": (T.hypot, np.hypot),
    "copysign": (T.copysign, np.copysign),
}


@pytest.mark.parametrize("name", sorted(BINARY))
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_functions_of_two_arguments(name, dtype):
    kernel, reference = BINARY[name]
    a, b = sample(dtype, 60, 12), sample(dtype, 60, 13)
    expected = reference(wide(a), wide(b)).astype(dtype)
    np.testing.assert_array_equal(map_elements(kernel, dtype, a, b), expected)


def test_ldexp():
    x, n = np.float32([1.5, -3.0, 1.0, 1.0]), np.float32([4, -2, -149, 200])
    assert map_elements(T.ldexp, "float32", x, n).tolist() == [24.0, -0.75, 2.0**-149, np.inf]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_nextafter_is_the_neighbour_in_that_type(dtype):
    x, y = np.array([1.0, 1.0, 0.0]).astype(element(dtype)), np.array([2.0, -2.0, 1.0]).astype(element(dtype))
    bits = f"uint{8 * element(dtype).itemsize}"
    got = map_elements(T.nextafter, dtype, x, y)
    assert (got.view(bits).astype(np.int64) - x.view(bits).astype(np.int64)).tolist() == [1, -1, 1]
    zeros = np.array([0.0, -0.0]).astype(element(dtype))
    assert np.signbit(map_elements(T.nextafter, dtype, zeros, zeros[::-1].copy())).tolist() == [True, False]  # as in C


SPECIAL = np.float32([0.0, 1.0, np.nan, np.inf, -np.inf])


@pytest.mark.parametrize("dtype", FLOATS)
def test_isnan(dtype):
    x = SPECIAL.astype(element(dtype))
    got = map_elements(lambda v: T.cast(Call("tirx.isnan", [v], ret_ty="bool"), "int8"), "int8", x)
    np.testing.assert_array_equal(got.astype(bool), np.isnan(wide(x)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_tests_of_special_values(name, dtype):
    x = SPECIAL.astype(dtype)
    got = map_elements(lambda v: T.cast(getattr(T, name)(v), "int8"), "int8", x)
    np.testing.assert_array_equal(got.astype(bool), getattr(np, name)(x))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bit_counts(dtype):
    x = np.concatenate([sample(dtype, 30, 14), np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)])
    bits = np.iinfo(dtype).bits
    raw = [int(v) % 2**bits for v in x]
    assert map_elements(T.popcount, dtype, x).tolist() == [bin(v).count("1") for v in raw]
    clz = map_elements(lambda v: T.cast(T.clz(v), "int32"), "int32", x)
    assert clz.tolist() == [bits - v.bit_length() for v in raw]


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "int32"), ("int32", "float32"), ("float16", "uint16"), ("uint16", "bfloat16"), ("bfloat16", "float16"),
     ("uint8", "float8_e4m3fn"), ("float8_e5m2", "int8"), ("float64", "uint64"), ("int8", "uint8"), ("uint4", "int4"),
     ("int4", "uint4")],
)  # fmt: skip
def test_reinterpret_keeps_the_bits(source, target):
    x = sample(source, 40, 15)
    got = map_elements(lambda v: T.reinterpret(v, target), target, x, dtypes=[source])
    if source.endswith("int4"):
        assert (got.astype(int) % 16).tolist() == (x.astype(int) % 16).tolist()
    else:
        bits = f"uint{8 * x.dtype.itemsize}"
        np.testing.assert_array_equal(got.view(bits), x.view(bits))


def test_reinterpret_of_another_width_is_refused():
    with pytest.raises(UnsupportedError, match="bits of a float32"):
        map_elements(lambda v: Call("tirx.reinterpret", [v], ret_ty="int16"), "int16", np.float32([1]))


single = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=300)
@given(a=single, b=single, c=single)
def test_fused_multiply_add_rounds_once(a, b, c):
    with np.errstate(all="ignore"):
        got = fused_multiply_add(value_type("float32"), np.float32(a), np.float32(b), np.float32(c))
    if not np.isfinite(got):
        assert abs(Fraction(a) * Fraction(b) + Fraction(c)) > Fraction(float(np.finfo(np.float32).max))
        return
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    error = abs(Fraction(float(got)) - exact)
    with np.errstate(over="ignore"):
        neighbours = [np.nextafter(got, np.float32(d)) for d in (-np.inf, np.inf)]
    assert all(error <= abs(Fraction(float(n)) - exact) for n in neighbours if np.isfinite(n))


def test_fma_as_a_call():
    x = np.float32([1 + 2**-12])
    got = map_elements(lambda v: Call("tirx.fma", [v, v, tirx.const(-1.0, "float32")], ret_ty="float32"), "float32", x)
    assert got[0] == np.float32(float(x[0]) ** 2 - 1)
    assert got[0] != x[0] * x[0] - np.float32(1)


def test_conditions_may_be_marked_likely():
    got = map_elements(lambda v: tirx.if_then_else(tirx.likely(v > 0), v, -v), "int32", np.int32([3, -4]))
    assert got.tolist() == [3, 4]


def test_infinity_and_limits():
    x = np.float32([0])
    assert map_elements(lambda v: v + T.infinity("float32"), "float32", x)[0] == np.inf
    largest = map_elements(lambda v: T.max_value("bfloat16") + T.cast(v, "bfloat16"), "bfloat16", x)
    assert wide(largest)[0] == 2.0**128 - 2.0**120
    assert map_elements(lambda v: T.min_value("int64") + T.cast(v, "int64"), "int64", x)[0] == np.iinfo(np.int64).min
