"""Two float32 values by one instruction, from sm_100 on: where it is chosen, and that results are the interpreter's."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret


def of_vectors(operation, dtype="float32", lanes=4):
    @T.prim_func
    def kernel(A: T.Tensor((128,), dtype), B: T.Tensor((128,), dtype), C: T.Tensor((128,), dtype)):
        with T.Kernel(1, threads=128 // lanes):
            i = T.Ramp(T.get_thread_binding() * lanes, 1, lanes)
            C[i] = operation(A[i], B[i])

    return kernel


def emitted(kernel, arch="sm_100a"):
    return tilecore.lower(kernel, target=f"cuda -arch={arch}").kernel_source


CASES = {
    "add": (lambda a, b: a + b, "tc_pair_add(", 1),
    "sub": (lambda a, b: a - b, "tc_pair_sub(", 1),
    "mul": (lambda a, b: a * b, "tc_pair_mul(", 1),
    "fma": (lambda a, b: a * b + a, "tc_pair_fma(", 1),
    "scale": (lambda a, b: (a + b) * 0.5, "tc_pair_mul(tc_pair_add(", 1),
    "of other values": (lambda a, b: T.exp(a) + T.max(a, b), "tc_pair_add(tc_float_pair(tc_exp(", 1),
    # ptxas would fuse them with the sum
    "products in a sum": (lambda a, b: a * b + b * b, "tc_pair_mul", 0),
    "a sum of products": (lambda a, b: (a * a - b * b) * 2, "tc_pair_sub(tc_float_pair(", 1),
    "no operation of pairs": (lambda a, b: T.max(a, b), "tc_pair", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_where_it_is_chosen(name):
    operation, text, count = CASES[name]
    source = emitted(of_vectors(operation))
    assert source.count(text) == count
    assert "tc_pair" not in emitted(of_vectors(operation), "sm_90a")
    assert "tc_pair" not in emitted(of_vectors(operation, "float16"))


def test_a_product_that_registers_keep_may_reach_a_sum():
    @T.prim_func
    def kernel(A: T.Tensor((128,), "float32"), C: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=32):
            i = T.Ramp(T.get_thread_binding() * 4, 1, 4)
            product = T.alloc_local((4,), "float32")
            product[T.Ramp(0, 1, 4)] = A[i] * A[i]
            C[i] = product[T.Ramp(0, 1, 4)] + A[i]

    source = emitted(kernel)
    assert "tc_pair_mul" not in source
    assert "tc_pair_add" in source


def test_iterations_that_depend_on_each_other_stay():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), C: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=1):
            sums = T.alloc_local((9,), "float32")
            sums[0] = 0.0
            for i in T.unroll(8):
                sums[i + 1] = sums[i] + A[i]
            for i in T.unroll(8):
                C[i] = sums[i + 1]

    assert "tc_pair" not in emitted(kernel)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_results(lanes, monkeypatch):
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    kernel = of_vectors(lambda a, b: (a * b + a - b) * (a + 0.25), lanes=lanes)
    a, b = (np.random.default_rng(seed).standard_normal(128).astype("float32") for seed in range(2))
    a[:4] = [np.inf, -0.0, np.nan, 1e-42]
    got, expected = np.zeros(128, "float32"), np.zeros(128, "float32")
    compiled = tilecore.compile(kernel, target="cuda -arch=sm_100a")
    assert "tc_pair_mul(tc_pair_sub(tc_pair_fma(" in compiled.get_kernel_source()
    compiled(a, b, got)
    interpret(kernel.ir, a, b, expected)
    np.testing.assert_array_equal(got, expected)
