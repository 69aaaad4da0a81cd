"""What T.Parallel may hold: refused when the kernel is compiled, at the user's line, as a ValueError."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError


def parallel_beside_a_statement(X, f, s, m, n):
    for i in T.Parallel(8):
        s[i, 0] = 0.0
        for j in T.Parallel(8):  # refused
            s[i, j] = X[i, j]


def parallel_in_a_serial_loop(X, f, s, m, n):
    for i in T.Parallel(4):
        for _ in T.serial(2):
            for j in T.Parallel(8):  # refused
                s[i, j] = X[i, j]


def parallel_in_a_condition(X, f, s, m, n):
    for i in T.Parallel(8):
        if i < 4:
            for j in T.Parallel(8):  # refused
                s[i, j] = X[i, j]


def pipelined(X, f, s, m, n):
    for i in T.Parallel(8):
        for k in T.Pipelined(8, num_stages=2):  # refused
            s[i, k] = X[i, k]


def tile_operation(X, f, s, m, n):
    for _i in T.Parallel(8):
        T.copy(X, s)  # refused


def fragment_by_an_unknown_extent(X, f, s, m, n):
    for i in T.Parallel(n):
        f[i] = 0.0  # refused


def fragment_read_by_an_unknown_extent(X, f, s, m, n):
    for i in T.Parallel(n // 2):
        for j in T.Parallel(2):
            s[i, j] = f[i * 2 + j]  # refused


def local_store(X, f, s, m, n):
    for i in T.Parallel(8):
        m[i] = 1.0  # refused


def local_load(X, f, s, m, n):
    for i, j in T.Parallel(2, 4):
        s[i, j] = m[i * 4 + j]  # refused


REFUSED = [
    (parallel_beside_a_statement, "a T.Parallel stands inside another T.Parallel", "T.serial"),
    (parallel_in_a_serial_loop, "a T.Parallel stands inside another T.Parallel", "T.serial"),
    (parallel_in_a_condition, "a T.Parallel stands inside another T.Parallel", "T.serial"),
    (pipelined, "T.Pipelined stands inside T.Parallel", "T.Parallel inside T.Pipelined"),
    (tile_operation, "T.copy stands inside T.Parallel", "move it out of the loop"),
    (fragment_by_an_unknown_extent, "whose number of iterations is not a constant", "whole fragment"),
    (fragment_read_by_an_unknown_extent, "whose number of iterations is not a constant", "whole fragment"),
    (local_store, "Local buffer m is indexed by T.Parallel loop variable `i`", "T.alloc_fragment"),
    (local_load, "Local buffer m is indexed by T.Parallel loop variable `i`", "T.alloc_fragment"),
]


def kernel_of(use):
    body = T.macro(use)

    @T.prim_func
    def kernel(X: T.Tensor((8, 8), "float32"), n: T.int32):
        with T.Kernel(1, threads=32):
            f = T.alloc_fragment((8,), "float32")
            s = T.alloc_shared((8, 8), "float32")
            m = T.alloc_local((8,), "float32")
            body(X, f, s, m, n)

    return kernel


@pytest.mark.parametrize(("use", "message", "more"), REFUSED, ids=[case[0].__name__ for case in REFUSED])
def test_refused_when_it_is_compiled(use, message, more):
    kernel = kernel_of(use)  # building it raises nothing
    with pytest.raises(ValueError) as caught:
        tilecore.compile(kernel, target="cpu")
    assert isinstance(caught.value, LanguageError)
    assert message in caught.value.message
    assert more in str(caught.value)
    assert "# refused" in str(caught.value)


def test_the_interpreter_refuses_it_too(monkeypatch):
    monkeypatch.setenv("TILECORE_INTERPRET", "1")
    with pytest.raises(ValueError, match="stands inside another T"):
        tilecore.compile(kernel_of(parallel_beside_a_statement), target="cpu")


def test_what_may_stand_in_it():
    @T.prim_func
    def kernel(X: T.Tensor((8, 8), "float32"), n: T.int32):
        with T.Kernel(1, threads=32):
            f = T.alloc_fragment((8,), "float32")
            s = T.alloc_shared((8, 8), "float32")
            m = T.alloc_local((8,), "float32")
            for i in T.Parallel(8):
                for j in T.Parallel(8):
                    s[i, j] = X[i, j]
            for _ in T.Parallel(n):
                for j in T.Parallel(8):
                    f[j] = 0.0
            for i in T.Parallel(n):
                s[i, 0] = 1.0
            for i in T.Parallel(8):
                for k in T.vectorized(8):
                    m[k] = X[i, k]
                X[i, 0] = m[0]

    assert tilecore.compile(kernel, target="cpu")
