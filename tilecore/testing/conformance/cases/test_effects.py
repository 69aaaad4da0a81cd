"""What does something besides giving a value runs as often as the program says, and where it says."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError

from .kit import check, same, sample, zeros


def same_in_any_order(got, expected, label=""):
    """Which iteration comes first is the target's choice."""
    same(np.sort(got), np.sort(expected), label)


@pytest.mark.parametrize("n", [4, 16, 37, 64])
def test_the_same_update_in_every_iteration(target, n):
    """Operands that no iteration changes, the value dropped, bound or kept."""

    @T.prim_func
    def kernel(Y: T.Tensor((6,), "int32"), P: T.Tensor((n,), "int32"), Q: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            for _ in T.Parallel(n):
                T.atomic_add(Y[0], 1, return_prev=True)
            for i in T.Parallel(n):
                before = T.atomic_add(Y[1], 1, return_prev=True)
                P[i] = before
            for i in T.Parallel(n):
                before = T.atomic_add(Y[2], 2, return_prev=True)
                Q[i] = i
            for i in T.Parallel(n):
                T.atomic_exchange(Y[3], 7)
                if i % 2 == 0:
                    before = T.atomic_max(Y[4], 3, return_prev=True)
                    if before < 3:
                        T.atomic_add(Y[5], 1)

    args = (zeros("int32", 6), zeros("int32", n), zeros("int32", n))
    y, p, _ = check(kernel, target, *args, compare=same_in_any_order)
    same(y, np.array([n, n, 2 * n, 7, 3, 1], np.int32))
    same(np.sort(p), np.arange(n, dtype=np.int32))


def test_exchange_gives_what_was_there(target):
    @T.prim_func
    def kernel(Y: T.Tensor((1,), "int32"), P: T.Tensor((16,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(16):
                P[i] = T.atomic_exchange(Y[0], 3)

    _, p = check(kernel, target, zeros("int32", 1), zeros("int32", 16), compare=same_in_any_order)
    assert sorted(p.tolist()) == [0] + [3] * 15


def test_compaction(target):
    """The index of a store is the value of an atomic, taken once."""
    n = 100

    @T.prim_func
    def kernel(X: T.Tensor((n,), "int32"), N: T.Tensor((1,), "int32"), Y: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                if X[i] > 0:
                    Y[T.atomic_add(N[0], 1, return_prev=True)] = X[i]

    x = sample("int32", n)
    _, count, y = check(kernel, target, x, zeros("int32", 1), zeros("int32", n), compare=_as_sets)
    assert count[0] == (x > 0).sum()
    same(np.sort(y[: count[0]]), np.sort(x[x > 0]))


def _as_sets(got, expected, label=""):
    same(np.sort(got), np.sort(expected), label)


def test_neighbouring_loops_keep_their_order(target):
    """A loop that reads what another one exchanges is not merged into it."""

    @T.prim_func
    def kernel(Y: T.Tensor((64,), "int32"), P: T.Tensor((64,), "int32"), Q: T.Tensor((64,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                P[i] = T.atomic_exchange(Y[i], i)
            for i in T.Parallel(64):
                Q[i] = P[i] + Y[63 - i]

    check(kernel, target, sample("int32", 64), zeros("int32", 64), zeros("int32", 64))


def test_a_condition_of_while_runs_every_time(target):
    @T.prim_func
    def kernel(Y: T.Tensor((3,), "int32")):
        with T.Kernel(1):
            while T.atomic_add(Y[0], 1, return_prev=True) < 5:
                if Y[0] == 3:
                    continue
                Y[1] += Y[0]
            Y[2] = Y[0]

    (y,) = check(kernel, target, zeros("int32", 3))
    assert y.tolist() == [6, 1 + 2 + 4 + 5, 6]


def test_chains_of_comparisons_take_each_operand_once(target):
    @T.prim_func
    def kernel(Y: T.Tensor((3,), "int32")):
        with T.Kernel(1):
            for i in T.serial(6):
                if 1 < T.atomic_add(Y[0], 1, return_prev=True) < 4:
                    Y[1] += 1
                if 0 <= i < 5 != i >= 2 and 1 < 2 <= i:
                    Y[2] += i

    (y,) = check(kernel, target, zeros("int32", 3))
    assert y.tolist() == [6, 2, 2 + 3 + 4]


def test_operands_that_run_only_sometimes():
    def attempt(make):
        @T.prim_func
        def kernel(Y: T.Tensor((2,), "int32")):
            with T.Kernel(1):
                Y[1] = make(Y)

    @T.macro
    def and_(Y):
        return T.cast(Y[1] > 0 and T.atomic_add(Y[0], 1, return_prev=True) > 0, "int32")

    @T.macro
    def or_(Y):
        return T.cast(Y[1] > 0 or T.atomic_add(Y[0], 1, return_prev=True) > 0, "int32")

    @T.macro
    def choice(Y):
        return T.atomic_add(Y[0], 1, return_prev=True) if Y[1] > 0 else 0

    @T.macro
    def chain(Y):
        return T.cast(0 < Y[1] < T.atomic_add(Y[0], 1, return_prev=True), "int32")

    for macro in (and_, or_, choice, chain):
        with pytest.raises(LanguageError, match="has a side effect") as caught:
            attempt(macro)
        assert caught.value.location is not None
