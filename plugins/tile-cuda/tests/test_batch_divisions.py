"""Divisions of an unrolled loop by one number become one call, where the loop's stores leave the dividends alone."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T

N = 512


def emitted(statement, dtype="float32"):
    """The source of a kernel whose threads have 8 elements each of x and y; ``statement(x, y, d, i)``."""

    @T.prim_func
    def kernel(X: T.Tensor((N,), "float32"), D: T.Tensor((1,), "float32"), Y: T.Tensor((N,), dtype)):
        with T.Kernel(1, threads=64):
            x, y = T.alloc_fragment((N,), "float32"), T.alloc_fragment((N,), dtype)
            d = T.alloc_var("float32")
            d = D[0]
            T.copy(X, x)
            for i in T.Parallel(N):
                statement(x, y, d, i)
            T.copy(x, X)
            T.copy(y, Y)

    return tilecore.lower(kernel, target="cuda -arch=sm_90a").kernel_source


@T.macro
def in_place(x, y, d, i):
    x[i] = x[i] / d


@T.macro
def of_an_expression(x, y, d, i):
    y[i] = T.exp(x[i] - 1) / d + x[i]


@T.macro
def chosen(x, y, d, i):
    y[i] = T.if_then_else(x[i] > 0, x[i] / d, x[i])


@T.macro
def two(x, y, d, i):
    y[i] = x[i] / d + (x[i] + 1) / d


@T.macro
def by_each(x, y, d, i):
    y[i] = d / x[i]


@T.macro
def one_for_all(x, y, d, i):
    x[i] = x[i] + T.sqrt(d) / (d + 1)


@pytest.mark.parametrize("statement", [in_place, of_an_expression], ids=["in place", "an expression"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_divisions_are_one_call(statement, dtype):
    source = emitted(statement, dtype)
    assert "tc_quotients<" in source
    assert "tc_quotient(" not in source


@pytest.mark.parametrize(
    ("statement", "alone"),
    [(chosen, 1), (two, 2), (by_each, 0), (one_for_all, 1)],
    ids=["chosen", "two", "by each", "for all"],
)
def test_other_divisions_stay(statement, alone):
    source = emitted(statement)
    assert "tc_quotients<" not in source
    assert source.count("tc_quotient(") == alone


@T.macro
def of_another_element(x, y, d, i):
    x[i // 2, i % 2] = x[(7 - i) // 2, (7 - i) % 2] / d


@T.macro
def of_a_view(x, y, d, i):
    x[i // 2, i % 2] = y[7 - i] / d


@T.macro
def after_an_atomic(x, y, d, i):
    y[i] = T.atomic_add(y[7], 1, return_prev=True) + y[i] / d


@pytest.mark.parametrize(
    "statement", [of_another_element, of_a_view, after_an_atomic], ids=lambda macro: macro.__name__
)
def test_dividends_that_the_loop_changes_stay(statement):
    @T.prim_func
    def kernel(X: T.Tensor((32, 8), "float32"), D: T.Tensor((1,), "float32"), Y: T.Tensor((32, 8), "float32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            d = T.alloc_var("float32")
            d = D[0]
            x = T.alloc_local((8,), "float32")
            view = T.view(x, (4, 2))
            for i in T.serial(8):
                x[i] = X[tx, i]
            for i in T.unroll(8):
                statement(view, x, d, i)
            for i in T.serial(8):
                Y[tx, i] = x[i]

    source = tilecore.lower(kernel, target="cuda -arch=sm_80").kernel_source
    assert "tc_quotients<" not in source
    assert "tc_quotient(" in source
