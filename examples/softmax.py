"""Softmax of every row of a matrix; a block holds a few whole rows.

python examples/softmax.py --target cpu --rows 4096 --columns 1000
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def softmax(M, N, block_M=4, dtype="float32"):
    @T.prim_func
    def softmax_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
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


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--columns", type=int, default=1000)
    options = parser.parse_args(words)

    kernel = tilecore.jit(softmax, target=options.target, out_idx=-1)(options.rows, options.columns)
    x = torch.randn(options.rows, options.columns, device=kernel.adapter.torch_device())
    torch.testing.assert_close(kernel(x), torch.softmax(x, dim=1))
    print(f"softmax: {options.rows}x{options.columns} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
