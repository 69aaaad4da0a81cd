"""The maximum, or the sum, of every row of a matrix. A block has some rows, and reads them in pieces."""

from typing import Any

import tilecore.language as T


def reduce_max(
    rows: int, columns: int, block: int = 128, width: int = 512, dtype: str = "float16", stages: int = 2
) -> Any:
    """Y (rows,) = max of X (rows, columns) along its columns."""

    @T.prim_func
    def reduce_max_kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((rows,), dtype)):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as b:
            x = T.alloc_shared((block, width), dtype)
            largest = T.alloc_fragment((block,), dtype)
            T.annotate_safe_value({X: -T.infinity(dtype)})
            T.fill(largest, -T.infinity(dtype))
            for k in T.Pipelined(T.ceildiv(columns, width), num_stages=stages):
                T.copy(X[b * block, k * width], x)
                T.reduce_max(x, largest, dim=1, clear=False)
            T.copy(largest, Y[b * block])

    return reduce_max_kernel


def reduce_sum(
    rows: int, columns: int, block: int = 128, width: int = 512, dtype: str = "float32", stages: int = 2
) -> Any:
    """Y (rows,), float32 = sum of X (rows, columns) along its columns."""

    @T.prim_func
    def reduce_sum_kernel(X: T.Tensor((rows, columns), dtype), Y: T.Tensor((rows,), "float32")):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as b:
            x = T.alloc_shared((block, width), dtype)
            total = T.alloc_fragment((block,), "float32")
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(columns, width), num_stages=stages):
                T.copy(X[b * block, k * width], x)
                T.reduce_sum(x, total, dim=1, clear=False)
            T.copy(total, Y[b * block])

    return reduce_sum_kernel
