"""Iterations of T.Parallel that change one element: a warning, where one is certain to be meant."""

from __future__ import annotations

import warnings

import pytest

import tilecore.language as T
from tilecore.frontend.parallel_races import RaceWarning


def kernel(body, scope="alloc_fragment"):
    @T.prim_func
    def summing(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            total = getattr(T, scope)((8,), "float32")
            T.clear(total)
            body(A, total)
            T.copy(total, C)

    return summing


@T.macro
def rows(A, total):
    for i, j in T.Parallel(8, 64):
        total[i] += A[i, j]


@T.macro
def one(A, total):
    for i in T.Parallel(8):
        for j in T.Parallel(64):
            total[0] = T.max(total[0], A[i, j])


@pytest.mark.parametrize("scope", ["alloc_fragment", "alloc_shared"])
@pytest.mark.parametrize(("body", "variable"), [(rows, "j"), (one, "i")])
def test_sums_of_several_iterations(scope, body, variable):
    with pytest.warns(RaceWarning, match=f"iterations of {variable} change the same element of total.*T.reduce_sum"):
        kernel(body, scope).ir  # noqa: B018


@T.macro
def serial(A, total):
    for j in T.serial(64):
        for i in T.Parallel(8):
            total[i] += A[i, j]


@T.macro
def atomic(A, total):
    for i, j in T.Parallel(8, 64):
        T.atomic_add(total[i], A[i, j])


@T.macro
def selected(A, total):
    for i, j in T.Parallel(8, 64):
        if j == 5:
            total[i] += A[i, j]


@T.macro
def equal(A, total):
    for i, _ in T.Parallel(8, 64):
        total[i] = 1


@T.macro
def single(A, total):
    for i, _ in T.Parallel(8, 1):
        total[i] += A[i, 0]


@T.macro
def private(A, total):
    v = T.alloc_var("float32", init=0)
    for j in T.Parallel(64):
        v += A[0, j]
    total[0] = v


@pytest.mark.parametrize("body", [serial, atomic, selected, equal, single, private])
def test_no_warning(body):
    scope = "alloc_shared" if body is atomic else "alloc_fragment"
    with warnings.catch_warnings():
        warnings.simplefilter("error", RaceWarning)
        kernel(body, scope).ir  # noqa: B018


def test_reducers_are_summed():
    @T.prim_func
    def summing(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            total = T.alloc_reducer((8,), "float32")
            T.clear(total)
            for i, j in T.Parallel(8, 64):
                total[i] += A[i, j]
            T.finalize_reducer(total)
            T.copy(total, C)

    with warnings.catch_warnings():
        warnings.simplefilter("error", RaceWarning)
        summing.ir  # noqa: B018
