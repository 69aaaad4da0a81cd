"""Kernels compiled for Windows, run: how they take arguments, call the C library, print, fail and share threads."""

from __future__ import annotations

import numpy as np
import pytest
import windows_calls
from test_systems import many_functions

import tilecore
import tilecore.language as T
from tilecore.demo import kernels

WINDOWS = "cpu -system=windows -cache_bytes=0"


@pytest.fixture
def on_windows(monkeypatch):
    return windows_calls.install(monkeypatch)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_the_c_library(on_windows, dtype, capfd):
    x = np.linspace(0.1, 0.9, 8).astype(dtype)
    results = np.zeros((32, 8), dtype)
    kernel = tilecore.compile(many_functions(dtype), target=WINDOWS)
    assert kernel.artifact.target.count("-system=windows") == 1
    kernel(x, results)
    unary = [np.exp, np.exp2, lambda v: 10.0**v, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan]
    unary += [np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh]
    wide = x.astype("float64")
    expected = [function(wide) for function in unary]
    np.testing.assert_allclose(results[:17], expected, rtol=1e-5 if dtype == "float32" else 1e-12)
    np.testing.assert_allclose(results[18], np.arctanh(wide), rtol=1e-5)
    np.testing.assert_array_equal(results[20:25], [np.floor(x), np.ceil(x), np.trunc(x), np.round(x), np.rint(x)])
    pairs = [np.power, np.arctan2, np.fmod, np.hypot]
    np.testing.assert_allclose(results[25:29], [f(wide, wide[::-1]) for f in pairs], rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(results[29], np.nextafter(x, x[::-1]))
    np.testing.assert_array_equal(results[30], x * 8)
    np.testing.assert_array_equal(results[31], x[(np.arange(8) * 496 + 96) % 8])
    assert capfd.readouterr().out.split("\n")[:2] == ["second: 0.214286", "3: 3"]


def test_an_assertion(on_windows):
    with pytest.raises(tilecore.errors.LaunchError, match="not positive"):
        tilecore.compile(many_functions("float32"), target=WINDOWS)(
            -np.ones(8, np.float32), np.ones((32, 8), np.float32)
        )


@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 128), (70, 33, 130)])
def test_products(on_windows, m, n, k):
    a, b = (np.random.default_rng(0).standard_normal(shape, np.float32) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float32)
    tilecore.compile(kernels.matmul.func(m, n, k), target=WINDOWS)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_many_arguments_of_all_types(on_windows):
    n = T.dynamic("n")

    @T.prim_func
    def mixed(A: T.Tensor((n,), "float16"), s: T.float64, t: T.int64, u: T.float32, B: T.Tensor((n,), "float64")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            for i in T.Parallel(32):
                if bx * 32 + i < n:
                    B[bx * 32 + i] = T.cast(A[bx * 32 + i], "float64") * s + t + u

    a, b = np.arange(100, dtype=np.float16), np.zeros(100)
    tilecore.compile(mixed, target=WINDOWS)(a, 0.1, 2**40, 0.5, b)
    np.testing.assert_array_equal(b, a.astype(np.float64) * 0.1 + float(2**40) + 0.5)


def test_registers_that_windows_keeps_are_kept(on_windows):
    """The tests' own callers are compiled for xmm6 to xmm15, rsi and rdi to survive: many live values in a kernel."""

    @T.prim_func
    def busy(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(4, threads=16) as bx:
            sums = T.alloc_local((16,), "float32")
            T.clear(sums)
            for j in T.serial(64):
                for i in T.unroll(16):
                    sums[i] += A[bx * 16 + i, j] * A[bx * 16 + (i + 1) % 16, j]
            for i in T.serial(16):
                B[bx * 16 + i] = sums[i]

    a, b = np.random.default_rng(1).standard_normal((64, 64), np.float32), np.zeros(64, np.float32)
    tilecore.compile(busy, target=WINDOWS)(a, b)
    blocks = a.reshape(4, 16, 64)
    np.testing.assert_allclose(b, (blocks * np.roll(blocks, -1, 1)).sum(2).reshape(-1), rtol=1e-4, atol=1e-4)
