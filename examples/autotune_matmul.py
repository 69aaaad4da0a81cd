"""A matmul that finds its own tile sizes: every candidate is compiled, checked and timed, and the fastest is used.

The result is stored on disk: a second run finds it there.

    python examples/autotune_matmul.py --target cpu --m 512 --n 512 --k 512
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def matmul(M, N, K, block_M=None, block_N=None, block_K=None, dtype="float32"):
    @T.prim_func
    def matmul_kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return matmul_kernel


CONFIGS = {"block_M": [32, 128], "block_N": [32, 128], "block_K": [32, 128]}  # all combinations are tried


EXPLAIN = ["matmul(512, 512, 512, 128, 128, 32)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--m", type=int, default=512)
    parser.add_argument("--n", type=int, default=512)
    parser.add_argument("--k", type=int, default=512)
    options = parser.parse_args(words)

    # as decorators: @tilecore.autotune(configs=CONFIGS) above @tilecore.jit(out_idx=-1)
    tuned = tilecore.autotune(configs=CONFIGS)(tilecore.jit(matmul, target=options.target, out_idx=-1))
    kernel = tuned(options.m, options.n, options.k)
    device = kernel.adapter.torch_device()
    a = torch.randn(options.m, options.k, device=device)
    b = torch.randn(options.k, options.n, device=device)
    torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4 * options.k**0.5)
    print(f"autotune_matmul: right on {kernel.target.kind}, {kernel.latency:.3f} ms with {kernel.config}")


if __name__ == "__main__":
    main()
