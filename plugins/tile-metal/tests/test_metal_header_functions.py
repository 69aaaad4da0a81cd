"""The functions of the header's device form, compiled for a host with a stand-in for Metal's library, against NumPy,
math, fractions and ml_dtypes."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from host_calls import each, numpy_type, small_floats, some_floats, units_off

from tilecore.dtypes import FACTS

NARROW = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn")


# -- mathematics -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "low", "high", "exact", "most"), [
    ("erf", -5, 5, np.vectorize(math.erf, otypes=[np.float64]), 2),
    ("log1p", -1, 3, np.log1p, 1.5),
    ("sigmoid", -80, 80, lambda x: 1 / (1 + np.exp(-x)), 3),
    ("nearbyint", -100, 100, np.rint, 0),
    ("exp10", -30, 30, lambda x: 10**x, 1),
    ("rsqrt", 0, 9, lambda x: 1 / np.sqrt(x), 1.5),
])  # fmt: skip
def test_a_function_of_one_float(host_library, name, low, high, exact, most):
    x = np.concatenate([small_floats(low, high, 60_000), some_floats(30_000)])
    with np.errstate(all="ignore"):
        off = units_off(each(host_library, f"f_{name}", np.float32, x), exact(x.astype(np.float64)))
    assert off.max() <= most, (x[off.argmax()], off.max())


def test_signs_of_zeros(host_library):
    zeros = np.array([0.0, -0.0], np.float32)
    for name in ("erf", "log1p", "nearbyint", "floor"):
        assert np.signbit(each(host_library, f"f_{name}", np.float32, zeros)).tolist() == [False, True], name


@pytest.mark.parametrize(("name", "exact", "most"), [
    ("hypot", np.hypot, 2), ("nextafter", None, 0), ("copysign", np.copysign, 0), ("quotient", np.divide, 0.5),
    ("rounded_add", np.add, 0.5), ("rounded_sub", np.subtract, 0.5), ("rounded_mul", np.multiply, 0.5),
    ("fmod", np.fmod, 0), ("atan2", np.arctan2, 1.5), ("min", np.fmin, 0), ("max", np.fmax, 0),
])  # fmt: skip
def test_a_function_of_two_floats(host_library, name, exact, most):
    x = some_floats(60_000)
    rolled = np.roll(x, 777)
    a = np.concatenate([x, small_floats(-9, 9, 20_000), x, np.zeros(4, np.float32)])
    b = np.concatenate([rolled, small_floats(-9, 9, 20_000)[::-1], x, np.array([0.0, -0.0, 1.0, -1.0], np.float32)])
    with np.errstate(all="ignore"):
        expected = np.nextafter(a, b) if exact is None else exact(a.astype(np.float64), b.astype(np.float64))
        off = units_off(each(host_library, f"f_{name}", np.float32, a, b), expected.astype(np.float64))
    assert off.max() <= most, (a[off.argmax()], b[off.argmax()], off.max())


def test_kinds_of_floats(host_library):
    x = some_floats()
    for name, by_numpy in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        np.testing.assert_array_equal(each(host_library, f"f_{name}", np.float32, x) != 0, by_numpy(x))
    rounded, finite = each(host_library, "f_round_tf32", np.float32, x), np.isfinite(x) & (np.abs(x) < 3.4e38)
    assert not (rounded.view(np.uint32) & 0x1FFF)[finite].any()
    unit = np.spacing(np.abs(x[finite])).astype(np.float64) * 2**13
    assert (np.abs(rounded[finite].astype(np.float64) - x[finite]) <= unit / 2).all()


def test_floor_mod_of_floats_has_the_divisors_sign(host_library):
    a, b = small_floats(-100, 100), small_floats(-9, 9)[::-1]
    rest = each(host_library, "f_floor_mod", np.float32, a, b)
    quotient = np.float32(a) / b
    np.testing.assert_array_equal(rest, a - np.floor(quotient) * b)


# -- integers ----------------------------------------------------------------------------------------------------------


def some_integers(dtype, count=50_000):
    limits = np.iinfo(dtype)
    edges = [limits.min, limits.min + 1, -1, 0, 1, 2, 7, limits.max - 1, limits.max]
    edges = [e for e in edges if limits.min <= e]
    random = np.random.default_rng(2)
    wide = random.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    narrow = wide >> random.integers(0, limits.bits, count).astype(dtype)
    pairs = np.array(np.meshgrid(edges, edges)).reshape(2, -1).astype(dtype)
    return np.concatenate([pairs[0], wide, narrow]), np.concatenate([pairs[1], np.roll(narrow, 5), wide[::-1]])


@pytest.mark.parametrize("name", ["int32", "int64"])
def test_divisions(host_library, name):
    a, b = some_integers(name)
    a, b = a[b != 0], b[b != 0]
    bits = np.iinfo(name).bits
    exact_a, exact_b = a.astype(object), b.astype(object)
    floor, rest = exact_a // exact_b, exact_a % exact_b
    towards_zero = floor + ((rest != 0) & (floor < 0)).astype(object)
    expected = {
        "div": towards_zero, "mod": exact_a - towards_zero * exact_b, "floor_div": floor, "floor_mod": rest,
        "abs": abs(exact_a),
    }  # fmt: skip
    for function, values in expected.items():
        arguments = (a,) if function == "abs" else (a, b)
        result = each(host_library, f"{function}_{name}", name, *arguments)
        wrapped = (values + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
        np.testing.assert_array_equal(result, wrapped.astype(name), function)
    zeros = np.zeros_like(a)
    for function in ("div", "mod", "floor_div", "floor_mod"):  # they mean nothing, and return
        each(host_library, f"{function}_{name}", name, a, zeros)


@pytest.mark.parametrize("name", ["int32", "int64", "uint32", "uint64"])
def test_extremes_and_bits(host_library, name):
    a, b = some_integers(name)
    np.testing.assert_array_equal(each(host_library, f"min_{name}", name, a, b), np.minimum(a, b))
    np.testing.assert_array_equal(each(host_library, f"max_{name}", name, a, b), np.maximum(a, b))
    if name.startswith("u"):
        bits, values = np.iinfo(name).bits, a[:2000].tolist()
        counted = each(host_library, f"popcount_{name}", np.int32, a[:2000])
        np.testing.assert_array_equal(counted, [bin(value).count("1") for value in values])
        np.testing.assert_array_equal(
            each(host_library, f"clz_{name}", np.int32, a[:2000]), [bits - value.bit_length() for value in values]
        )


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_a_float_as_an_integer(host_library, name):
    limits = np.iinfo(name)
    near = np.array([limits.min, limits.max], np.float32)
    near = np.concatenate([near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(np.inf))])
    x = np.concatenate([some_floats(20_000), near, -near, small_floats(-300, 300, 20_000)])
    expected = [
        0 if math.isnan(v) else max(limits.min, min(limits.max, math.trunc(max(-1e30, min(1e30, v)))))
        for v in x.tolist()
    ]
    np.testing.assert_array_equal(each(host_library, f"truncate_{name}", name, x), np.array(expected, name))


# -- narrow floats -----------------------------------------------------------------------------------------------------


def all_bits(name):
    return np.arange(1 << FACTS[name].bits).astype(np.uint8)


def as_floats(bits, name):
    return bits.view(numpy_type(name)).astype(np.float32)


@pytest.mark.parametrize("name", NARROW)
def test_a_narrow_float_as_a_float(host_library, name):
    bits = all_bits(name)
    for function in ("from", "single"):
        values, expected = each(host_library, f"{function}_{name}", np.float32, bits), as_floats(bits, name)
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(np.signbit(values[~np.isnan(values)]), np.signbit(expected[~np.isnan(values)]))


@pytest.mark.parametrize("name", NARROW)
def test_a_float_as_a_narrow_float(host_library, name):
    high = np.arange(1 << 16, dtype=np.uint32) << 16  # signs, exponents and 7 bits of fraction, and what is around them
    low = np.random.default_rng(0).integers(0, 1 << 16, high.size, dtype=np.uint32)
    x = np.concatenate([high, high | 1, high | 0x8000, high | 0x8001, high | 0x7FFF, high | low]).view(np.float32)
    bits, is_nan, most = each(host_library, f"to_{name}", np.uint8, x), np.isnan(x), FACTS[name].max
    clipped = np.where(is_nan, 0, np.clip(x, -most, most)).astype(np.float32)
    np.testing.assert_array_equal(bits[~is_nan], clipped.astype(numpy_type(name)).view(np.uint8)[~is_nan])
    nans = as_floats(bits[is_nan], name)
    assert np.isnan(nans).all() if FACTS[name].bits == 8 else (nans == 6).all()


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64"])
def test_an_integer_is_rounded_once(host_library, name, source):
    values = {
        0,
        1,
        *np.iinfo(source).min + np.arange(3, dtype=object),
        *np.iinfo(source).max - np.arange(3, dtype=object),
    }
    kind = ml_dtypes.finfo(numpy_type(name))
    for bits in all_bits(name)[: 1 << (FACTS[name].bits - 1)]:  # the middles between two, and what is around them
        value = float(as_floats(np.array([bits], np.uint8), name)[0])
        if math.isfinite(value) and value >= 1:
            middle = int(Fraction(value) + Fraction(2) ** (math.frexp(value)[1] - 2 - kind.nmant))
            values |= {int(value), *(middle + d for d in (-1, 0, 1)), *(-middle + d for d in (-1, 0, 1))}
    values |= {v + d for v in (1 << 24, 1 << 53, 17 << 36) for d in (-1, 0, 1)}
    inside = [int(v) for v in values if np.iinfo(source).min <= v <= np.iinfo(source).max]
    expected = [max(-FACTS[name].max, min(FACTS[name].max, nearest(v, kind.nmant, kind.minexp))) for v in inside]
    result = as_floats(each(host_library, f"to_{name}_{source}", np.uint8, np.array(inside, source)), name)
    np.testing.assert_array_equal(result, np.array([float(e) for e in expected], np.float32))


def nearest(value, places, least):
    """The number with so many places of fraction that is nearest to a fraction, the even one of two; least: of the
    exponents."""
    value = Fraction(value)
    if value == 0:
        return value
    power = max(math.floor(math.log2(abs(value))), least)
    while Fraction(2) ** (power + 1) <= abs(value):
        power += 1
    while power > least and Fraction(2) ** power > abs(value):
        power -= 1
    unit = Fraction(2) ** (power - places)
    return round(value / unit) * unit


@pytest.mark.parametrize("name", NARROW)
def test_the_next_value(host_library, name):
    bits = all_bits(name)
    a, b = (side.ravel() for side in np.meshgrid(bits, bits))
    result = as_floats(each(host_library, f"nextafter_{name}", np.uint8, a, b), name)
    x, y = as_floats(a, name), as_floats(b, name)
    values = np.unique(as_floats(bits, name)[~np.isnan(as_floats(bits, name))])
    place = np.searchsorted(values, x)
    step = np.clip(place + np.where(y > x, 1, -1), 0, values.size - 1)
    expected = np.where(x == y, y, values[step % values.size])
    has_nan = np.isnan(x) | np.isnan(y)
    np.testing.assert_array_equal(result[~has_nan], expected[~has_nan])
    assert FACTS[name].bits < 8 or np.isnan(result[has_nan]).all()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_the_next_value_of_16_bits(host_library, name):
    random = np.random.default_rng(3)
    a, b = random.integers(0, 1 << 16, (2, 50_000), dtype=np.uint16)
    b[:1000], a[1000:2000] = a[:1000], random.integers(0, 3, 1000)
    result = each(host_library, f"nextafter_{name}", np.uint16, a, b).view(numpy_type(name))
    with np.errstate(all="ignore"):
        expected = np.nextafter(a.view(numpy_type(name)), b.view(numpy_type(name)))
    np.testing.assert_array_equal(result.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize(
    ("name", "places", "least", "most"), [("float16", 10, -14, 65504), ("bfloat16", 7, -126, 3.39e38)]
)
def test_a_product_and_a_sum_are_rounded_once(host_library, name, places, least, most):
    random = np.random.default_rng(4)
    a, b, c = random.integers(0, 1 << 16, (3, 6000), dtype=np.uint16)
    kind = numpy_type(name)
    factors = (a[3000:].view(kind).astype(np.float64), b[3000:].view(kind).astype(np.float64))
    with np.errstate(all="ignore"):  # sums near a middle between two values
        middle = -(factors[0] * factors[1]) * (1 + 2.0 ** random.integers(-places - 3, 3, 3000))
        c[3000:] = middle.astype(np.float32).astype(kind).view(np.uint16)
    x, y, z = (side.view(kind).astype(np.float64) for side in (a, b, c))
    usable = np.isfinite(x) & np.isfinite(y) & np.isfinite(z) & (np.abs(x * y) < 1e38) & (np.abs(x * y) > 1e-30)
    result = each(host_library, f"fma_{name}", np.uint16, a, b, c).view(kind).astype(np.float64)[usable].tolist()
    for p, q, r, value in zip(x[usable].tolist(), y[usable].tolist(), z[usable].tolist(), result, strict=True):
        expected = nearest(Fraction(p) * Fraction(q) + Fraction(r), places, least)
        if abs(expected) <= most:
            assert value == expected, (p, q, r)
        else:
            assert math.isinf(value) or abs(value) > most, (p, q, r)
