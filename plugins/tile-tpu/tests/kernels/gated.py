"""SwiGLU (Shazeer 2020), and llama's MLP around it."""

from typing import Any

import tilecore.language as T


def swiglu(tokens: int, width: int, block: int = 64, columns: int = 256, dtype: str = "float16") -> Any:
    """Y (tokens, width) = silu(gate) * up, where X (tokens, 2 width) has the gate in its first half."""

    @T.prim_func
    def swiglu_kernel(X: T.Tensor((tokens, 2 * width), dtype), Y: T.Tensor((tokens, width), dtype)):
        with T.Kernel(T.ceildiv(width, columns), T.ceildiv(tokens, block), threads=128) as (bx, by):
            gate, up = T.alloc_fragment((block, columns), "float32"), T.alloc_fragment((block, columns), "float32")
            T.copy(X[by * block, bx * columns], gate)
            for i, j in T.Parallel(block, columns):
                up[i, j] = T.if_then_else(bx * columns + j < width, X[by * block + i, width + bx * columns + j], 0)
            for i, j in T.Parallel(block, columns):
                up[i, j] = up[i, j] * gate[i, j] / (1 + T.exp(-gate[i, j]))
            T.copy(up, Y[by * block, bx * columns])

    return swiglu_kernel


def mlp(tokens: int, hidden: int, inner: int, block_m: int = 128, block_n: int = 128, block_k: int = 128,
        dtype: str = "float16",
    stages: int = 2,
) -> Any:  # fmt: skip
    """Y = (silu(X Gate^T) * (X Up^T)) Down^T. X, Y (tokens, hidden); Gate, Up (inner, hidden); Down (hidden, inner);
    H (tokens, inner) holds what lies between the two kernels."""

    @T.prim_func
    def mlp_kernel(
        X: T.Tensor((tokens, hidden), dtype),
        Gate: T.Tensor((inner, hidden), dtype),
        Up: T.Tensor((inner, hidden), dtype),
        Down: T.Tensor((hidden, inner), dtype),
        H: T.Tensor((tokens, inner), dtype),
        Y: T.Tensor((tokens, hidden), dtype),
    ):
        with T.Kernel(T.ceildiv(inner, block_n), T.ceildiv(tokens, block_m), threads=128) as (bx, by):
            x = T.alloc_shared((block_m, block_k), dtype)
            w_gate, w_up = T.alloc_shared((block_n, block_k), dtype), T.alloc_shared((block_n, block_k), dtype)
            gate, up = T.alloc_fragment((block_m, block_n), "float32"), T.alloc_fragment((block_m, block_n), "float32")
            T.clear(gate)
            T.clear(up)
            for k in T.Pipelined(T.ceildiv(hidden, block_k), num_stages=stages):
                T.copy(X[by * block_m, k * block_k], x)
                T.copy(Gate[bx * block_n, k * block_k], w_gate)
                T.copy(Up[bx * block_n, k * block_k], w_up)
                T.gemm(x, w_gate, gate, transpose_B=True)
                T.gemm(x, w_up, up, transpose_B=True)
            for i, j in T.Parallel(block_m, block_n):
                up[i, j] *= gate[i, j] / (1 + T.exp(-gate[i, j]))
            T.copy(up, H[by * block_m, bx * block_n])
        with T.Kernel(T.ceildiv(hidden, block_n), T.ceildiv(tokens, block_m), threads=128) as (bx, by):
            h, w_down = T.alloc_shared((block_m, block_k), dtype), T.alloc_shared((block_n, block_k), dtype)
            y = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(y)
            for k in T.Pipelined(T.ceildiv(inner, block_k), num_stages=stages):
                T.copy(H[by * block_m, k * block_k], h)
                T.copy(Down[bx * block_n, k * block_k], w_down)
                T.gemm(h, w_down, y, transpose_B=True)
            T.copy(y, Y[by * block_m, bx * block_n])

    return mlp_kernel
