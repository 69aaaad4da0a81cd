"""Comparisons: what counts as right, and what reports say."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tilecore.profiler import compare as module
from tilecore.profiler.arrays import as_numpy, copied, listed
from tilecore.profiler.compare import Tolerance, assert_close, compare

EXACT = Tolerance(0, 0)
floats = st.floats(allow_nan=True, allow_infinity=True, width=32)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from([(3,), (2, 5), ()]), st.booleans())
def test_right_elements_are_those_of_numpys_isclose(data, shape, equal_nan):
    a, b = (data.draw(arrays(np.float32, shape, elements=floats)) for _ in range(2))
    rtol, atol = data.draw(st.sampled_from([0, 1e-2, 1])), data.draw(st.sampled_from([0, 1e-3, 10]))
    with np.errstate(all="ignore"):
        expected = ~np.isclose(a.astype(np.float64), b.astype(np.float64), rtol, atol, equal_nan)
    assert compare(a, b, Tolerance(rtol, atol, equal_nan)).wrong == expected.sum()


def test_pieces_are_put_together(monkeypatch):
    a = np.arange(1000, dtype=np.float64).reshape(10, 100)
    b = a.copy()
    b[2, 5], b[7, 77], b[9, 99] = 0, 770, np.nan
    whole = compare(a, b, EXACT)
    monkeypatch.setattr(module, "_CHUNK", 7)
    assert compare(a, b, EXACT).report(0) == whole.report(0)
    assert (whole.wrong, whole.nans, whole.worst_absolute, whole.worst_index) == (3, 1, 205.0, (2, 5))
    assert [index for index, _, _ in whole.examples] == [(2, 5), (7, 77), (9, 99)]


def test_the_report_says_how_many_where_and_how_much():
    a = np.zeros(10)
    b = a.copy()
    b[3:9] = 0.5
    with pytest.raises(AssertionError) as caught:
        assert_close(a, b, EXACT, 0.1, subject="main: C")
    assert str(caught.value).splitlines() == [
        "main: C: 6 of 10 elements differ (60 %, 10 % allowed)",
        "greatest difference: 0.5 at (3,), relative 1",
        *[f"  at ({i},): actual 0.0, expected 0.5" for i in (3, 4, 5, 6)],
        "  ...",
    ]


def test_a_part_may_differ():
    a, b = np.zeros(100), np.zeros(100)
    b[:3] = 1
    assert assert_close(a, b, EXACT, 0.03).wrong == 3
    with pytest.raises(AssertionError):
        assert_close(a, b, EXACT, 0.029)


def test_shapes_are_never_broadcast():
    with pytest.raises(AssertionError, match=r"the result has shape \(1, 3\), expected \(3,\)"):
        assert_close(np.zeros((1, 3)), np.zeros(3), EXACT)


def test_wide_integers_are_compared_exactly():
    a = np.array([2**63 - 1, 2**53 + 1, 5], np.int64)
    b = np.array([2**63 - 1, 2**53, 5], np.int64)
    assert compare(a, a.copy(), EXACT).wrong == 0
    assert compare(a, b, EXACT).wrong == 1, "though 2**53 + 1 and 2**53 are one number in float64"
    assert compare(a, b, Tolerance(0, 1)).wrong == 0
    assert compare(np.array([7], np.uint64), np.array([8], np.uint64), EXACT).wrong == 1


@pytest.mark.parametrize(
    "name", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "int8", "bool", "int32"]
)
def test_torch_tensors_are_seen_as_they_are(name):
    torch = pytest.importorskip("torch")
    values = torch.tensor([0, 1, 1, 0]).to(getattr(torch, name))
    array = as_numpy(values)
    assert str(array.dtype) == name
    assert array.astype(np.float32).tolist() == [0, 1, 1, 0]
    assert compare(values, array, EXACT).wrong == 0
    assert compare(values, 1 - array.astype(np.float32), EXACT).wrong == 4


def test_narrow_types_compare_with_wide_ones():
    a = np.array([1.0, 0.1, 448.0], ml_dtypes.float8_e4m3fn)
    assert compare(a, np.array([1.0, 0.1, 448.0], np.float32), Tolerance(0.07, 0)).wrong == 0
    assert compare(a, np.array([1.0, 0.2, 448.0], np.float32), Tolerance(0.07, 0)).wrong == 1


def test_copies_keep_values_and_strides():
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (base, base[:, :4], base.T, base[::2]):
        copy = copied(view)
        assert copy.strides == view.strides
        assert np.array_equal(copy, view)
        assert not np.shares_memory(copy, view)
    torch = pytest.importorskip("torch")
    tensor = torch.arange(24).reshape(4, 6)[:, :4]
    copy = copied(tensor)
    assert (copy.stride(), copy.tolist()) == (tensor.stride(), tensor.tolist())
    copy.zero_()
    assert tensor.sum() > 0
    assert copied(torch.zeros(1).expand(5)).shape == (5,)
    assert copied(3) == 3


def test_results_as_lists():
    array = np.zeros(1)
    assert listed(None) == []
    assert listed(array) == [array]
    assert listed((array, array)) == [array, array]


def test_relative_differences_are_of_what_is_not_zero():
    comparison = compare(np.array([1.0, 3.0, np.inf]), np.array([0.0, 2.0, 1.0]), EXACT)
    assert (comparison.worst_absolute, comparison.worst_relative, comparison.wrong) == (1.0, 0.5, 3)
