"""Kernels of every kind for a target report: a demanding T.prim_func, lazy and eager functions, one without sizes."""

import tilecore
import tilecore.language as T


@T.prim_func
def demanding(A: T.Tensor((64, 64), "float64"), B: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=512):
        tile = T.alloc_shared((64, 64), "bfloat16")
        row = T.alloc_fragment((64, 64), "float32")
        T.copy(A, tile)
        T.copy(tile, row)
        T.cumsum(row, dim=1)
        for i, j in T.Parallel(64, 64):
            T.atomic_add(B[i, j], row[i, j])
        T.print(row[0, 0])
        T.copy(row, B)


@T.prim_func
def foreign(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(64):
            B[i] = T.call_extern("float32", "first_function", A[i])
        for i in T.Parallel(64):
            A[i] = A[i] + 1
        for i in T.Parallel(64):
            B[i] = T.call_extern("float32", "second_function", A[i])


@tilecore.jit(out_idx=-1)
def matmul(M=256, N=256, K=256, block_M=64, block_N=64, block_K=32, num_stages=3, threads=128, dtype="float16"):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return kernel


@tilecore.jit
def scaled(X: T.Tensor((64, 16), "float16"), factor: float = 2.0):
    Y = T.empty((64, 16), T.float16)
    with T.Kernel(4, threads=128) as bx:
        for i, j in T.Parallel(16, 16):
            Y[bx * 16 + i, j] = X[bx * 16 + i, j] * factor
    return Y


def without_sizes(n, by=2):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                A[i] = A[i] * by

    return kernel


def added(A, B, block=16):
    M = T.const("M")
    A: T.Tensor((M,), T.float32)
    B: T.Tensor((M,), T.float32)
    C = T.empty((M,), T.float32)
    with T.Kernel(T.ceildiv(M, block), threads=32) as bx:
        for i in T.Parallel(block):
            C[bx * block + i] = A[bx * block + i] + B[bx * block + i]
    return C


def not_a_kernel(n=3):
    return n


EXPLAIN = ["added(T.Tensor((100,), T.float32), T.Tensor((100,), T.float32))"]

if __name__ == "__main__":
    raise AssertionError("importing the file runs no main")
