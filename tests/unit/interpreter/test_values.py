"""Element types: rounding and conversion against their definitions."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from element_types import FLOATS, INTEGERS, element
from hypothesis import example, given
from hypothesis import strategies as st

from tilecore.element_values import cast, round_to, value_type, wrap
from tilecore.errors import UnsupportedError

NARROW = [name for name in FLOATS if name not in ("float64", "float32")]
any_float = st.floats(width=64)


@pytest.fixture(autouse=True, scope="module")
def _quiet():
    with np.errstate(all="ignore"):
        yield


def every_value(name: str) -> np.ndarray:
    """All finite values of a narrow float type, in order."""
    bits = 8 * element(name).itemsize
    with np.errstate(invalid="ignore"):
        values = np.arange(2**bits, dtype=f"uint{bits}").view(element(name)).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


TABLES = {name: every_value(name) for name in NARROW}


def nearest(name: str, x: float) -> float:
    """x rounded to nearest, ties to the even encoding, by search through all values."""
    table = TABLES[name]
    top = table[-1]
    if math.isnan(x):
        return math.nan
    if name.startswith("float8"):
        x = min(max(x, -top), top)
    step = top - table[-2]
    if abs(x) >= top + step / 2:
        return math.copysign(math.inf, x)
    if abs(x) > top:
        return math.copysign(top, x)
    right = int(np.searchsorted(table, x))
    candidates = [table[i] for i in (right - 1, right) if 0 <= i < len(table)]
    exact = Fraction(x)
    distances = [abs(Fraction(float(c)) - exact) for c in candidates]
    if len(candidates) == 2 and distances[0] == distances[1]:
        bits = [int(np.array(c).astype(element(name)).view(f"uint{8 * element(name).itemsize}")) for c in candidates]
        return float(candidates[0] if bits[0] % 2 == 0 else candidates[1])
    return float(candidates[distances.index(min(distances))])


@pytest.mark.parametrize("name", NARROW)
@given(x=any_float)
@example(x=1.0 + 2.0**-8 + 2.0**-40)  # just above a tie of bfloat16: rounding twice gets it wrong
@example(x=1.0 + 2.0**-11 + 2.0**-50)
@example(x=1.0625 - 2.0**-30)
@example(x=464.0)
@example(x=65520.0)
@example(x=-0.0)
def test_rounding_is_to_nearest_even_once(name, x):
    got = float(round_to(value_type(name), np.float64(x)))
    expected = nearest(name, x)
    assert got == expected or (math.isnan(got) and math.isnan(expected))


@pytest.mark.parametrize("name", NARROW)
def test_decode_and_encode_are_inverse(name):
    kind = value_type(name)
    bits = np.arange(2 ** min(kind.bits, 16), dtype=np.uint32).astype(f"uint{kind.bits}")
    raw = bits.view(kind.storage)
    values = kind.decode(raw)
    finite = ~np.isnan(values)
    assert (kind.encode(values).view(bits.dtype) == bits).all()  # of each NaN too
    assert np.isnan(bits.view(kind.element).astype(np.float32)[~finite]).all()
    assert (values[finite] == bits.view(kind.element).astype(np.float32)[finite]).all()


@pytest.mark.parametrize(
    ("name", "top"),
    [("float8_e4m3fn", 448.0), ("float8_e5m2", 57344.0), ("float8_e4m3fnuz", 240.0), ("float8_e5m2fnuz", 57344.0)],
)
def test_eight_bit_floats_saturate(name, top):
    kind = value_type(name)
    values = round_to(kind, np.array([1e9, -1e9, np.inf, -np.inf, np.nan]))
    assert values[:4].tolist() == [top, -top, top, -top]
    assert np.isnan(values[4])


@pytest.mark.parametrize("name", INTEGERS)
@given(x=any_float)
def test_float_to_integer_truncates_and_saturates(name, x):
    kind = value_type(name)
    got = int(cast(value_type("float64"), kind, np.float64(x)))
    if math.isnan(x):
        assert got == 0
    elif math.isinf(x):
        assert got == (kind.high if x > 0 else kind.low)
    else:
        assert got == min(max(math.trunc(x), kind.low), kind.high)


@given(
    x=st.integers(-(2**63), 2**64 - 1),
    source=st.sampled_from(INTEGERS),
    target=st.sampled_from((*INTEGERS, "int4", "uint4")),
)
def test_integer_to_integer_wraps(x, source, target):
    start, kind = value_type(source).const(x), value_type(target)
    got = int(cast(value_type(source), kind, start))
    assert kind.low <= got <= kind.high
    assert (got - int(start)) % 2**kind.bits == 0


@given(x=st.integers(-(2**53), 2**53), target=st.sampled_from(NARROW))
def test_integer_to_float_rounds_once(x, target):
    got = float(cast(value_type("int64"), value_type(target), np.int64(x)))
    assert got == nearest(target, float(x))


@given(x=st.integers(-(2**63), 2**63 - 1))
def test_integer_to_float32_rounds_once(x):
    got = Fraction(float(cast(value_type("int64"), value_type("float32"), np.int64(x))))
    below, above = (np.nextafter(np.float32(float(got)), np.float32(d)) for d in (-np.inf, np.inf))
    assert abs(got - x) <= min(abs(Fraction(float(below)) - x), abs(Fraction(float(above)) - x))


def test_wrap_of_four_bits():
    signed, unsigned = value_type("int4"), value_type("uint4")
    assert wrap(signed, np.arange(-20, 20, dtype=np.int8)).tolist() == [(v + 8) % 16 - 8 for v in range(-20, 20)]
    assert wrap(unsigned, np.arange(40, dtype=np.uint8)).tolist() == [v % 16 for v in range(40)]


def test_bool_is_whether_it_is_not_zero():
    assert cast(value_type("float32"), value_type("bool"), np.float32([0, -0.0, 0.5, np.nan])).tolist() == [
        False,
        False,
        True,
        True,
    ]
    assert cast(value_type("bool"), value_type("float16"), np.array([True, False])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", ["float32x4", "handle", "complex64"])
def test_other_types_are_refused(name):
    with pytest.raises(UnsupportedError, match=name):
        value_type(name)


def test_elements_are_what_callers_pass():
    assert value_type("bfloat16").element == np.dtype(ml_dtypes.bfloat16)
    assert value_type("int4").element == np.dtype(ml_dtypes.int4)
    assert value_type("float16").element == np.float16
