"""Column sums of a tall matrix: blocks of rows are summed separately and combined by atomic additions.

python examples/reduction.py --target cpu --rows 4096 --columns 1000
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def column_sum(M, N, block_M=64, block_N=256, dtype="float32"):
    @T.prim_func
    def column_sum_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            tile = T.alloc_shared((block_M, block_N), dtype)
            partial = T.alloc_fragment((block_N,), dtype)
            T.copy(X[by * block_M, bx * block_N], tile)
            T.reduce_sum(tile, partial, dim=0)
            T.atomic_add(Y[bx * block_N], partial)

    return column_sum_kernel


EXPLAIN = [
    "column_sum(4096, 1000) or column_sum(4096, 1000, block_M=32)"
]  # for `tilecore explain --targets`; behind "or" for devices with less shared memory


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--columns", type=int, default=1000)
    options = parser.parse_args(words)

    compiled = tilecore.jit(column_sum, target=options.target)
    try:
        kernel = compiled(options.rows, options.columns)
    except tilecore.errors.LimitError:  # the device has less shared memory, such as 32 KiB
        kernel = compiled(options.rows, options.columns, block_M=32)
    device = kernel.adapter.torch_device()
    x = torch.randn(options.rows, options.columns, device=device)
    y = torch.zeros(options.columns, device=device)  # the kernel adds to it
    kernel(x, y)
    torch.testing.assert_close(y, x.sum(dim=0), rtol=1e-4, atol=1e-5 * options.rows**0.5 * 10)
    print(f"reduction: {options.rows}x{options.columns} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
