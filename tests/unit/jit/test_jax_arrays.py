"""Calls with arrays of jax: results are arrays of jax, and arrays of the caller never change."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LaunchError

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


m = T.dynamic("m")


@T.prim_func
def times(A: T.Tensor((m,), "float32"), factor: T.float32, B: T.Tensor((m,), "float32")):
    with T.Kernel(T.ceildiv(m, 8), threads=32) as bx:
        for i in T.Parallel(8):
            B[bx * 8 + i] = A[bx * 8 + i] * factor


@tilecore.jit(target="cpu")
def eager(A, factor: T.float32):
    n = T.const("n")
    A: T.Tensor[[n], T.float32]
    B = T.empty((n,), T.float32)
    with T.Kernel(1, threads=32):
        for i in T.serial(n):
            B[i] = A[i] * factor
    return B


TRACED = {
    "jit": lambda f, x: jax.jit(f)(x),
    "vmap": lambda f, x: jax.vmap(f)(x[None]),
    "grad": lambda f, x: jax.grad(lambda x: f(x).sum())(x),
    "jvp": lambda f, x: jax.jvp(f, (x,), (x,)),
    "jit of grad": lambda f, x: jax.jit(jax.grad(lambda x: f(x).sum()))(x),
    "scan": lambda f, x: jax.lax.scan(lambda carry, row: (carry, f(row)), x, x[None]),
    "eval_shape": lambda f, x: jax.eval_shape(f, x),
}


@pytest.mark.parametrize("how", TRACED)
@pytest.mark.parametrize("kind", ["kernel", "eager"])
def test_a_bare_kernel_in_a_program_of_jax_names_jax_call(kind, how):
    kernel = eager if kind == "eager" else tilecore.compile(times, target="cpu", out_idx=-1)
    with pytest.raises(LaunchError, match="is called in a program that jax traces") as caught:
        TRACED[how](lambda x: kernel(x, 2.0), jnp.ones(8))
    assert "tilecore.jax_call(kernel, A, factor)" in caught.value.expected
    assert 'vmap="loop"' in caught.value.hint
    assert caught.value.found.startswith("A, a ")
    assert "Tracer" in caught.value.found
    assert kernel(jnp.ones(8), 2.0).tolist() == [2] * 8


def test_a_number_that_jax_traces_names_jax_call():
    kernel, x = tilecore.compile(times, target="cpu", out_idx=-1), jnp.ones(8)
    with pytest.raises(LaunchError, match="jax traces") as caught:
        jax.jit(lambda factor: kernel(x, factor))(2.0)
    assert caught.value.found.startswith("factor, a ")
    assert kernel(x, jnp.float32(2)).tolist() == [2] * 8


def test_a_concrete_array_inside_of_jit_is_an_array():
    """It does not depend on what is traced."""
    kernel = tilecore.compile(times, target="cpu", out_idx=-1)
    fixed = jnp.ones(8)
    assert jax.jit(lambda x: x + kernel(fixed, 2.0))(jnp.ones(8)).tolist() == [3] * 8
