"""Small kernels whose threads need what others left in shared memory, and a way to take single barriers away."""

from __future__ import annotations

from typing import Any

import tilecore.language as T
from tilecore.ir.build import nothing, op_name
from tilecore.ir.nodes import Evaluate, PrimFunc, structural_map
from tilecore.ir.visit import collect

from ..simt.kit import lowered

M = 16
ORDERS = ("simt.barrier", "simt.named_barrier", "simt.warp_barrier", "simt.wait_async")


def kernel_of(func: Any, **changes: Any) -> PrimFunc:
    """The only kernel of a function, in thread IR. changes: fields of the target's capabilities."""
    module, _ = lowered(func, **changes)
    (kernel,) = module.functions.values()
    return kernel


def orders_in(func: PrimFunc) -> list[str]:
    """The barriers and waits of a kernel in thread IR, in the order of its code."""
    return [op_name(node.value) for node in collect(func.body, Evaluate) if op_name(node.value) in ORDERS]


def without(func: PrimFunc, number: int) -> PrimFunc:
    """The kernel without one of them."""
    seen = -1

    def change(node: Evaluate) -> Any:
        nonlocal seen
        if op_name(node.value) not in ORDERS:
            return node
        seen += 1
        return nothing() if seen == number else node

    return func.with_body(structural_map(func.body, (Evaluate, change)))


@T.prim_func
def shifted(X: T.Tensor((M, M), "int32"), Y: T.Tensor((M, M), "int32")):
    with T.Kernel(1, threads=64):
        s, f = T.alloc_shared((M, M), "int32"), T.alloc_fragment((M, M), "int32")
        T.copy(X, s)
        for i, j in T.Parallel(M, M):
            f[i, j] = s[(i + 1) % M, j]
        for i, j in T.Parallel(M, M):
            s[i, j] = f[i, j] + 1
        T.copy(s, Y)


@T.prim_func
def condition(X: T.Tensor((M, M), "int32"), Y: T.Tensor((M, M), "int32")):
    with T.Kernel(1, threads=64):
        s = T.alloc_shared((M, M), "int32")
        T.copy(X, s)
        if s[3, 5] > -100:
            for i, j in T.Parallel(M, M):
                s[i, j] = s[i, j] * 2
        T.copy(s, Y)


@T.prim_func
def repeated(X: T.Tensor((M, M), "int32"), Y: T.Tensor((M, M), "int32")):
    with T.Kernel(1, threads=64):
        s = T.alloc_shared((M, M), "int32")
        n = T.alloc_var("int32", init=0)
        T.copy(X, s)
        while s[1, 1] < 1000 and n < 3:
            for i, j in T.Parallel(M, M):
                s[i, j] = s[i, j] + 7
            n += 1
        T.copy(s, Y)


@T.prim_func
def counted(X: T.Tensor((M, M), "int32"), Y: T.Tensor((M, M), "int32")):
    with T.Kernel(1, threads=64):
        s, t = T.alloc_shared((M, M), "int32"), T.alloc_shared((M, M), "int32")
        T.copy(X, s)
        for _ in T.serial(T.max(T.min(s[2, 2], 3), 0)):
            for i, j in T.Parallel(M, M):
                t[i, j] = s[M - 1 - i, j]
            for i, j in T.Parallel(M, M):
                s[i, j] = t[i, (j + 3) % M]
        T.copy(s, Y)


@T.prim_func
def ring(X: T.Tensor((8, M), "int32"), Y: T.Tensor((8, M), "int32")):
    """A slot is read two steps after it was written."""
    with T.Kernel(1, threads=32 * 2):
        s = T.alloc_shared((3, M), "int32")
        T.fill(s, 0)
        for k in T.serial(8):
            for i in T.Parallel(M):
                s[k % 3, i] = X[k, i]
            for i in T.Parallel(M):
                Y[k, i] = s[(k + 1) % 3, M - 1 - i]


@T.prim_func
def product(A: T.Tensor((64, 128), "float16"), B: T.Tensor((128, 64), "float16"), C: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=128):
        a, b = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[0, k * 32], a)
            T.copy(B[k * 32, 0], b)
            T.gemm(a, b, c)
        T.copy(c, C)


@T.prim_func
def sums(X: T.Tensor((4, 512), "float32"), Y: T.Tensor((4, 512), "float32")):
    with T.Kernel(4, threads=128) as row:
        x, most = T.alloc_shared((1, 512), "float32"), T.alloc_fragment((1,), "float32")
        y = T.alloc_shared((1, 512), "float32")
        T.copy(X[row, 0], x)
        T.reduce_max(x, most, dim=1)
        for i, j in T.Parallel(1, 512):
            y[i, j] = x[i, 511 - j] - most[i]
        T.copy(y, Y[row, 0])


@T.prim_func
def lives_that_end(X: T.Tensor((4, 1024), "float32"), Y: T.Tensor((4, 1024), "float32")):
    """Two tiles whose lives do not overlap have the same bytes."""
    with T.Kernel(4, threads=128) as row:
        s, t = T.alloc_shared((1024,), "float32"), T.alloc_shared((1024,), "float32")
        f = T.alloc_fragment((1024,), "float32")
        T.copy(X[row, 0], s)
        for i in T.Parallel(1024):
            f[i] = s[1023 - i]
        for i in T.Parallel(1024):
            t[i] = f[i] * 2.0
        for i in T.Parallel(1024):
            Y[row, i] = t[1023 - i]


@T.prim_func
def histogram(X: T.Tensor((256,), "int32"), Y: T.Tensor((16,), "int32")):
    with T.Kernel(1, threads=64):
        counts = T.alloc_shared((16,), "int32")
        T.clear(counts)
        for i in T.Parallel(256):
            T.atomic_add(counts[X[i] % 16], 1)
        T.copy(counts, Y)


@T.prim_func
def table(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
    with T.Kernel(1, threads=64):
        s, t = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
        T.copy(X, s)
        for i in T.Parallel(64):
            t[i] = s[(s[i] % 64 + 64) % 64]
        for i in T.Parallel(64):
            s[i] = t[63 - i]
        T.copy(s, Y)


KERNELS = (shifted, condition, repeated, counted, ring, sums, lives_that_end, histogram, table)
