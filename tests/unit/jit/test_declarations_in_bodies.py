"""Kernels whose parameters and outputs stand in their body: T.prim_func, eager functions, macros with a T.Kernel.

The functions have `assert` statements, whose code must be that of their source: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, LaunchError


@T.macro
def doubled_into(X, Y):
    rows, columns = X.shape
    assert rows == Y.shape[0], f"{rows} rows, and {Y.shape[0]}"
    with T.Kernel(T.ceildiv(rows, 4), threads=32) as b:
        for i, j in T.Parallel(4, columns):
            if b * 4 + i < rows:
                Y[b * 4 + i, j] = X[b * 4 + i, j] * 2.0


@T.macro
def doubled(X):
    Y = T.empty(*X.shape, dtype=X.dtype)
    doubled_into(X, Y)
    return Y


@tilecore.jit(target="cpu")
def typed_in_the_signature(X: T.Tensor[[6, 3], T.float32]):
    return doubled(X)


@tilecore.jit(target="cpu")
def of_known_sizes(X):
    N, M = T.const("N, M")
    X: T.Tensor[[N, M], T.float32]
    return doubled(X)


@tilecore.jit(target="cpu")
def of_sizes_of_the_call(X):
    n, M = T.dynamic("n"), T.const("M")
    X: T.Tensor[[n, M], T.float32]
    return doubled(X)


@tilecore.jit(target="cpu")
def strided(X):
    N, M, n, m = T.const("N, M, n, m")
    X: T.StridedTensor[[N, M], [n, m], T.float32]
    return doubled(X)


@pytest.mark.parametrize("function", [typed_in_the_signature, of_known_sizes, of_sizes_of_the_call, strided])
def test_a_kernel_in_a_macro(function):
    x = np.random.default_rng(0).random((6, 3), np.float32)
    assert function.mode == "eager"
    np.testing.assert_array_equal(function(x), x * 2)


def test_strides_are_read_off_the_tensor():
    x = np.random.default_rng(0).random((6, 2, 3, 2), np.float32)
    kernels = set()
    for view in (x[:, 0, :, 1], x[::2, 1, :, 0], x[:, 0, :, 0].copy()):
        np.testing.assert_array_equal(strided(view), view * 2)
        kernels.add(strided.compile(view).artifact.params[0].strides)
    assert len(kernels) == 3


def test_outputs_of_a_prim_func():
    @T.prim_func
    def sums(X, n: T.int32):
        m = T.dynamic("m")
        X: T.Tensor[[m], T.int32]
        total, halves = T.empty((1,), T.int32), T.empty((m * 2,), T.int32)
        with T.Kernel(threads=1):
            total[0] = n
            for i in T.serial(m):
                total[0] += X[i]
                halves[2 * i] = X[i] // 2
                halves[2 * i + 1] = X[i] - X[i] // 2
        return halves, total

    assert list(sums.attrs["tilelang_out_idx"]) == [-2, -1]
    kernel = tilecore.compile(sums, target="cpu")
    halves, total = kernel(np.arange(5, dtype=np.int32), 100)
    assert total.tolist() == [110]
    assert halves.tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
    (again,) = tilecore.par_compile([sums], target="cpu")
    assert again(np.arange(5, dtype=np.int32), 100)[1].tolist() == [110]
    with pytest.raises(ValueError, match="Out index conflict"):
        tilecore.compile(sums, target="cpu", out_idx=[-1])


def test_what_a_body_may_not_declare():
    with pytest.raises(LanguageError, match="parameter 'Y' of kernel has no annotation"):

        @T.prim_func
        def kernel(X: T.Tensor((4,), "int32"), Y):
            with T.Kernel(1):
                X[0] = 1

    with pytest.raises(LanguageError, match="used before it is declared"):

        @T.prim_func
        def early(X):
            with T.Kernel(1):
                X[0] = 1

    with pytest.raises(LanguageError, match="is declared twice"):

        @T.prim_func
        def twice(X: T.Tensor((4,), "int32")):
            X: T.Tensor((8,), "int32")
            with T.Kernel(1):
                X[0] = 1

    with pytest.raises(LanguageError, match="does not return"):

        @T.prim_func
        def lost():
            Y = T.empty((4,), "int32")
            with T.Kernel(1):
                Y[0] = 1


def test_sizes_are_known_before_the_tensors_are_declared():
    @tilecore.jit(target="cpu")
    def tiles(A, B, block=32):
        M, K = T.const("M K")
        count = T.ceildiv(K, block)
        count = count * 2 if K % 64 == 0 else count
        A: T.Tensor((M, K // 2), T.float32)
        B: T.Tensor((K,), T.float32)
        C = T.empty((M, count), T.float32)
        with T.Kernel(M) as b:
            for i in T.Parallel(count):
                C[b, i] = A[b, 0] + B[i]
        return C

    a, b = np.ones((3, 32), np.float32), np.arange(64, dtype=np.float32)
    for result in (tiles(a, b), tiles.compile(M=3, K=64)(a, b), tiles.compile(M=3, K=64, block=32)(a, b)):
        np.testing.assert_array_equal(result, np.tile(b[:4] + 1, (3, 1)))


def test_further_keywords_are_values():
    @tilecore.jit(target="cpu")
    def filled(A, block=4, **options):
        M = T.const("M")
        A: T.Tensor((M,), T.float32)
        with T.Kernel(T.ceildiv(M, block)) as b:
            for i in T.Parallel(block):
                A[b * block + i] = options["value"] + options.get("more", 0)

    a = np.zeros(6, np.float32)
    filled(a, value=2.5)
    assert a.tolist() == [2.5] * 6
    filled(a, more=1, value=3, block=2)
    assert a.tolist() == [4.0] * 6
    assert filled.compile(M=6, value=1.0).artifact.params[0].shape == (6,)


def test_an_assertion_in_front_of_the_kernel():
    @tilecore.jit(target="cpu")
    def copied(A, B):
        n, m = T.dynamic("n m")
        A: T.Tensor((n,), T.int32)
        B: T.Tensor((m,), T.int32)
        assert A.shape[0] == n  # always holds
        assert n == m, "sizes differ"
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = A[i]

    a, b = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    copied(a, b)
    assert b.tolist() == a.tolist()
    with pytest.raises(LaunchError, match="sizes differ"):
        copied(a, np.zeros(6, np.int32))
    assert copied.get_tir(a, b).script().count("assert(") == 1
    with pytest.raises(AssertionError, match="never"):

        @T.prim_func
        def wrong(A: T.Tensor((4,), "int32")):
            assert A.shape[0] == 5, "never"
            with T.Kernel(1):
                A[0] = 1

    with pytest.raises(LanguageError, match=r"T.device_assert stands behind the last T.Kernel"):

        @T.prim_func
        def late(A: T.Tensor((4,), "int32"), n: T.int32):
            with T.Kernel(1):
                A[0] = n
            assert n > 1


def test_which_functions_are_kernels():
    def factory(torch_like):
        torch_like.empty(4)
        return typed_in_the_signature

    def with_inner():
        @T.prim_func
        def kernel(X: T.Tensor((4,), "int32")):
            with T.Kernel(1):
                X[0] = 1

        return kernel

    assert tilecore.jit(factory).mode == "lazy"
    assert tilecore.jit(with_inner).mode == "lazy"
