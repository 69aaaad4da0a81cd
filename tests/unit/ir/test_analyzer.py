"""The analyzer: what may wrap is no more than a value of its type for it."""

from __future__ import annotations

import pytest

from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import cast, const
from tilecore.ir.nodes import Range, Var, structural_equal


def bound(expr):
    interval = Analyzer().const_int_bound(expr)
    return int(interval.min_value), int(interval.max_value)


def test_a_cast_that_may_wrap_keeps_no_range():
    byte = Var("b", "uint8")
    assert bound(cast(cast(byte, "int8"), "int32")) == (-128, 127)
    assert bound(cast(byte, "int32")) == (0, 255)
    assert bound(cast(Var("w", "uint32"), "int32")) == (-(2**31), 2**31 - 1)


def test_sums_of_narrow_types_wrap():
    byte = Var("b", "uint8")
    assert bound(cast(byte + const(200, "uint8"), "int32")) == (0, 255)
    assert not Analyzer().can_prove(cast(byte + const(200, "uint8"), "int32") >= 200)


def test_a_cast_that_fits_keeps_its_range():
    index, analyzer = Var("i", "int32"), Analyzer()
    analyzer.bind(index, Range.from_min_extent(const(0, "int32"), const(100, "int32")))
    interval = analyzer.const_int_bound(cast(cast(index, "int8"), "int32"))
    assert (int(interval.min_value), int(interval.max_value)) == (0, 99)


@pytest.mark.parametrize("divisor", [128, 300])
def test_what_comes_back_is_what_was_given(divisor):
    """Two values that read the same are the same, and no name of the analyzer's own is left."""
    byte, analyzer = Var("b", "uint8"), Analyzer()
    value = cast(cast(byte, "int8"), "int32")
    remainder = value % divisor
    assert structural_equal(analyzer.simplify(remainder), remainder)
    assert structural_equal(analyzer.simplify(remainder + value - value), remainder)
    with analyzer.constraint_scope(value >= 0):
        assert structural_equal(analyzer.simplify(value % 128), value)
        assert analyzer.can_prove(value * 2 >= 0)
    analyzer.bind(Var("j", "int32"), Range.from_min_extent(value, value + 1))
