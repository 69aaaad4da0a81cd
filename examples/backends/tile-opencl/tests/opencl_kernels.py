"""Kernels of the tests, and what they are compared with: the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret


def check(func: Any, *arrays: Any, tolerance: float = 0.0) -> Any:
    """Runs ``func`` on the device and by the interpreter, and compares all arrays. Returns the kernel."""
    kernel = tilecore.compile(func, target="opencl")
    got, expected = ([a.copy() if isinstance(a, np.ndarray) else a for a in arrays] for _ in range(2))
    kernel(*got)
    interpret(func.ir, *expected)
    for mine, other in zip(got, expected, strict=True):
        if isinstance(mine, np.ndarray):
            np.testing.assert_allclose(
                mine.astype(np.float64), other.astype(np.float64), rtol=tolerance, atol=tolerance
            )
    return kernel


def matmul(m: Any, n: Any, k: Any, dtype: str = "float32", stages: int = 2) -> Any:
    @T.prim_func
    def product(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32), threads=64) as (bx, by):
            a, b = T.alloc_shared((32, 16), dtype), T.alloc_shared((16, 32), dtype)
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, 16), num_stages=stages):
                T.copy(A[by * 32, step * 16], a)
                T.copy(B[step * 16, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 32, bx * 32])

    return product


@T.prim_func
def plus_one(X: T.Tensor((100,), "float32"), Y: T.Tensor((100,), "float32")):
    with T.Kernel(4, threads=32) as b:
        for i in T.Parallel(32):
            Y[b * 32 + i] = X[b * 32 + i] + 1


@T.prim_func
def checked(X: T.Tensor((8,), "int32"), Y: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=8):
        for i in T.Parallel(8):
            T.device_assert(X[i] >= 0, "negative")
            T.device_assert(X[i] < 90, "too large")
            Y[i] = X[i]
