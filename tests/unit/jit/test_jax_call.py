"""Kernels in programs of jax (tilecore.jax_call): jit, sizes, scalars, workspaces, gradients, vmap and errors."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, ToolchainError, UnsupportedError
from tilecore.simulate.compilers import find_compiler

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy


@pytest.fixture(scope="module", autouse=True)
def compiler():
    try:
        find_compiler()
    except ToolchainError as error:
        pytest.skip(str(error))


m = T.dynamic("m")


@T.prim_func
def scaled(A: T.Tensor((m, 8), "float32"), factor: T.float32, shift: T.int32, B: T.Tensor((m, 8), "float32")):
    with T.Kernel(T.ceildiv(m, 4), threads=32) as bx:
        for i, j in T.Parallel(4, 8):
            B[bx * 4 + i, j] = A[bx * 4 + i, j] * factor + shift


@T.prim_func
def sums(A: T.Tensor((16, 32), "float32"), B: T.Tensor((16, 32), "float32"), S: T.Tensor((16,), "float32"),
         D: T.Tensor((16, 32), "bfloat16")):  # fmt: skip
    with T.Kernel(16, threads=32) as bx:
        row = T.alloc_fragment((32,), "float32")
        total = T.alloc_fragment((1,), "float32")
        for j in T.Parallel(32):
            row[j] = A[bx, j] + B[bx, j]
            D[bx, j] = A[bx, j] - B[bx, j]
        T.reduce_sum(row, total, dim=0)
        S[bx] = total[0]


@pytest.fixture(scope="module")
def scale():
    return tilecore.compile(scaled, target="cpu", out_idx=-1)


def arange(*shape):
    return jnp.arange(np.prod(shape), dtype=jnp.float32).reshape(shape)


def test_inside_of_jit(scale):
    @jax.jit
    def program(x):
        return tilecore.jax_call(scale, x + 1, 2.0, -3) * 10

    for rows in (5, 8, 1):
        x = arange(rows, 8)
        result = program(x)
        assert isinstance(result, jax.Array)
        np.testing.assert_array_equal(np.asarray(result), ((np.asarray(x) + 1) * 2 - 3) * 10)


def test_without_jit_and_without_rows(scale):
    np.testing.assert_array_equal(np.asarray(tilecore.jax_call(scale, arange(3, 8), 0.5, 1)), arange(3, 8) * 0.5 + 1)
    assert tilecore.jax_call(scale, arange(0, 8), 0.5, 1).shape == (0, 8)


def test_several_results_of_several_types():
    kernel = tilecore.compile(sums, target="cpu", out_idx=[2, 3])
    a, b = arange(16, 32), arange(16, 32) * 2
    total, difference = jax.jit(lambda a, b: tilecore.jax_call(kernel, a, b))(a, b)
    np.testing.assert_allclose(np.asarray(total), np.asarray(a + b).sum(1), rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(difference), np.asarray((a - b).astype(jnp.bfloat16)))


def test_memory_of_its_own():
    @T.prim_func
    def twice(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        between = T.alloc_global((64,), "float32")
        with T.Kernel(2, threads=32) as bx:
            for i in T.Parallel(32):
                between[bx * 32 + i] = A[bx * 32 + i] + 1
        with T.Kernel(2, threads=32) as bx:
            for i in T.Parallel(32):
                B[bx * 32 + i] = between[63 - bx * 32 - i] * 2

    kernel = tilecore.compile(twice, target="cpu", out_idx=1)
    assert kernel.artifact.workspaces
    x = arange(64)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: tilecore.jax_call(kernel, x))(x)), (x[::-1] + 1) * 2)


def test_gradients_by_the_declared_rule(scale):
    def backward(args, results, gradients):
        (x,), (y,), (gradient,) = args, results, gradients
        assert x.shape == y.shape == gradient.shape
        return (tilecore.jax_call(scale, gradient, 3.0, 0),)

    @jax.jit
    def loss(x):
        return (tilecore.jax_call(scale, x, 3.0, 1, backward=backward) ** 2).sum()

    x = arange(4, 8) / 7
    expected = jax.grad(lambda x: ((x * 3 + 1) ** 2).sum())(x)
    np.testing.assert_allclose(np.asarray(jax.grad(loss)(x)), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("wrapped", [lambda f: f, jax.jit], ids=["bare", "jit"])
def test_gradients_without_a_rule_are_refused(scale, wrapped):
    loss = wrapped(lambda x: tilecore.jax_call(scale, x, 3.0, 1).sum())
    with pytest.raises(UnsupportedError, match="cannot be differentiated without a rule") as caught:
        jax.grad(loss)(arange(4, 8))
    assert "backward=function" in caught.value.expected
    constant = jax.grad(lambda x: x.sum() * loss(jax.lax.stop_gradient(x)))(arange(4, 8))
    assert constant.shape == (4, 8)


def test_a_backward_of_another_number_of_gradients(scale):
    call = lambda x: tilecore.jax_call(scale, x, 3.0, 1, backward=lambda *_: (None, None)).sum()  # noqa: E731
    with pytest.raises(ArgumentError, match="another number of arguments"):
        jax.grad(call)(arange(4, 8))


def test_vmap_by_a_loop_and_by_a_rule(scale):
    x = arange(3, 4, 8)
    expected = np.asarray(x) * 2 + 1
    loop = jax.jit(jax.vmap(lambda x: tilecore.jax_call(scale, x, 2.0, 1, vmap="loop")))
    np.testing.assert_array_equal(np.asarray(loop(x)), expected)
    used = []

    def rule(axis_size, in_batched, x):
        used.append((axis_size, in_batched))
        flat = tilecore.jax_call(scale, x.reshape(-1, 8), 2.0, 1)
        return (flat.reshape(axis_size, -1, 8),), (True,)

    ruled = jax.vmap(lambda x: tilecore.jax_call(scale, x, 2.0, 1, vmap=rule))
    np.testing.assert_array_equal(np.asarray(ruled(x)), expected)
    assert used == [(3, [True])]


def test_vmap_without_a_rule_is_refused(scale):
    call = lambda x: tilecore.jax_call(scale, x, 2.0, 1)  # noqa: E731
    with pytest.raises(UnsupportedError, match=r"cannot be mapped by jax\.vmap") as caught:
        jax.vmap(call)(arange(3, 4, 8))
    assert 'vmap="loop"' in caught.value.expected
    with pytest.raises(NotImplementedError):
        jax.vmap(jax.jit(call))(arange(3, 4, 8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((jnp.ones((4, 7)), 2.0, 1), "7"),
        ((jnp.ones((4, 8), jnp.float16), 2.0, 1), "float16"),
        ((jnp.ones(8), 2.0, 1), "1 axis, 2 expected"),
        ((jnp.ones((4, 8)), 2.0), "got 2 arguments"),
        ((jnp.ones((4, 8)),), r"got 1 argument\n"),
        ((jnp.ones((4, 8)), 2.0, 1.5), "shift"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_where_the_program_is_traced(scale, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        jax.jit(lambda: tilecore.jax_call(scale, *arguments))()


@pytest.mark.parametrize("value", [None, "x", object()], ids=["None", "text", "object"])
def test_values_that_are_no_arrays(scale, value):
    with pytest.raises(ArgumentError, match="A must be a tensor"):
        tilecore.jax_call(scale, value, 2.0, 1)


def test_numbers_that_jax_traces(scale):
    program = jax.jit(lambda x, factor: tilecore.jax_call(scale, x, factor, 1))
    with pytest.raises(ArgumentError, match="factor is a scalar of the kernel, and jax traces it") as caught:
        program(arange(4, 8), 2.0)
    assert 'static_argnames="factor"' in caught.value.hint
    assert jax.jit(program.__wrapped__, static_argnames="factor")(arange(4, 8), factor=2.0)[0, 1] == 3


def test_what_is_no_kernel(scale):
    @tilecore.jit(target="cpu")
    def eager(X):
        n = T.const("n")
        X: T.Tensor[[n], T.float32]
        Y = T.empty((n,), T.float32)
        with T.Kernel(1, threads=32):
            for i in T.serial(n):
                Y[i] = X[i] * 2
        return Y

    for value, hint in ((eager, "kernel = eager.compile(...)"), (scaled, None), (np.sin, None), (3, None)):
        with pytest.raises(ArgumentError, match="takes a compiled kernel") as caught:
            tilecore.jax_call(value, arange(4))
        assert (hint is None and caught.value.hint is None) or hint in caught.value.hint
    assert tilecore.jax_call(eager.compile(n=4), arange(4)).tolist() == [0, 2, 4, 6]
    with pytest.raises(TypeError, match="unexpected keyword argument 'vmapp'") as caught:
        tilecore.jax_call(scale, arange(4, 8), 2.0, 1, vmapp="loop")
    assert caught.value.hint == "did you mean 'vmap'?"


def test_rules_that_are_none(scale):
    with pytest.raises(ArgumentError, match="vmap cannot be this"):
        tilecore.jax_call(scale, arange(4, 8), 1.0, 0, vmap="each")
    with pytest.raises(ArgumentError, match="backward cannot be this"):
        tilecore.jax_call(scale, arange(4, 8), 1.0, 0, backward=3)


def test_arrays_that_the_kernel_writes_are_refused():
    kernel = tilecore.compile(scaled, target="cpu")
    x = arange(4, 8)
    with pytest.raises(ArgumentError, match="B is written by the kernel, and arrays of jax never change") as caught:
        jax.jit(lambda x: tilecore.jax_call(kernel, x, 1.0, 0, x))(x)
    assert "out_idx=3" in caught.value.hint


def test_types_that_jax_would_make_smaller_are_refused():
    @T.prim_func
    def wide(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float64")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[i] = T.cast(A[i], "float64") / 3

    kernel = tilecore.compile(wide, target="cpu", out_idx=1)
    with pytest.raises(ArgumentError, match="no results of type float64") as caught:
        tilecore.jax_call(kernel, arange(8))
    assert "jax_enable_x64" in caught.value.hint


def test_interpreted_kernels_are_refused(monkeypatch):
    monkeypatch.setenv("TILECORE_INTERPRET", "1")
    kernel = tilecore.compile(scaled, target="cpu", out_idx=-1)
    with pytest.raises(UnsupportedError, match="jax_call launches kernels for the host"):
        tilecore.jax_call(kernel, arange(4, 8), 1.0, 0)


def test_a_program_cannot_launch_a_kernel_that_the_process_does_not_have():
    """As a compiled program from a cache of jax's: the number in it is of a kernel that was never registered."""
    from tilecore.jit.jax_handler import TARGET

    result = jax.ShapeDtypeStruct((4,), np.float32)
    words = np.array([12345, 1, 1, 4, 0, 0, 4, 4, 1, 1, 1, 0], np.int64)
    with pytest.raises(Exception, match="is not loaded in this process"):
        jax.ffi.ffi_call(TARGET, result)(call=words).block_until_ready()
    with pytest.raises(Exception, match="does not fit its arguments"):
        jax.ffi.ffi_call(TARGET, result)(call=words[:8]).block_until_ready()


def test_the_number_of_a_kernel_is_the_same_in_every_process(scale, tmp_path):
    from tilecore.jit.jax_handler import number_of

    path = scale.export(tmp_path / "scale.tck")
    program = (
        "import sys, tilecore\nfrom tilecore.jit.jax_handler import number_of\n"
        "print(number_of(tilecore.load_kernel(sys.argv[1]).artifact))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True, text=True, check=True, env=dict(os.environ, PYTHONHASHSEED="3"),
    )  # fmt: skip
    assert int(run.stdout) == number_of(scale.artifact)


def test_many_threads_launch_at_once(scale):
    from concurrent.futures import ThreadPoolExecutor

    program = jax.jit(lambda x: tilecore.jax_call(scale, x, 2.0, 1))
    inputs = [arange(40, 8) + number for number in range(16)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: np.asarray(program(x)), inputs))
    for x, result in zip(inputs, results, strict=True):
        np.testing.assert_array_equal(result, np.asarray(x) * 2 + 1)
