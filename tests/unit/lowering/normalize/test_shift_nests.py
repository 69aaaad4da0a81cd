"""shift_nests: fragments that a nest indexes by a variable and a number stay in registers."""

from __future__ import annotations

import pytest

import tilecore.language as T

from ..one_pass import around_pass

PASS = "shift_nests"


def kernel_of(write, rows=32):
    @T.prim_func
    def kernel(X: T.Tensor((32, 64), "float32"), Y: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            held, other = T.alloc_fragment((32, 64), "float32"), T.alloc_shared((32, 64), "float32")
            T.copy(X, held)
            T.fill(other, 0)
            for i, j in T.Parallel(rows, 64):
                write(held, other, i, j)
            T.copy(other, Y)

    return kernel


@T.macro
def lower_half(held, other, i, j):
    if i < 16:
        other[i, j] = held[i + 16, j]


@T.macro
def upper_half(held, other, i, j):
    if i >= 16:
        other[i, j] = held[i - 16, j]


@T.macro
def without_condition(held, other, i, j):
    other[i, j] = held[i + 0, j]


@T.macro
def out_of_bounds(held, other, i, j):
    if i < 17:
        other[i, j] = held[i + 16, j]


@T.macro
def by_two_numbers(held, other, i, j):
    if i < 8:
        other[i, j] = held[i + 16, j] + held[i + 8, j]


@pytest.mark.parametrize(
    ("write", "index", "bound"), [(lower_half, "i - 16", "i >= 16"), (upper_half, "i + 16", "i < 16")]
)
def test_the_nest_runs_over_the_rows_of_the_fragment(write, index, bound):
    before, after, _ = around_pass(kernel_of(write), PASS)
    assert "held[i, j]" in str(after)
    assert "held[i, j]" not in str(before)
    assert f"other[{index}, j]" in str(after)
    assert bound in str(after)


@pytest.mark.parametrize("write", [without_condition, out_of_bounds, by_two_numbers])
def test_other_nests_stay(write):
    before, after, _ = around_pass(kernel_of(write), PASS)
    assert str(before) == str(after)


def test_a_nest_of_another_size_than_the_fragment_stays():
    before, after, _ = around_pass(kernel_of(lower_half, rows=20), PASS)
    assert str(before) == str(after)
