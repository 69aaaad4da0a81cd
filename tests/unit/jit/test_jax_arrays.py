"""Calls with arrays of jax: results are arrays of jax, and arrays of the caller never change."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy


def scale(dtype="float32"):
    @T.prim_func
    def scale(A: T.Tensor((4, 8), dtype), B: T.Tensor((4, 8), dtype), C: T.Tensor((4,), dtype)):
        with T.Kernel(4, threads=32) as bx:
            for j in T.Parallel(8):
                B[bx, j] = A[bx, j] * 2
            C[bx] = A[bx, 0]

    return scale


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "float8_e4m3fn"])
def test_results_are_arrays_of_jax(dtype):
    kernel = tilecore.compile(scale(dtype), target="cpu", out_idx=[1, 2])
    a = jnp.arange(32).reshape(4, 8).astype(dtype)
    b, c = kernel(a)
    assert isinstance(b, jax.Array)
    assert isinstance(c, jax.Array)
    assert b.dtype == c.dtype == a.dtype
    np.testing.assert_array_equal(np.asarray(b, np.float32), np.asarray((a * 2).astype(dtype), np.float32))
    np.testing.assert_array_equal(np.asarray(c, np.float32), np.asarray(a[:, 0], np.float32))


def test_results_without_torch_are_arrays_of_jax(monkeypatch):
    """As where torch is not installed: numpy makes the memory."""
    from tilecore.tensors import views

    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    for dtype in ("float32", "bfloat16"):
        kernel = tilecore.compile(scale(dtype), target="cpu", out_idx=[1, 2])
        b, _ = kernel(jnp.ones((4, 8), dtype))
        assert (type(b).__module__.partition(".")[0], str(b.dtype)) == ("jaxlib", dtype)
    assert isinstance(views.empty((2,), "float32"), np.ndarray)


def test_an_array_of_jax_is_never_written():
    kernel = tilecore.compile(scale(), target="cpu")
    a, b, c = jnp.ones((4, 8)), jnp.zeros((4, 8)), np.zeros(4, np.float32)
    with pytest.raises(ArgumentError, match="B is written by the kernel, and arrays of jax never change") as caught:
        kernel(a, b, c)
    assert "out_idx=1" in caught.value.hint
    assert not np.asarray(b).any()
    written = np.zeros((4, 8), np.float32)
    kernel(a, written, c)
    assert (written == 2).all()


def test_arrays_of_several_libraries_get_what_the_target_makes():
    @T.prim_func
    def add(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32"), C: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                C[i] = A[i] + B[i]

    kernel = tilecore.compile(add, target="cpu", out_idx=2)
    assert isinstance(kernel(jnp.ones(8), jnp.ones(8)), jax.Array)
    assert not isinstance(kernel(jnp.ones(8), np.ones(8, np.float32)), jax.Array)
    assert isinstance(kernel(np.ones(8, np.float32), np.ones(8, np.float32)), np.ndarray)


def test_eager_functions_take_arrays_of_jax():
    @tilecore.jit(target="cpu")
    def plus(X, amount: float = 1.5):
        N = T.const("N")
        X: T.Tensor((N,), T.float32)
        Y = T.empty((N,), T.float32)
        with T.Kernel(N, threads=32) as bx:
            Y[bx] = X[bx] + amount
        return Y

    result = plus(jnp.arange(6.0))
    assert isinstance(result, jax.Array)
    np.testing.assert_array_equal(np.asarray(result), np.arange(6, dtype=np.float32) + 1.5)
