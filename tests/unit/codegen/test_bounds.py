"""Ranges of bound integers while source is emitted."""

from __future__ import annotations

import pytest

from tilecore.codegen.bounds import Bounds
from tilecore.ir.build import const
from tilecore.ir.nodes import Var, tirx

LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1)}


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("least", [0, 1, 3, 100])
def test_ranges_that_end_at_the_largest_number_of_the_type(dtype, least):
    """Found by tilecore fuzz: one past such a range is no number of the type, and TVM refused to fold it."""
    bounds, source, name = Bounds(), Var("source", dtype), Var("name", dtype)
    bounds.bind_value(name, tirx.Max(source, const(least, dtype)))
    low, high = bounds._range(name)
    assert (low, high) == (least, LIMITS[dtype][1])
    assert bounds.never_negative(name)
    assert bounds.is_positive(name) == (least > 0)


@pytest.mark.parametrize("dtype", LIMITS)
def test_ranges_that_begin_at_the_least_number_of_the_type(dtype):
    bounds, source, name = Bounds(), Var("source", dtype), Var("name", dtype)
    bounds.bind_value(name, tirx.Min(source, const(5, dtype)))
    assert bounds._range(name) == (LIMITS[dtype][0], 5)


def test_a_name_that_is_bound_again():
    """The code of a range of threads binds a thread's number wherever the range stands."""
    bounds, source, name = Bounds(), Var("source", "int32"), Var("name", "int32")
    bounds.bind_range(source, const(0, "int32"), const(256, "int32"))
    for _ in range(2):
        bounds.bind_value(name, source)
        assert bounds._range(name) == (0, 255)
        bounds.bind_range(name, const(0, "int32"), const(128, "int32"))
        assert bounds._range(name) == (0, 127)
