"""Softmax of every row of a matrix, by the length of a row:

- up to 8192 columns: a block of 128 threads holds its rows in registers as float32, several rows where they are short,
- up to 32768: 512 threads hold one row in registers in its own type, 64 elements each, and convert it where they use it,
- longer: two passes over the row in memory, tile by tile.

    python examples/softmax.py --target cpu --rows 4096 --columns 1000
"""

import argparse

import torch

import tilecore
import tilecore.language as T

LOG2_E = 1.4426950408889634  # exp(x) = 2 ** (x * LOG2_E)


def softmax(M, N, dtype="float32"):
    """Y[i, j] = exp(X[i, j]) / sum(exp(X[i, :])), computed in float32. X, Y [M, N]."""
    if N <= 8192:
        return softmax_of_rows(M, N, block_M=max(1, 2048 // N), dtype=dtype)
    return softmax_of_long_rows(M, N, dtype=dtype) if N <= 32768 else softmax_of_endless_rows(M, N, dtype=dtype)


def softmax_of_rows(M, N, block_M, threads=128, dtype="float32"):
    @T.prim_func
    def softmax_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
            row = T.alloc_fragment((block_M, N), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            scale = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], row)
            T.reduce_max(row, largest, dim=1)
            for i, j in T.Parallel(block_M, N):
                row[i, j] = T.exp2((row[i, j] - largest[i]) * LOG2_E)
            T.reduce_sum(row, scale, dim=1)
            for i in T.Parallel(block_M):
                scale[i] = 1 / scale[i]
            for i, j in T.Parallel(block_M, N):
                row[i, j] *= scale[i]
            T.copy(row, Y[bx * block_M, 0])

    return softmax_kernel


def softmax_of_long_rows(M, N, threads=512, dtype="float32"):
    @T.prim_func
    def softmax_of_long_rows_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=threads) as bx:
            row = T.alloc_fragment((N,), dtype)
            # every thread has its own largest value and sum; finalize_reducer combines them
            largest = T.alloc_reducer((1,), "float32", op="max")
            total = T.alloc_reducer((1,), "float32", op="sum")
            T.copy(X[bx, 0:N], row)
            T.fill(largest, -T.infinity("float32"))
            for j in T.Parallel(N):
                largest[0] = T.max(largest[0], T.cast(row[j], "float32"))
            T.finalize_reducer(largest)
            T.fill(total, 0)
            for j in T.Parallel(N):
                total[0] += T.exp2((T.cast(row[j], "float32") - largest[0]) * LOG2_E)
            T.finalize_reducer(total)
            # exp(x - largest) / total = 2 ** ((x - largest) * LOG2_E - log2(total))
            for j in T.Parallel(N):
                Y[bx, j] = T.exp2((T.cast(row[j], "float32") - largest[0]) * LOG2_E - T.log2(total[0]))

    return softmax_of_long_rows_kernel


def softmax_of_endless_rows(M, N, block_N=8192, threads=512, dtype="float32"):
    """The first pass computes the largest value so far and the sum, which is rescaled where a tile has a larger value."""
    lowest = -3.4028234663852886e38  # no infinity: -inf - -inf is no number

    @T.prim_func
    def softmax_of_endless_rows_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=threads) as bx:
            tile = T.alloc_fragment((1, block_N), "float32")
            largest = T.alloc_fragment((1,), "float32")
            before = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            of_tile = T.alloc_fragment((1,), "float32")
            T.fill(largest, lowest)
            T.fill(total, 0)
            for k in T.serial(T.ceildiv(N, block_N)):
                for i, j in T.Parallel(1, block_N):
                    inside = k * block_N + j < N
                    tile[i, j] = T.if_then_else(
                        inside, T.cast(X[bx, k * block_N + j], "float32"), -T.infinity("float32")
                    )
                T.copy(largest, before)
                T.reduce_max(tile, largest, dim=1, clear=False)
                for i, j in T.Parallel(1, block_N):
                    tile[i, j] = T.exp2((tile[i, j] - largest[i]) * LOG2_E)
                T.reduce_sum(tile, of_tile, dim=1)
                total[0] = total[0] * T.exp2((before[0] - largest[0]) * LOG2_E) + of_tile[0]
            for k in T.serial(T.ceildiv(N, block_N)):
                for j in T.Parallel(block_N):
                    if k * block_N + j < N:
                        x = T.cast(X[bx, k * block_N + j], "float32")
                        Y[bx, k * block_N + j] = T.exp2((x - largest[0]) * LOG2_E - T.log2(total[0]))

    return softmax_of_endless_rows_kernel


EXPLAIN = ["softmax(4096, 1000)", "softmax(4096, 32000)", "softmax(4096, 50000)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16", "bfloat16"])
    options = parser.parse_args(words)

    fast = {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}
    compiled = tilecore.jit(softmax, target=options.target, out_idx=-1, pass_configs=fast)
    kernel = compiled(options.rows, options.columns, options.dtype)
    x = torch.randn(options.rows, options.columns, device=kernel.adapter.torch_device())
    x = x.to(getattr(torch, options.dtype))
    torch.testing.assert_close(kernel(x), torch.softmax(x, dim=1))
    print(f"softmax: {options.rows}x{options.columns} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
