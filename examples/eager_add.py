"""C = A + B in the eager style: the decorated function is the kernel, and it is called with tensors.

T.const names sizes that are read off the tensors; T.empty makes an output, which the call returns. The kernel is
compiled when it is first called with tensors of these shapes and types.

    python examples/eager_add.py --target cpu --rows 1000 --columns 333
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def add(A, B, block_M=64, block_N=128):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B: T.Tensor((M, N), T.float32)
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        for i, j in T.Parallel(block_M, block_N):
            y, x = by * block_M + i, bx * block_N + j
            C[y, x] = A[y, x] + B[y, x]
    return C


# for `tilecore explain --targets`
EXPLAIN = ["add(T.Tensor((1000, 333), T.float32), T.Tensor((1000, 333), T.float32))"]


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=333)
    options = parser.parse_args(words)

    kernel = tilecore.jit(add, target=options.target)  # or @tilecore.jit above the function
    # compile() takes types instead of tensors: here to learn the device before there are tensors
    matrix = T.Tensor((options.rows, options.columns), T.float32)
    compiled = kernel.compile(matrix, matrix)
    a, b = torch.randn(2, options.rows, options.columns, device=compiled.adapter.torch_device())
    torch.testing.assert_close(kernel(a, b), a + b)
    print(f"eager_add: {options.rows}x{options.columns} right on {compiled.target.kind}")


if __name__ == "__main__":
    main()
