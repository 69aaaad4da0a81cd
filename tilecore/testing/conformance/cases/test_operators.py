"""Operators and Python's functions on values of all types, with literals and with each other."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, close, element, every_value, same, sample, zeros


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int8", "uint8", "int64"])
def test_powers_absolute_values_and_rounding(target, dtype):
    n = 40

    @T.prim_func
    def kernel(A: T.Tensor((n,), dtype), Y: T.Tensor((7, n), dtype)):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[0, i] = A[i] ** 0
                Y[1, i] = A[i] ** 1
                Y[2, i] = A[i] ** 2
                Y[3, i] = A[i] ** 5
                Y[4, i] = abs(A[i])
                Y[5, i] = round(A[i])
                Y[6, i] = +(abs(-A[i]) ** 3)

    a = sample(dtype, n)
    _, y = check(kernel, target, a, zeros(dtype, (7, n)), compare=lambda g, w, label: close(g, w, 2, label))
    same(y[0], np.ones(n, element(dtype)))
    same(y[1], a)
    same(y[2], a * a)
    same(y[4], np.abs(a))
    same(y[5], np.round(a.astype(np.float64)).astype(a.dtype))


def test_powers_of_floats(target):
    @T.prim_func
    def kernel(A: T.Tensor((30,), "float32"), Y: T.Tensor((4, 30), "float32")):
        with T.Kernel(1):
            v = T.alloc_var("float32", init=1.5)
            for i in T.Parallel(30):
                Y[0, i] = A[i] ** 0.5
                Y[1, i] = A[i] ** -1
                Y[2, i] = 2 ** A[i]
                Y[3, i] = v**2 + abs(v) ** A[i]

    a = np.abs(sample("float32", 30)) + np.float32(0.1)
    _, y = check(kernel, target, a, zeros("float32", (4, 30)), compare=lambda g, w, label: close(g, w, 8, label))
    close(y[0], np.sqrt(a), 8)
    close(y[1], 1 / a, 8)


@pytest.mark.parametrize("a", ["int8", "uint8", "int16", "float16", "bfloat16", "float8_e4m3fn", "bool"])
@pytest.mark.parametrize("b", ["uint8", "int32", "float16", "bfloat16", "float8_e5m2", "bool"])
def test_mixed_types(target, a, b):
    """The value in the common type, not in a narrower one; literals too."""
    n = 32

    @T.prim_func
    def kernel(A: T.Tensor((n,), a), B: T.Tensor((n,), b), Y: T.Tensor((6, n), "float64"), C: T.Tensor((4, n), "bool")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[0, i] = A[i] + B[i]
                Y[1, i] = T.max(A[i], B[i])
                Y[2, i] = T.min(A[i], B[i]) * 2
                Y[3, i] = A[i] * 1.5
                Y[4, i] = T.max(A[i], 0.75)
                Y[5, i] = T.if_then_else(i % 2 == 0, A[i], B[i]) - 1
                C[0, i] = A[i] < B[i]
                C[1, i] = A[i] == B[i]
                C[2, i] = A[i] >= 1
                C[3, i] = A[i] != 0.5

    args = (sample(a, n), sample(b, n, 1), zeros("float64", (6, n)), zeros("bool", (4, n)))
    *_, y, _ = check(kernel, target, *args)
    wide = sample(a, n).astype(np.float64)
    if a in ("float16", "bfloat16", "float8_e4m3fn"):
        same(y[3], (wide * 1.5).astype(np.float32).astype(np.float64))
    same(y[4], np.maximum(wide, 0.75))


def test_all_pairs_of_8_bit_integers(target):
    """Signed and unsigned of one width: unsigned, as in C."""
    x, y = np.meshgrid(every_value("int8"), every_value("uint8"))
    n = x.size

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int8"), B: T.Tensor((n,), "uint8"), Y: T.Tensor((2, n), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[0, i] = A[i] + B[i]
                Y[1, i] = T.max(A[i], B[i])

    a, b = x.ravel(), y.ravel()
    *_, got = check(kernel, target, a, b, zeros("int32", (2, n)))
    same(got[0], (a.view(np.uint8) + b).astype(np.int32))
    same(got[1], np.maximum(a.view(np.uint8), b).astype(np.int32))


CONSTANTS = {
    "uint8": (lambda of: [-of(1), of(0) - of(1), of(255) + of(2), of(16) * of(17)], [255, 255, 1, 16]),
    "int8": (lambda of: [of(127) + of(1), of(-128) - of(1), of(-128) * of(-1), -of(-128)], [-128, 127, -128, -128]),
    "uint64": (
        lambda of: [-of(1), of(1) - of(2), of(2**63) + of(2**63), of(2**63) * of(3)],
        [2**64 - 1, 2**64 - 1, 0, 2**63],
    ),
}


@pytest.mark.parametrize("dtype", CONSTANTS)
def test_arithmetic_of_constants_wraps(target, dtype):
    values, results = CONSTANTS[dtype]

    @T.prim_func
    def kernel(X: T.Tensor((4,), dtype)):
        with T.Kernel(1):
            for number, value in enumerate(values(lambda n: T.cast(n, dtype))):
                X[number] = value

    (got,) = check(kernel, target, zeros(dtype, 4))
    same(got, np.array(results, element(dtype)))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_shifts_of_constants_have_their_own_width(target, dtype):
    """By amounts that are known at the call: nothing but the constant's type says how many bits there are."""
    bits = np.dtype(dtype).itemsize * 8

    @T.prim_func
    def kernel(S: T.Tensor((bits,), dtype), Y: T.Tensor((3, bits), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(bits):
                Y[0, i] = T.cast(1, dtype) << S[i]
                Y[1, i] = T.cast(2 ** (bits - 2) + 5, dtype) >> S[i]
                Y[2, i] = (T.cast(3, dtype) << S[i]) - T.cast(1, dtype)

    amounts = np.arange(bits).astype(dtype)
    _, y = check(kernel, target, amounts, zeros(dtype, (3, bits)))
    assert [int(value) % 2**bits for value in y[0]] == [2**i for i in range(bits)]
    assert [int(value) for value in y[1]] == [(2 ** (bits - 2) + 5) >> i for i in range(bits)]
