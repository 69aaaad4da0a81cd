"""Vectors written by hand (T.Ramp) mean what fancy indices mean to numpy: they are read where they stand. The same
bodies are run by the language and by CPython on numpy's arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret

N = 32


def swap(X, Y, R, view):
    X[R(0, 1, 4)], X[R(4, 1, 4)] = X[R(4, 1, 4)], X[R(0, 1, 4)]


def rotate_overlapping(X, Y, R, view):
    X[R(0, 1, 4)], X[R(2, 1, 4)], Y[R(0, 1, 4)] = X[R(2, 1, 4)], X[R(1, 1, 4)], X[R(0, 2, 4)]


def sums_of_what_is_written(X, Y, R, view):
    X[R(0, 1, 4)], Y[R(0, 1, 4)] = Y[R(0, 1, 4)] * 2 + X[R(8, 1, 4)], X[R(0, 1, 4)] + Y[R(3, -1, 4)]


def kept_in_a_list(X, Y, R, view):
    parts = [X[R(4 * i, 1, 4)] + 1 for i in range(3)]
    for place, part in zip((0, 4, 8), reversed(parts), strict=True):
        X[R(place, 1, 4)] = part


def kept_in_a_dict(X, Y, R, view):
    parts = {"low": X[R(0, 1, 4)], "high": X[R(4, 1, 4)]}
    X[R(0, 1, 8)] = 7
    Y[R(0, 1, 4)] = parts["high"]
    Y[R(4, 1, 4)] = parts["low"] * parts["high"]


def default_argument(X, Y, R, view):
    def put(where, value=X[R(0, 1, 4)]):  # noqa: B008
        Y[R(where, 1, 4)] = value

    X[R(0, 1, 4)] = 9
    put(4)


def index_that_is_a_vector(X, Y, R, view):
    X[R(0, 1, 4)], Y[R(0, 1, 4)] = R(20, 1, 4), Y[X[R(0, 1, 4)]]


def read_before_a_scalar_is_stored(X, Y, R, view):
    pair = (X[R(0, 1, 4)], X[2])
    X[2] = 50
    Y[R(0, 1, 4)], Y[9] = pair


def read_before_a_loop(X, Y, R, view):
    pair = [X[R(0, 1, 4)], X[R(4, 1, 4)]]
    for i in range(4):
        X[R(i, 1, 4)] = pair[0] + pair[1] + X[R(i, 1, 4)]


def of_two_lengths(X, Y, R, view):
    both = [X[R(0, 1, 8)], X[R(0, 1, 2)]]
    X[R(0, 1, 8)] = 3
    Y[R(0, 1, 8)] = both[0]
    Y[R(8, 1, 2)] = both[1] * 2


def scattered_by_its_own_elements(X, Y, R, view):
    X[X[R(0, 1, 4)]] = Y[R(3, -1, 4)]


def scattered_number(X, Y, R, view):
    X[X[R(1, 2, 4)]] = 7


def gathered_by_an_index_that_is_held(X, Y, R, view):
    where = (X[R(0, 1, 4)],)
    X[1] = 0
    Y[R(0, 1, 4)] = Y[where[0]]
    values = (Y[where[0]],)
    Y[2] = 100
    X[R(8, 1, 4)] += values[0]


def moved_through_a_view(X, Y, R, view):
    rows = view(X, (8, 4))
    rows[0, R(1, 1, 3)] = X[R(0, 1, 3)]
    X[R(5, 1, 8)] = view(rows, (32,))[R(4, 1, 8)]


def the_same_element_for_several_lanes(X, Y, R, view):
    X[R(0, 1, 4) // 2] += 1
    Y[X[R(4, 1, 4)] % 2] += 1


def elements_of_their_own(X, Y, R, view):
    X[R(0, 2, 8)] += 1
    X[R(15, -1, 8)] = X[R(15, -1, 8)] * 2


BODIES = [
    *(swap, rotate_overlapping, sums_of_what_is_written, kept_in_a_list, kept_in_a_dict, default_argument),
    *(scattered_by_its_own_elements, scattered_number, gathered_by_an_index_that_is_held, moved_through_a_view),
    *(the_same_element_for_several_lanes, elements_of_their_own, index_that_is_a_vector),
    *(read_before_a_scalar_is_stored, read_before_a_loop, of_two_lengths),
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_vectors_are_read_where_they_stand(body):
    macro = T.macro(body)

    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=1):
            macro(X, Y, T.Ramp, T.view)

    start = (np.arange(N, dtype="int32") * 5 + 3) % N, np.arange(N, dtype="int32")[::-1] - 5
    expected = [a.copy() for a in start]
    body(*expected, lambda first, step, lanes: first + step * np.arange(lanes), np.reshape)
    for run in (tilecore.compile(kernel, target="cpu"), lambda *arrays: interpret(kernel.ir, *arrays)):
        arrays = [a.copy() for a in start]
        run(*arrays)
        for got, want in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(got, want)


def test_a_vector_is_copied_only_where_it_is_read_too_late():
    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=1):
            Y[T.Ramp(0, 1, 4)] = X[T.Ramp(0, 1, 4)] + X[T.Ramp(4, 1, 4)]

            X[T.Ramp(0, 2, 4)] += Y[T.Ramp(0, 1, 4)]

    assert "alloc" not in str(kernel.ir)


def test_slices_are_views_as_numpys_are():
    def swap_slices(s, t):
        s[0:4], t[0:4] = t[0:4], s[0:4]

    macro = T.macro(swap_slices)

    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=32):
            s, t = T.alloc_shared((N,), "int32"), T.alloc_shared((N,), "int32")
            T.copy(X, s)
            T.copy(Y, t)
            macro(s, t)
            T.copy(s, X)
            T.copy(t, Y)

    expected = np.arange(N, dtype="int32"), np.arange(N, dtype="int32") + 100
    arrays = [a.copy() for a in expected]
    swap_slices(*expected)
    tilecore.compile(kernel, target="cpu")(*arrays)
    for got, want in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(got, want)
