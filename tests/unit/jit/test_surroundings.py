"""Kernels in memory are those of the globals and closures of this moment."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.jit.surroundings import Same, Surroundings

SCALE = 3
TABLE = {"offset": 1}
HERE = sys.modules[__name__]


def helper(x):
    return x + 100


@tilecore.jit(target="cpu", out_idx=-1)
def lazy(n):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = helper(A[i]) * SCALE

    return kernel


@tilecore.jit(target="cpu")
def eager(A):
    N = T.const("N")
    A: T.Tensor((N,), T.int32)
    B = T.empty((N,), T.int32)
    with T.Kernel(1):
        for i in T.Parallel(N):
            B[i] = helper(A[i]) * SCALE
    return B


ZEROS = np.zeros(4, np.int32)


@pytest.mark.parametrize("run", [lambda: lazy(4)(ZEROS)[0], lambda: eager(ZEROS)[0]], ids=["lazy", "eager"])
def test_a_changed_global_or_helper_gives_another_kernel(run, monkeypatch):
    assert run() == 300
    monkeypatch.setattr(HERE, "SCALE", 4)
    assert run() == 400
    monkeypatch.setattr(HERE, "helper", lambda x: x + 50)
    assert run() == 200
    monkeypatch.undo()
    assert run() == 300


def test_the_kernel_comes_back_with_the_value():
    kernel = lazy(4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HERE, "SCALE", 5)
        assert lazy(4) is not kernel
    assert lazy(4) is kernel


def test_a_closure_that_changes():
    amount = 1

    @tilecore.jit(target="cpu", out_idx=-1)
    def factory(n):
        change = amount

        @T.prim_func
        def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    B[i] = A[i] + change

        return kernel

    assert factory(4)(ZEROS)[0] == 1
    amount = 7
    assert factory(4)(ZEROS)[0] == 7
    amount = 1
    assert factory(4)(ZEROS)[0] == 1


def test_what_par_compile_made_is_found_only_under_the_same_globals(monkeypatch):
    (kernel,) = lazy.par_compile([9])
    assert lazy(9) is kernel
    monkeypatch.setattr(HERE, "SCALE", 6)
    assert lazy(9)(np.zeros(9, np.int32))[0] == 600


def reads(value):
    inner = [lambda: SCALE for _ in range(1)]
    return value + len(inner) + helper(TABLE["offset"]) + np.int32(1)


def test_what_is_compared(monkeypatch):
    around = Surroundings(reads)
    before = around.now()
    assert (int, 3) in before, "also in functions inside"
    assert Same(helper) in before
    assert Same(TABLE) in before
    assert Same(np) not in before, "modules are not replaced"
    assert around.now() == before
    assert hash(around.now()) == hash(before)
    monkeypatch.setattr(HERE, "SCALE", 3.0)
    assert around.now() != before, "of another type"
    monkeypatch.setattr(HERE, "SCALE", 3)
    monkeypatch.setattr(HERE, "TABLE", dict(TABLE))
    assert around.now() != before
    monkeypatch.delattr(HERE, "TABLE")
    assert around.now() != before


def test_a_closure_with_nothing_in_it_yet():
    def function():
        return later

    assert Surroundings(function).now() == (None,)
    later = 3
    assert Surroundings(function).now() == ((int, 3),)
