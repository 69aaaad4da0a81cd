import struct

import ml_dtypes
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from launch_kit import torch

from tilecore.runtime.scalars import UnfitScalar, integer_range, slot_of

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)] + ["int4", "uint4"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_extended_to_the_slot_and_bounded(dtype):
    low, high = integer_range(dtype)
    for value in (low, -1 if low else 1, 0, high):
        assert slot_of(value, dtype) % 2**64 == value % 2**64
        assert -(2**63) <= slot_of(value, dtype) < 2**63
    for value in (low - 1, high + 1):
        with pytest.raises(UnfitScalar):
            slot_of(value, dtype)


@given(st.floats(width=64))
def test_float64_keeps_its_bits(value):
    assert struct.pack("<q", slot_of(value, "float64")) == struct.pack("<d", value)


@given(st.floats(width=64) | st.integers(-(10**30), 10**30))
@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("float32", numpy.float32),
        ("float16", numpy.float16),
        ("bfloat16", ml_dtypes.bfloat16),
        ("float8_e5m2", ml_dtypes.float8_e5m2),
        ("float8_e4m3fn", ml_dtypes.float8_e4m3fn),
        ("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz),
        ("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz),
    ],
)
def test_narrow_floats_round_like_numpy_and_never_overflow(dtype, kind, value):
    with numpy.errstate(all="ignore"):
        rounded = kind(float(value))
    overflows = value == value and not numpy.isfinite(rounded) and (abs(value) != float("inf") or rounded != rounded)
    if overflows:
        with pytest.raises(UnfitScalar):
            slot_of(value, dtype)
        return
    slot = slot_of(value, dtype)
    assert 0 <= slot < 2 ** (8 * numpy.dtype(kind).itemsize)
    back = numpy.frombuffer(slot.to_bytes(8, "little"), kind)[0]
    assert back == rounded or (back != back and rounded != rounded)


@pytest.mark.parametrize(
    "value", [3, True, numpy.int64(3), numpy.uint8(3), torch.tensor(3), torch.tensor(True), numpy.array(3)]
)
def test_all_kinds_of_integers_are_taken(value):
    assert slot_of(value, "int32") == int(value)


@pytest.mark.parametrize("value", [2.5, numpy.float32(2.5), torch.tensor(2.5), numpy.array(2.5), numpy.float16(2.5)])
def test_all_kinds_of_floats_are_taken(value):
    assert slot_of(value, "float32") == struct.unpack("<I", struct.pack("<f", 2.5))[0]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (2.0, "int32"),
        ("3", "int32"),
        ("3", "float32"),
        (None, "float32"),
        (1j, "float32"),
        (2, "bool"),
        (1.0, "bool"),
        (torch.zeros(2), "float32"),
        (torch.tensor(1.0), "int32"),
        ([1], "int32"),
        (10**400, "float64"),
    ],
)
def test_values_of_another_kind_are_refused(value, dtype):
    with pytest.raises(UnfitScalar):
        slot_of(value, dtype)


def test_a_whole_float_gets_the_hint_to_convert_it():
    with pytest.raises(UnfitScalar) as caught:
        slot_of(4.0, "int32")
    assert caught.value.hint == "convert it: int(4.0)"


def test_bool():
    assert (slot_of(True, "bool"), slot_of(False, "bool"), slot_of(numpy.True_, "bool"), slot_of(1, "bool")) == (
        1,
        0,
        1,
        1,
    )


def test_a_number_with_a_gradient_is_refused_where_the_gradient_would_be_lost():
    factor = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(UnfitScalar, match="without a gradient"):
        slot_of(factor, "float32")
    with torch.no_grad():
        assert slot_of(factor, "float32") == slot_of(2.0, "float32")
    assert slot_of(factor.detach(), "float32") == slot_of(2.0, "float32")
