"""Softmax of every row of a matrix, in float32, by the length of a row:

- up to 8192 columns: 128 threads hold rows in registers as float32, several rows where they are short,
- up to 64 KiB: 512 threads hold a row in registers in its own type, and convert it where they use it,
- longer: two passes over the row in memory, tile by tile.

    python examples/softmax.py --target cpu --rows 4096 --columns 1000
"""

import argparse

import torch

import tilecore
import tilecore.language as T

LOG2_E = 1.4426950408889634  # exp(x) = 2 ** (x * LOG2_E)


def softmax(M, N, dtype="float32"):
    """Y[i, j] = exp(X[i, j]) / sum(exp(X[i, :])). X, Y [M, N]."""
    if N <= 8192:
        return softmax_of_rows(M, N, max(1, 2048 // N), dtype=dtype)
    if N * T.dtype(dtype).itemsize <= 65536:
        return softmax_of_long_rows(M, N, dtype=dtype)
    return softmax_of_endless_rows(M, N, dtype=dtype)


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


def softmax_of_long_rows(M, N, threads=512, dtype="float16"):
    @T.prim_func
    def softmax_of_long_rows_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=threads) as bx:
            T.annotate_min_blocks_per_sm(2)  # one block loads while another computes
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


def softmax_of_endless_rows(M, N, block_N=4096, threads=512, dtype="float32"):
    """The first pass keeps the largest value of each column of the tiles so far, and the sum relative to it."""
    lowest = -3.4028234663852886e38  # no infinity: -inf - -inf is no number

    @T.prim_func
    def softmax_of_endless_rows_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=threads) as bx:
            T.annotate_safe_value({X: -T.infinity(dtype)})  # what a copy reads behind the end of a row
            tile = T.alloc_fragment((block_N,), "float32")
            largest_of = T.alloc_fragment((block_N,), "float32")
            total_of = T.alloc_fragment((block_N,), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.fill(largest_of, lowest)
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
