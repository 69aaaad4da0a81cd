"""Eager kernels: the body is the kernel, and the tensors of the call decide what is compiled."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LanguageError, TilecoreError
from tilecore.jit.eager import EagerKernel
from tilecore.jit.kernel import JITKernel


@tilecore.jit(target="cpu")
def affine(X, factor=2, shift: T.float32 = 0.0, extra=[1, 2]):  # noqa: B006 - lists count by what is in them
    M, N = T.const("M, N")
    X: T.Tensor((M, N), T.float32)
    Y = T.empty((M, N), T.float32)
    Z = T.empty((N, 2), T.int8)
    with T.Kernel(M) as b:
        for j in T.Parallel(N):
            Y[b, j] = X[b, j] * factor + shift + extra[0]
        for i, j in T.Parallel(N, 2):
            Z[i, j] = extra[1]
    return Y, Z


ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def elaborations(monkeypatch):
    """How often bodies were run."""
    seen = []
    real = EagerKernel.elaborated
    monkeypatch.setattr(EagerKernel, "elaborated", lambda self, types: seen.append(types) or real(self, types))
    affine.forget_kernels()
    return seen


def test_outputs_in_the_order_returned_and_of_the_callers_library():
    y, z = affine(ARRAY)
    assert (type(y), type(z)) == (np.ndarray, np.ndarray)
    np.testing.assert_array_equal(y, ARRAY * 2 + 1, strict=True)
    np.testing.assert_array_equal(z, np.full((3, 2), 2, np.int8), strict=True)
    y, z = affine(X=torch.from_numpy(ARRAY), factor=3)
    torch.testing.assert_close(y, torch.from_numpy(ARRAY * 3 + 1))
    assert (z.dtype, tuple(z.shape)) == (torch.int8, (3, 2))


def test_one_kernel_for_each_shape_and_value(elaborations):
    affine(ARRAY)
    affine(torch.from_numpy(ARRAY))
    affine(ARRAY, 2)
    affine(ARRAY, factor=2, extra=[1, 2])
    assert len(elaborations) == 1
    for args in ((ARRAY.T.copy(),), (ARRAY, 3), (ARRAY, 2.0), (ARRAY, True), (ARRAY, 2, 0.0, [1, 3])):
        affine(*args)
    assert len(elaborations) == 6
    assert (affine(ARRAY.T.copy())[0] == ARRAY.T * 2 + 1).all()


def test_a_scalar_of_the_kernel_is_passed_at_the_call(elaborations):
    for shift in (0, 1.5, -2, np.float32(3), np.int64(4), torch.tensor(5.0), np.array(6.0)):
        assert (affine(ARRAY, 2, shift)[0] == ARRAY * 2 + 1 + float(shift)).all()
    assert len(elaborations) == 1
    assert affine.compile(ARRAY, shift=7.0) is affine.compile(ARRAY, shift=8.0)
    for wrong in ("a", None, torch.zeros(2, 3)):
        with pytest.raises(TilecoreError, match="shift"):
            affine(ARRAY, 2, wrong)


def test_numbers_of_numpy_are_numbers():
    assert (affine(ARRAY, np.float32(3))[0] == ARRAY * 3 + 1).all()
    assert (affine(ARRAY, np.int16(3), extra=[np.int8(5), 1])[0] == ARRAY * 3 + 5).all()
    assert affine.compile(ARRAY, np.int64(3)) is affine.compile(ARRAY, 3)
    assert (affine(ARRAY, ml_dtypes.bfloat16(3))[0] == ARRAY * 3 + 1).all()


def test_a_mutable_default_counts_by_what_is_in_it_now():
    default = affine.__wrapped__.__defaults__[2]
    first = affine.compile(ARRAY)
    default[0] = 9
    try:
        assert (affine(ARRAY)[0] == ARRAY * 2 + 9).all()
    finally:
        default[0] = 1
    assert affine.compile(ARRAY) is first


def test_types_of_elements():
    @tilecore.jit(target="cpu")
    def negated(X):
        N = T.const("N")
        X: T.Tensor((N,), X.dtype)
        Y = T.empty((N,), X.dtype)
        with T.Kernel(1):
            for i in T.Parallel(N):
                Y[i] = -X[i]
        return Y

    for kind in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int64):
        x = np.arange(5).astype(kind)
        np.testing.assert_array_equal(negated(x), -x, strict=True)
    assert len(negated._eager._kernels) == 6


def test_tensors_may_be_written_and_returned_is_nothing():
    @tilecore.jit(target="cpu")
    def copied(X: T.Tensor((4,), "int32"), Y: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            T.copy(X, Y)

    y = np.zeros(4, np.int32)
    assert copied(np.arange(4, dtype=np.int32), y) is None
    assert y.tolist() == [0, 1, 2, 3]


def test_dynamic_sizes_share_one_kernel():
    N = T.dynamic("n")

    @tilecore.jit(target="cpu")
    def doubled(X):
        X: T.Tensor((N,), "float32")
        Y = T.empty((N,), "float32")
        with T.Kernel(T.ceildiv(N, 4)) as b:
            for i in T.Parallel(4):
                Y[b * 4 + i] = X[b * 4 + i] * 2
        return Y

    for n in (1, 4, 7):
        x = np.arange(n, dtype=np.float32)
        assert (doubled(x) == 2 * x).all()
    assert doubled.compile(np.zeros(3, "f4")) is doubled.compile(T.Tensor((9,), "float32"))


def test_the_methods():
    kernel = affine.compile(T.Tensor((2, 3), "float32"))
    assert isinstance(kernel, JITKernel)
    assert kernel is affine.compile(ARRAY)
    assert [p.name for p in kernel.params] == ["X", "shift", "Y", "Z"]
    assert kernel.out_idx == [2, 3]
    assert affine.get_kernel_source(ARRAY) == kernel.get_kernel_source()
    assert [str(p.name) for p in affine.get_tir(ARRAY).params] == ["X", "shift", "Y", "Z"]
    assert repr(affine) == "<tilecore.jit eager affine>"


@pytest.mark.parametrize(
    ("value", "message", "expected"),
    [
        (ARRAY[0], r"affine\(\): X has 1 axis, 2 expected", "(M, N)"),
        (ARRAY[None], r"affine\(\): X has 3 axes, 2 expected", "(M, N)"),
        (ARRAY.astype(np.float64), "X has the wrong dtype", "float32"),
        (torch.zeros(2, 3, dtype=torch.int32), "X has the wrong dtype", "float32"),
        (ARRAY.astype(np.complex64), "parameter 'X': unknown dtype", None),
        (ARRAY.astype("U3"), "parameter 'X': unknown dtype", None),
        (None, "X must be a tensor", None),
        ([[1.0]], "X must be a tensor", None),
        (3.0, "X must be a tensor", None),
    ],
    ids=["1 axis", "3 axes", "float64", "int32", "complex", "text", "None", "list", "float"],
)
def test_tensors_that_do_not_fit(value, message, expected):
    with pytest.raises((LanguageError, ArgumentError), match=message) as caught:
        affine(value)
    assert caught.value.location is not None or expected is None
    assert expected is None or caught.value.expected == expected


def test_a_constant_size_is_checked():
    @tilecore.jit(target="cpu")
    def four(X: T.Tensor((4, T.const("N")), "int32")):
        with T.Kernel(1):
            T.fill(X, 1)

    four(np.zeros((4, 3), np.int32))
    with pytest.raises(ArgumentError, match=r"four\(\): X.shape\[0\] is 5"):
        four(np.zeros((5, 3), np.int32))


def test_one_size_cannot_have_two_values():
    @tilecore.jit(target="cpu")
    def both(X, Y):
        N = T.const("N")
        X: T.Tensor((N,), "int32")
        Y: T.Tensor((N,), "int32")
        with T.Kernel(1):
            T.copy(X, Y)

    with pytest.raises(LanguageError, match="N"):
        both(np.zeros(4, np.int32), np.zeros(5, np.int32))


def test_memory_is_checked_at_the_call():
    with pytest.raises(ArgumentError, match="X is not contiguous"):
        affine(ARRAY.T)
    with pytest.raises(ArgumentError, match="meta device"):
        affine(torch.zeros(2, 3, device="meta"))
    with pytest.raises(TypeError):
        affine()
    with pytest.raises(TypeError):
        affine(ARRAY, 2, 0.0, [1, 2], 5)


def test_a_tensor_that_is_not_declared():
    @tilecore.jit(target="cpu")
    def used(X, scale):
        N = T.const("N")
        X: T.Tensor((N,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(N):
                X[i] = X[i] * scale

    @tilecore.jit(target="cpu")
    def unused(X, other):
        X: T.Tensor((4,), "float32")
        with T.Kernel(1):
            T.fill(X, 1)

    x = np.ones(4, np.float32)
    with pytest.raises(LanguageError, match="parameter 'scale' is used before it is declared") as caught:
        used(x, x)
    assert caught.value.location is not None
    with pytest.raises(LanguageError, match="parameter 'other' of unused is not declared"):
        unused(x, x)
    used(x, 3.0)
    assert (x == 3).all()


def test_outputs_that_are_not_returned_or_not_made():
    @tilecore.jit(target="cpu")
    def forgotten(X: T.Tensor((4,), "float32")):
        Y = T.empty((4,), "float32")
        with T.Kernel(1):
            T.copy(X, Y)

    @tilecore.jit(target="cpu")
    def given_back(X: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            T.fill(X, 1)
        return X

    x = np.ones(4, np.float32)
    with pytest.raises(LanguageError, match=r"makes an output with T\.empty that it does not return"):
        forgotten(x)
    with pytest.raises(LanguageError, match="returns a value that is not an output"):
        given_back(x)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"affine\(\): an argument is missing: X"),
        ((), {"factor": 2}, r"affine\(\): an argument is missing: X"),
        ((ARRAY, 1, 2.0, [1], 5), {}, r"affine\(\): too many positional arguments"),
        ((ARRAY,), {"X": ARRAY}, r"affine\(\): multiple values for argument 'X'"),
        ((ARRAY,), {"D": ARRAY}, r"D=ndarray of shape \(2, 3\) is no size, and 'D' is no parameter"),
        ((ARRAY,), {"D": np.ndarray}, r"D=<class 'numpy\.ndarray'> is no size, and 'D' is no parameter"),
    ],
)
def test_a_call_that_does_not_fit_names_the_argument(args, kwargs, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        affine(*args, **kwargs)
    assert "affine" in str(caught.value.expected) or "X" in str(caught.value.expected)


def test_an_output_that_is_not_returned_is_named():
    @tilecore.jit(target="cpu")
    def forgets(X):
        X: T.Tensor((2, 3), T.float32)
        Y, Z = T.empty((2, 3), T.float32), T.empty((2, 3), T.float32)
        with T.Kernel(1):
            T.copy(X, Y)
            T.copy(X, Z)
        return Z

    with pytest.raises(LanguageError, match=r"makes an output with T\.empty that it does not return") as caught:
        forgets(ARRAY)
    assert (caught.value.found, caught.value.expected) == ("Y; returned: Z", "return Y, Z")


def test_sizes_that_are_known_are_pythons_integers_in_the_kernel():
    kinds = []

    @tilecore.jit(target="cpu")
    def by_size(X):
        M, N = T.const("M, N")
        X: T.Tensor((M, N), T.float32)
        Y = T.empty((M, N), T.float32)
        kinds.append(type(2 * (N // 2)) if isinstance(N, int) else None)
        factor = {2: 10, 3: 100}[N] if f"{M:>3d}" == "  2" else N.bit_length()
        with T.Kernel(1):
            for i, j in T.Parallel(M, N):
                Y[i, j] = X[i, j] * factor
        return Y

    np.testing.assert_array_equal(by_size(ARRAY), ARRAY * 100)
    np.testing.assert_array_equal(by_size(ARRAY[:1]), ARRAY[:1] * 2)
    assert kinds == [int, int]


def test_parameters_in_front_of_a_slash():
    @tilecore.jit(target="cpu")
    def added(A, by, /, B, times=1):
        n = T.const("n")
        A: T.Tensor((n,), "int32")
        B: T.Tensor((n,), "int32")
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = A[i] * times + by

    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    for _ in range(2):
        added(a, 5, b, times=2)
        assert b.tolist() == [5, 7, 9, 11]
    with pytest.raises(ArgumentError, match=r"positional.only"):
        added(a, B=b, by=5)
