"""Narrow floats that were computed: rounded where they are looked at, and known on every way through the kernel."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.interpreter import interpret

from .kit import check, compiled, element, sample, zeros

NARROW = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz")


def around_the_limit(dtype, n):
    """Values whose products and sums round, overflow and vanish."""
    x, y = (sample(dtype, n, seed).astype(np.float32) for seed in (1, 2))
    x[::3] *= 100
    y[::5] *= 300
    x[:2], y[:2] = (1.1, 300), (1.3, 300)
    return x.astype(element(dtype)), y.astype(element(dtype))


@pytest.mark.parametrize("form", [T.Parallel, T.serial])
@pytest.mark.parametrize("dtype", NARROW)
def test_looking_at_a_product_or_sum_rounds_it(target, dtype, form):
    n = 37

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), dtype),
        Y: T.Tensor((n,), dtype),
        P: T.Tensor((n,), dtype),
        B: T.Tensor((5, n), "bool"),
        F: T.Tensor((2, n), "float32"),
        I: T.Tensor((n,), "int32"),  # noqa: E741
    ):
        with T.Kernel(1):
            for i in form(n):
                B[0, i] = T.isinf(X[i] * Y[i])
                B[1, i] = T.isfinite(X[i] * Y[i])
                B[2, i] = T.isnan(X[i] * Y[i])
                B[3, i] = X[i] * Y[i] == P[i]
                B[4, i] = X[i] + Y[i] <= P[i]
                F[0, i] = T.cast(X[i] * Y[i], "float32")
                F[1, i] = T.cast(X[i] + Y[i], "float32")
                I[i] = T.cast(X[i] - Y[i], "int32")

    x, y = around_the_limit(dtype, n)
    with np.errstate(over="ignore"):
        product = (x.astype(np.float32) * y.astype(np.float32)).astype(element(dtype))
    x[7], y[7] = np.nan, 1
    results = check(kernel, target, x, y, product, zeros("bool", (5, n)), zeros("float32", (2, n)), zeros("int32", n))
    assert results[3][3].sum() > n // 2, "a product is the product that memory holds"


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("dtype", NARROW)
def test_a_value_from_before_a_branch_in_each_of_its_forms(target, dtype, positive):
    @T.prim_func
    def kernel(X: T.Tensor((4,), dtype), Y: T.Tensor((3,), dtype), Z: T.Tensor((3,), "float32"), positive: T.int32):
        with T.Kernel(1):
            product = X[0] * X[1]
            read = X[2]
            X[0] = 0
            X[2] = 0
            if positive > 0:
                Y[0] = product
                Z[0] = T.cast(product, "float32") + T.cast(read, "float32")
            else:
                Y[1] = product
                Z[1] = T.cast(product, "float32") + T.cast(read, "float32")
            Y[2] = product
            Z[2] = T.cast(product, "float32") + T.cast(read, "float32")

    start = np.array([1.3, 1.7, 7, 1], element(dtype))
    outputs = []
    for run in (compiled(kernel, target), lambda *args: interpret(kernel, *args)):
        y, z = zeros(dtype, 3), zeros("float32", 3)
        run(start.copy(), y, z, positive)
        outputs.append((y.astype(np.float32), z))
    np.testing.assert_array_equal(outputs[0][0], outputs[1][0])
    np.testing.assert_array_equal(outputs[0][1], outputs[1][1])
