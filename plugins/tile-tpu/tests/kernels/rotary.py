"""Rotary positions (RoPE, Su et al. 2021): the two halves of a head are rotated by an angle that depends on the
position."""

from typing import Any

import tilecore.language as T


def rope(length: int, heads: int, dim: int, block: int = 64, dtype: str = "float16", stages: int = 2) -> Any:
    """Y = X (length, heads, dim) rotated. The tables of cos and sin (length, dim / 2) are of position times
    frequency."""
    half = dim // 2

    @T.prim_func
    def rope_kernel(
        X: T.Tensor((length, heads, dim), dtype),
        Cos: T.Tensor((length, half), "float32"),
        Sin: T.Tensor((length, half), "float32"),
        Y: T.Tensor((length, heads, dim), dtype),
    ):
        with T.Kernel(T.ceildiv(length, block), threads=128) as b:
            cos, sin = T.alloc_fragment((block, half), "float32"), T.alloc_fragment((block, half), "float32")
            x, y = T.alloc_fragment((block, dim), "float32"), T.alloc_fragment((block, dim), "float32")
            T.copy(Cos[b * block, 0], cos)
            T.copy(Sin[b * block, 0], sin)
            for h in T.Pipelined(heads, num_stages=stages):
                T.copy(X[b * block : (b + 1) * block, h, :], x)
                for i, j in T.Parallel(block, half):
                    y[i, j] = x[i, j] * cos[i, j] - x[i, j + half] * sin[i, j]
                    y[i, j + half] = x[i, j + half] * cos[i, j] + x[i, j] * sin[i, j]
                T.copy(y, Y[b * block : (b + 1) * block, h, :])

    return rope_kernel
