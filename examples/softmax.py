"""Softmax of every row of a matrix, in float32, by the length of a row:

- up to 8192 columns: 128 threads hold rows in registers, several rows where they are short,
- up to 32768: 1024 threads hold a row in registers, and reduce it in pieces,
- longer: two passes over the row in memory, tile by tile.

    python examples/softmax.py --target cpu --rows 4096 --columns 1000
"""

import argparse

import torch

import tilecore
import tilecore.language as T

LOG2_E = 1.4426950408889634  # exp(x) = 2 ** (x * LOG2_E)
LOWEST = -3.4028234663852886e38  # of float32; no infinity: -inf - -inf is no number


def softmax(M, N, dtype="float32"):
    """Y[i, j] = exp(X[i, j]) / sum(exp(X[i, :])). X, Y [M, N]."""
    if N <= 8192:
        return softmax_of_rows(M, N, max(1, 2048 // N), dtype=dtype)
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


def softmax_of_long_rows(M, N, threads=1024, dtype="float32"):
    """A piece of 8 neighbours has its own largest value, which one thread knows as soon as it has loaded the piece, and
    its exponentials are relative to that. They become relative to the row's largest value with the last factor."""
    pieces = T.ceildiv(N, 8)

    @T.prim_func
    def softmax_of_long_rows_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=threads) as bx:
            T.annotate_safe_value({X: -T.infinity(dtype)})  # of what is read behind the end of a row
            row = T.alloc_fragment((pieces, 8), "float32")
            largest_of = T.alloc_fragment((pieces,), "float32")
            total_of = T.alloc_fragment((pieces,), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            for i, j in T.Parallel(pieces, 8):
                row[i, j] = X[bx, i * 8 + j]
            T.fill(largest_of, LOWEST)
            T.reduce_max(row, largest_of, dim=1, clear=False)
            for i, j in T.Parallel(pieces, 8):
                row[i, j] = T.exp2((row[i, j] - largest_of[i]) * LOG2_E)
            T.reduce_sum(row, total_of, dim=1)
            T.reduce_max(largest_of, largest, dim=0)
            for i in T.Parallel(pieces):
                largest_of[i] = T.exp2((largest_of[i] - largest[0]) * LOG2_E)
                total_of[i] *= largest_of[i]
            T.reduce_sum(total_of, total, dim=0)
            for i in T.Parallel(pieces):
                largest_of[i] /= total[0]
            for i, j in T.Parallel(pieces, 8):
                Y[bx, i * 8 + j] = row[i, j] * largest_of[i]

    return softmax_of_long_rows_kernel


def softmax_of_endless_rows(M, N, block_N=4096, threads=512, dtype="float32"):
    """The first pass keeps the largest value of each column of the tiles so far, and the sum relative to it."""

    @T.prim_func
    def softmax_of_endless_rows_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=threads) as bx:
            T.annotate_safe_value({X: -T.infinity(dtype)})  # what a copy reads behind the end of a row
            tile = T.alloc_fragment((block_N,), "float32")
            largest_of = T.alloc_fragment((block_N,), "float32")
            total_of = T.alloc_fragment((block_N,), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.fill(largest_of, LOWEST)
            T.fill(total_of, 0)
            for k in T.serial(T.ceildiv(N, block_N)):
                T.copy(X[bx, k * block_N], tile)
                for j in T.Parallel(block_N):
                    before = largest_of[j]
                    largest_of[j] = T.max(before, tile[j])
                    total_of[j] *= T.exp2((before - largest_of[j]) * LOG2_E)
                    total_of[j] += T.exp2((tile[j] - largest_of[j]) * LOG2_E)
            T.reduce_max(largest_of, largest, dim=0)
            for j in T.Parallel(block_N):
                total_of[j] *= T.exp2((largest_of[j] - largest[0]) * LOG2_E)
            T.reduce_sum(total_of, total, dim=0)
            for k in T.serial(T.ceildiv(N, block_N)):
                T.copy(X[bx, k * block_N], tile)
                for j in T.Parallel(block_N):
                    tile[j] = T.exp2((tile[j] - largest[0]) * LOG2_E - T.log2(total[0]))
                T.copy(tile, Y[bx, k * block_N])

    return softmax_of_endless_rows_kernel


# for `tilecore explain --targets`
EXPLAIN = [
    "softmax_of_rows(4096, 1000, 2)",
    "softmax_of_long_rows(4096, 32768)",
    "softmax_of_endless_rows(4096, 50000)",
]


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16", "bfloat16"])
    options = parser.parse_args(words)

    # exp2 by one instruction: terms too small for the normal range of float32 become 0
    fast = {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}
    compiled = tilecore.jit(softmax, target=options.target, out_idx=-1, pass_configs=fast)
    kernel = compiled(options.rows, options.columns, options.dtype)
    x = torch.randn(options.rows, options.columns, device=kernel.adapter.torch_device())
    x = x.to(getattr(torch, options.dtype))
    torch.testing.assert_close(kernel(x), torch.softmax(x, dim=1))
    print(f"softmax: {options.rows}x{options.columns} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
