"""Kernels and artifacts of the tests of the execution backends."""

from __future__ import annotations

import contextlib
import functools
import importlib
from typing import Any

import tilecore
import tilecore.language as T

N = T.dynamic("n")


@T.prim_func
def scale_kernel(
    A: T.Tensor((N, 40), "float16"), B: T.Tensor((N, 40), "float16"), factor: T.float32, shift: T.int32
):  # fmt: skip
    with T.Kernel(T.ceildiv(A.shape[0], 4), threads=64) as b:
        for i, j in T.Parallel(4, 40):
            if b * 4 + i < A.shape[0]:
                B[b * 4 + i, j] = A[b * 4 + i, j] * factor + shift


@T.prim_func
def scalars_kernel(
    Out: T.Tensor((16,), "float32"), a: T.int8, b: T.uint8, c: T.int16, d: T.uint16, e: T.int32, f: T.uint32,
    g: T.int64, h: T.uint64, i: T.float16, j: T.bfloat16, k: T.float32, m: T.bool,
):  # fmt: skip
    with T.Kernel(1, threads=64):
        Out[0] = a
        Out[1] = b
        Out[2] = c
        Out[3] = d
        Out[4] = e
        Out[5] = f
        Out[6] = g
        Out[7] = h
        Out[8] = i
        Out[9] = j
        Out[10] = k
        Out[11] = T.if_then_else(m, 1.0, 0.0)


@T.prim_func
def talking_kernel(X: T.Tensor((64,), "int32")):
    with T.Kernel(2, threads=64):
        for i in T.Parallel(64):
            T.device_assert(X[i] < 60, "too large")
        T.print(X[0], msg="the first, 100%")


@functools.cache
def artifact(name: str, **options: Any) -> Any:
    """The artifact of one of the kernels for the execution backend torch."""
    with contextlib.suppress(ImportError):  # only a torch that is imported says that it has no device "mps"
        importlib.import_module("torch")
    return tilecore.compile(globals()[name], target="metal", execution_backend="torch", **options).artifact
