"""Softmax of every row of a matrix; a block holds a few whole rows, or one long one.

python examples/softmax.py --target cpu --rows 4096 --columns 1000
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def softmax(M, N, block_M=4, threads=128, dtype="float32"):
    """A block has ``block_M`` rows in the registers of its threads: each is read once and written once."""

    @T.prim_func
    def softmax_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
            row = T.alloc_fragment((block_M, N), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], row)
            T.reduce_max(row, largest, dim=1)
            for i, j in T.Parallel(block_M, N):
                row[i, j] = T.exp(row[i, j] - largest[i])
            T.reduce_sum(row, total, dim=1)
            for i, j in T.Parallel(block_M, N):
                row[i, j] /= total[i]
            T.copy(row, Y[bx * block_M, 0])

    return softmax_kernel


def softmax_of_long_rows(M, N, threads=512, dtype="float32"):
    """A row is too long for registers: it is stored in shared memory, and three passes read it there."""
    log2_e = 1.4426950408889634

    @T.prim_func
    def softmax_of_long_rows_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=threads) as bx:
            row = T.alloc_shared((N,), dtype)
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
                total[0] += T.exp2((T.cast(row[j], "float32") - largest[0]) * log2_e)
            T.finalize_reducer(total)
            # exp(x - largest) / total = 2 ** ((x - largest) * log2_e - log2(total))
            for j in T.Parallel(N):
                Y[bx, j] = T.exp2((T.cast(row[j], "float32") - largest[0]) * log2_e - T.log2(total[0]))

    return softmax_of_long_rows_kernel


def softmax_of_endless_rows(M, N, block_N=2048, threads=256, dtype="float32"):
    """A row is too long for shared memory: both passes read it from the tensor, tile by tile. The first computes the
    largest value so far and the sum, which is rescaled where a tile has a larger value."""
    log2_e, lowest = 1.4426950408889634, -3.4028234663852886e38  # no infinity: -inf - -inf is no number

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
                    tile[i, j] = T.exp2((tile[i, j] - largest[i]) * log2_e)
                T.reduce_sum(tile, of_tile, dim=1)
                total[0] = total[0] * T.exp2((before[0] - largest[0]) * log2_e) + of_tile[0]
            for k in T.serial(T.ceildiv(N, block_N)):
                for j in T.Parallel(block_N):
                    if k * block_N + j < N:
                        x = T.cast(X[bx, k * block_N + j], "float32")
                        Y[bx, k * block_N + j] = T.exp2((x - largest[0]) * log2_e - T.log2(total[0]))

    return softmax_of_endless_rows_kernel


EXPLAIN = [
    "softmax(4096, 1000)",
    "softmax_of_long_rows(4096, 50000) or softmax_of_endless_rows(4096, 50000)",
    "softmax_of_endless_rows(4096, 50000)",
]  # for `tilecore explain --targets`; behind "or" for devices with less shared memory


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--columns", type=int, default=1000)
    options = parser.parse_args(words)

    factory = softmax if options.columns <= 8192 else softmax_of_long_rows
    try:
        kernel = tilecore.jit(factory, target=options.target, out_idx=-1)(options.rows, options.columns)
    except tilecore.errors.LimitError:  # a row does not fit in the device's shared memory
        compiled = tilecore.jit(softmax_of_endless_rows, target=options.target, out_idx=-1)
        kernel = compiled(options.rows, options.columns)
    x = torch.randn(options.rows, options.columns, device=kernel.adapter.torch_device())
    torch.testing.assert_close(kernel(x), torch.softmax(x, dim=1))
    print(f"softmax: {options.rows}x{options.columns} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
