"""Kernels for the tests of operations of torch, on the processor."""

from __future__ import annotations

import itertools

import tilecore
import tilecore.language as T

N, M = T.dynamic("n"), T.dynamic("m")
_numbers = itertools.count()


def fresh_name() -> str:
    """The name of an operation that no other test has."""
    return f"tilecore_tests::op{next(_numbers)}"


@T.prim_func
def scale(A: T.Tensor((N,), "float32"), s: T.float32, B: T.Tensor((N,), "float32")):
    """B = A * s."""
    with T.Kernel(T.ceildiv(N, 64)) as block:
        for i in T.Parallel(64):
            if block * 64 + i < N:
                B[block * 64 + i] = A[block * 64 + i] * s


@T.prim_func
def scale_gradient(dB: T.Tensor((N,), "float32"), s: T.float32, dA: T.Tensor((N,), "float32")):
    with T.Kernel(T.ceildiv(N, 64)) as block:
        for i in T.Parallel(64):
            if block * 64 + i < N:
                dA[block * 64 + i] = dB[block * 64 + i] * s


@T.prim_func
def sum_and_difference(
    A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32"),
    S: T.Tensor((M, N), "float32"), D: T.Tensor((M + 1, N * 2), "float16"),
):  # fmt: skip
    """S = A + B; D, larger, has A - B and zeros."""
    with T.Kernel(M + 1) as row:
        for _ in T.Parallel(1):
            for k in T.serial(N * 2):
                D[row, k] = T.float16(0)
            for k in T.serial(N):
                if row < M:
                    S[row, k] = A[row, k] + B[row, k]
                    D[row, k] = T.cast(A[row, k] - B[row, k], "float16")


@T.prim_func
def add_into(A: T.Tensor((8, N), "float32"), count: T.int32, C: T.Tensor((8, N), "float32")):
    """C += A * count."""
    with T.Kernel(8) as row:
        for k in T.serial(N):
            C[row, k] = C[row, k] + A[row, k] * T.cast(count, "float32")


@T.prim_func
def product(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
    with T.Kernel(1):
        for i in T.serial(N):
            C[i] = A[i] * B[i]


@T.prim_func
def product_gradient(
    A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), grad_C: T.Tensor((N,), "float32"),
    A_grad: T.Tensor((N,), "float32"), dB: T.Tensor((N,), "float32"),
):  # fmt: skip
    with T.Kernel(1):
        for i in T.serial(N):
            A_grad[i] = grad_C[i] * B[i]
            dB[i] = grad_C[i] * A[i]


def compiled(func, out_idx=None):
    return tilecore.compile(func, target="cpu", out_idx=out_idx)


def scaled():
    """The operation of scale, with all rules."""
    return compiled(scale, -1).torch_op("tilecore_tests::scaled", backward=compiled(scale_gradient, -1), vmap="loop")


def multiplied():
    """That of product."""
    backward = compiled(product_gradient, [3, 4])
    return compiled(product, -1).torch_op("tilecore_tests::multiplied", backward=backward, vmap="loop")
