"""The order of what a kernel does with a T.alloc_reducer: initialise, accumulate, finalize, read."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.interpreter import interpret


def build(steps):
    """A kernel that does ``steps(r, X, Y)`` with a reducer of one element."""

    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32"), Y: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            r = T.alloc_reducer((1,), "float32")
            steps(r, X, Y)

    return kernel


@T.macro
def add(r, X):
    for i in T.Parallel(8):
        T.reducer_update(r[0], X[i])


@T.macro
def before_init(r, X, Y):
    add(r, X)
    T.reducer_init(r)
    T.finalize_reducer(r)


@T.macro
def never_finalized(r, X, Y):
    T.reducer_init(r)
    add(r, X)


@T.macro
def finalized_in_a_loop(r, X, Y):
    T.reducer_init(r)
    for _ in T.serial(4):
        add(r, X)
        T.finalize_reducer(r)


@T.macro
def initialised_in_a_loop(r, X, Y):
    for _ in T.serial(4):
        T.reducer_init(r)
        add(r, X)
    T.finalize_reducer(r)


@T.macro
def initialised_in_a_branch(r, X, Y):
    if X[0] > 0:
        T.reducer_init(r)
    add(r, X)
    T.finalize_reducer(r)


@T.macro
def initialised_twice(r, X, Y):
    T.reducer_init(r)
    T.reducer_init(r)
    add(r, X)
    T.finalize_reducer(r)


@T.macro
def read_too_early(r, X, Y):
    T.reducer_init(r)
    add(r, X)
    Y[0] = r[0]
    T.finalize_reducer(r)


@T.macro
def copied_too_early(r, X, Y):
    T.reducer_init(r)
    add(r, X)
    T.copy(r, Y)
    T.finalize_reducer(r)


@T.macro
def scaled_too_early(r, X, Y):
    T.reducer_init(r)
    for _ in T.Parallel(1):
        r[0] = r[0] * 2.0
    T.finalize_reducer(r)


@T.macro
def added_to_in_one_branch_after_the_end(r, X, Y):
    T.reducer_init(r)
    add(r, X)
    if X[0] > 0:
        T.finalize_reducer(r)
    add(r, X)


@T.macro
def finalized_twice(r, X, Y):
    T.reducer_init(r)
    add(r, X)
    T.finalize_reducer(r)
    T.finalize_reducer(r)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (before_init, "accumulated into before T.reducer_init"),
        (never_finalized, "never finalized"),
        (finalized_in_a_loop, "not in the scope of its T.reducer_init"),
        (initialised_in_a_loop, "not in the scope of its T.reducer_init"),
        (initialised_in_a_branch, "not in the scope of its T.reducer_init"),
        (initialised_twice, "double T.reducer_init"),
        (read_too_early, "illegal read of reducer"),
        (copied_too_early, "illegal read of reducer"),
        (scaled_too_early, "illegal read of reducer"),
        (added_to_in_one_branch_after_the_end, "accumulated into after T.finalize_reducer"),
        (finalized_twice, "finalized twice"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_another_order_is_refused(steps, message):
    with pytest.raises(LanguageError, match=message) as caught:
        build(steps)
    assert caught.value.location is not None


@T.macro
def again_in_every_iteration(r, X, Y):
    for _ in T.serial(3):
        T.reducer_init(r)
        add(r, X)
        T.finalize_reducer(r)
    Y[0] = r[0]


@T.macro
def started_again(r, X, Y):
    T.reducer_init(r)
    add(r, X)
    T.finalize_reducer(r)
    T.reducer_init(r, r[0])
    add(r, X)
    T.finalize_reducer(r, Y)


@T.macro
def finalized_in_a_branch(r, X, Y):
    T.reducer_init(r)
    if X[0] < 0:
        Y[0] = 0.0
    else:
        add(r, X)
        T.finalize_reducer(r)
        Y[0] = r[0]


@T.macro
def initialised_in_both_branches(r, X, Y):
    if X[0] < 0:
        T.reducer_init(r)
        add(r, X)
        T.finalize_reducer(r)
    else:
        T.reducer_init(r, 1)
        add(r, X)
        T.finalize_reducer(r)
    T.copy(r, Y)


@pytest.mark.parametrize(
    ("steps", "total"),
    [
        (again_in_every_iteration, 28),
        (started_again, 56),
        (finalized_in_a_branch, 28),
        (initialised_in_both_branches, 29),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_orders_that_are_right(steps, total):
    y = np.zeros(1, np.float32)
    interpret(build(steps).ir, np.arange(8, dtype=np.float32), y)
    assert y[0] == total


@pytest.mark.parametrize(
    ("batch", "message"), [(0, "batch must be >= 1"), (128, "exceeds total output elements"), (3, "must evenly divide")]
)
def test_a_batch_is_a_divisor(batch, message):
    with pytest.raises(LanguageError, match=message):

        @T.prim_func
        def kernel(X: T.Tensor((64, 4), "float32")):
            with T.Kernel(1):
                r = T.alloc_reducer(64, "float32")
                T.reducer_init(r)
                T.finalize_reducer(r, batch=batch)


@pytest.mark.parametrize(
    ("op", "dtype", "words"), [("bitand", "float32", "integer dtype"), ("sum", "bool", "integer or a float")]
)
def test_types_that_an_operation_is_not_defined_for(op, dtype, words):
    with pytest.raises(AssertionError, match=words):

        @T.prim_func
        def kernel():
            with T.Kernel(1):
                T.alloc_reducer((1,), dtype, op=op)


def test_an_update_of_the_whole_block_is_refused():
    with pytest.raises(LanguageError, match=r"outside any T\.Parallel"):

        @T.prim_func
        def kernel(X: T.Tensor((8,), "float32")):
            with T.Kernel(1):
                r = T.alloc_reducer((1,), "float32")
                T.reducer_init(r)
                T.reducer_update(r[0], X[0])
                T.finalize_reducer(r)
