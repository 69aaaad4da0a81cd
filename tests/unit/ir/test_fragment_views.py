"""reshaped: a view's elements are in the threads and registers of the fragment's, by their row-major number."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilecore.ir.fragment_views import reshaped
from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout, spread

ROWS = (Digit(0, 1, 8, THREAD, 4), Digit(0, 8, 2, REGISTER, 2))
COLUMNS = (Digit(1, 1, 2, REGISTER, 1), Digit(1, 2, 4, THREAD, 1))
ACCUMULATOR = FragmentLayout((16, 8), 32, (*ROWS, *COLUMNS))
SHAPES = [(2, 192), (2, 6, 32), (384,), (4, 96), (3, 128), (8, 48), (2, 2, 96), (1, 384, 1), (16, 24), (5, 7)]


def places(layout):
    """The thread and the register of each element, in row-major order."""
    indices = product(*(range(size) for size in layout.shape))
    return [(layout.thread(index), layout.register(index)) for index in indices]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SHAPES), st.sampled_from(SHAPES), st.sampled_from([32, 96, 128]), st.sampled_from([1, 2, 4]))
def test_each_element_stays_where_it_is(shape, other, threads, vector):
    layout = spread(shape, threads, vector if shape[-1] % vector == 0 else 1, exact=True)
    view = reshaped(layout, other)
    if view is None:
        return
    assert prod(shape) == prod(other)
    assert view.shape == other
    assert (view.threads, view.registers, view.free) == (layout.threads, layout.registers, layout.free)
    assert places(view) == places(layout)
    assert reshaped(view, shape) == layout


def test_an_accumulator_split_along_its_columns():
    view = reshaped(ACCUMULATOR, (16, 2, 4))
    assert view is not None
    assert places(view) == places(ACCUMULATOR)


def test_an_accumulator_as_one_axis():
    view = reshaped(ACCUMULATOR, (128,))
    assert view is not None
    assert places(view) == places(ACCUMULATOR)


def test_what_is_no_view_or_cuts_a_digit():
    assert reshaped(ACCUMULATOR, (16, 4)) is None
    eights = FragmentLayout((24,), 8, (Digit(0, 1, 8, THREAD, 1), Digit(0, 8, 3, REGISTER, 1)))
    assert reshaped(eights, (2, 12)) is None  # 12 is not at a multiple of 8, nor a divisor
    assert reshaped(eights, (6, 4)) is not None
    past = spread((2, 12), 8)
    assert np.prod([d.extent for d in past.of_axis(1)]) > 12
    assert reshaped(past, (24,)) is None
