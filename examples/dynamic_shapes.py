"""One compiled kernel for matrices of any height: each call reads the T.dynamic sizes from the tensors.

python examples/dynamic_shapes.py --target cpu --columns 500
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def scale_rows(N, block_M=16, block_N=128, dtype="float32"):
    M = T.dynamic("M")

    @T.prim_func
    def scale_rows_kernel(X: T.Tensor((M, N), dtype), S: T.Tensor((M,), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            for i, j in T.Parallel(block_M, block_N):
                y, x = by * block_M + i, bx * block_N + j
                Y[y, x] = X[y, x] * S[y]

    return scale_rows_kernel


EXPLAIN = ["scale_rows(500)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--columns", type=int, default=500)
    options = parser.parse_args(words)

    kernel = tilecore.jit(scale_rows, target=options.target, out_idx=-1)(options.columns)
    device = kernel.adapter.torch_device()
    for rows in (0, 1, 7, 16, 1000):
        x = torch.randn(rows, options.columns, device=device)
        s = torch.randn(rows, device=device)
        torch.testing.assert_close(kernel(x, s), x * s[:, None])
    print(f"dynamic_shapes: 0 to 1000 rows of {options.columns} right on {kernel.target.kind}, one kernel")


if __name__ == "__main__":
    main()
