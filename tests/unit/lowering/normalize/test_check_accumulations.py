"""Memory of a thread that iterations of T.Parallel go on with, and that is read later, is refused; scratch is not."""

from __future__ import annotations

import inspect

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError


def a_sum(X, Y, n, t, v: T.Ref, m):
    for i in T.Parallel(64):
        v += X[i]  # refused
    Y[0] = v


def a_maximum_in_an_element(X, Y, n, t, v: T.Ref, m):
    m[0] = -T.infinity("float32")
    for i in T.Parallel(64):
        m[0] = T.max(m[0], X[i])  # refused
    T.atomic_max(Y[0], m[0])


def a_count_under_a_condition(X, Y, n, t, v: T.Ref, m):
    for i in T.Parallel(64):
        if X[i] > 0:
            v += 1.0  # refused
    Y[0] = T.warp_reduce_sum(v)


def read_in_the_next_iteration_around(X, Y, n, t, v: T.Ref, m):
    for k in T.serial(4):
        Y[k] = v
        for i in T.Parallel(64):
            v += X[i]  # refused


def by_a_name_and_a_tile(X, Y, n, t, v: T.Ref, m):
    T.copy(X, t)
    for i, j in T.Parallel(8, 8):
        value = t[i * 8 + j] * 2
        v = v + value  # refused
    for i in T.Parallel(64):
        Y[i] = v


def read_on_one_side_of_a_condition(X, Y, n, t, v: T.Ref, m):
    for i in T.Parallel(64):
        v += X[i]  # refused
    if n > 3:
        Y[0] = v
    else:
        v = 2.0


REFUSED = [
    a_sum, a_maximum_in_an_element, a_count_under_a_condition, read_in_the_next_iteration_around, by_a_name_and_a_tile,
    read_on_one_side_of_a_condition,
]  # fmt: skip


def scratch(X, Y, n, t, v: T.Ref, m):
    for i in T.Parallel(64):
        v += X[i]
        Y[i] = v


def set_before_it_is_read_again(X, Y, n, t, v: T.Ref, m):
    for k in T.serial(4):
        v = 0.0
        for i in T.Parallel(64):
            v += X[i] * k
            Y[i] = v
    v = 3.0
    Y[0] = v


def the_same_in_all_iterations(X, Y, n, t, v: T.Ref, m):
    for i in T.Parallel(64):
        v = v + 2.0
        v = T.max(v, X[5] + n)
        Y[i] = X[i]
    Y[1] = v


def a_sum_of_each_iteration(X, Y, n, t, v: T.Ref, m):
    for i in T.Parallel(64):
        v = 0.0
        for k in T.serial(4):
            v += X[(i + k) % 64]
        Y[i] = v


def a_serial_sum(X, Y, n, t, v: T.Ref, m):
    for i in T.serial(64):
        v += X[i]
    Y[0] = v


def a_sum_for_the_next_nest_alone(X, Y, n, t, v: T.Ref, m):
    for i in T.Parallel(64):
        v += X[i]
        Y[i] = v
    for i in T.Parallel(64):
        v = Y[i] + 1
        Y[i] = v


ACCEPTED = [
    scratch, set_before_it_is_read_again, the_same_in_all_iterations, a_sum_of_each_iteration, a_serial_sum,
    a_sum_for_the_next_nest_alone,
]  # fmt: skip


def kernel_of(body):
    macro = T.macro(body)

    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1, threads=32):
            t = T.alloc_shared((64,), "float32")
            v, m = T.alloc_var("float32", init=1), T.alloc_local((1,), "float32")
            macro(X, Y, n, t, v, m)

    return kernel


@pytest.mark.parametrize("body", REFUSED, ids=[body.__name__ for body in REFUSED])
def test_what_none_of_the_iterations_has(body):
    with pytest.raises(LanguageError, match=r"is read after a T\.Parallel loop whose iterations all change") as caught:
        tilecore.compile(kernel_of(body), target="cpu")
    lines = inspect.getsource(body).splitlines()
    line = caught.value.location.line - body.__code__.co_firstlineno
    assert lines[line].endswith("# refused")
    assert "T.alloc_reducer" in caught.value.hint


@pytest.mark.parametrize("body", ACCEPTED, ids=[body.__name__ for body in ACCEPTED])
def test_what_has_one_value(body):
    tilecore.compile(kernel_of(body), target="cpu")
