"""C = A + B: the smallest kernel.

A factory returns a T.prim_func for given sizes; tilecore.compile makes a callable of it.

    python examples/vector_add.py --target cpu --n 1000000
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def vector_add(N, block=1024, threads=128, dtype="float32"):
    @T.prim_func
    def vector_add_kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block), threads=threads) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return vector_add_kernel


EXPLAIN = ["vector_add(1000000)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--n", type=int, default=1_000_000)
    options = parser.parse_args(words)

    kernel = tilecore.compile(vector_add(options.n), target=options.target, out_idx=-1)
    device = kernel.adapter.torch_device()
    a, b = torch.randn(2, options.n, device=device)
    c = kernel(a, b)  # out_idx=-1: the call allocates and returns the last parameter
    torch.testing.assert_close(c, a + b)
    print(f"vector_add: {options.n} elements right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
