"""T.isnan, T.isinf and T.isfinite for every value of every narrow float, and for the corners of the wide ones."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.interpreter import interpret

from .kit import FLOATS, compiled, every_value, wide, zeros

TESTS = (np.isnan, np.isinf, np.isfinite)


def kernel_of(dtype, n, form):
    if form == "vectors":

        @T.prim_func
        def kernel(X: T.Tensor((n,), dtype), B: T.Tensor((3, n), "bool")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    B[0, i] = T.isnan(X[i])
                    B[1, i] = T.isinf(X[i])
                    B[2, i] = T.isfinite(X[i])

    else:

        @T.prim_func
        def kernel(X: T.Tensor((n,), dtype), B: T.Tensor((3, n), "bool")):
            with T.Kernel(1):
                for i in T.serial(n):
                    x = X[i]
                    if T.isnan(x):
                        B[0, i] = True
                    B[1, i] = T.if_then_else(T.isinf(x), True, False)
                    B[2, i] = T.isfinite(x) and i >= 0

    return kernel


def expected(x):
    return np.stack([test(wide(x)) for test in TESTS])


@pytest.mark.parametrize("form", ["vectors", "branches"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_on_the_target(target, dtype, form):
    x = every_value(dtype)
    made = zeros("bool", (3, len(x)))
    compiled(kernel_of(dtype, len(x), form), target)(x, made)
    np.testing.assert_array_equal(made, expected(x))


@pytest.mark.parametrize("form", ["vectors", "branches"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_in_the_interpreter(dtype, form):
    x = every_value(dtype)
    if form == "branches":  # in sequence, which is slow: what differs in the high bits
        x = x[:: max(1, len(x) // 1024)].copy()
    made = zeros("bool", (3, len(x)))
    interpret(kernel_of(dtype, len(x), form), x, made)
    np.testing.assert_array_equal(made, expected(x))
