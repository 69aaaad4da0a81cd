"""C = A @ B: tiles of A and B are copied to shared memory in a pipelined loop over K, and multiplied there.

python examples/matmul.py --target cpu --m 1024 --n 1024 --k 1024
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def matmul(
    M, N, K, block_M=128, block_N=128, block_K=32, stages=2, threads=128, policy=T.GemmWarpPolicy.Square,
    dtype="float32", accum_dtype="float32",
):  # fmt: skip
    """stages: tiles in shared memory at a time; all but one are being loaded while one is multiplied."""

    @T.prim_func
    def matmul_kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), accum_dtype)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], A_shared)  # reads outside of A give 0
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local, policy=policy)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return matmul_kernel


EXPLAIN = ["matmul(1024, 1024, 1024)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--m", type=int, default=1024)
    parser.add_argument("--n", type=int, default=1024)
    parser.add_argument("--k", type=int, default=1024)
    parser.add_argument("--source", action="store_true", help="print the emitted source")
    options = parser.parse_args(words)

    kernel = tilecore.jit(matmul, target=options.target, out_idx=-1)(options.m, options.n, options.k)
    if options.source:
        print(kernel.get_kernel_source())
    device = kernel.adapter.torch_device()
    a = torch.randn(options.m, options.k, device=device)
    b = torch.randn(options.k, options.n, device=device)
    torch.testing.assert_close(kernel(a, b), a @ b, rtol=1e-4, atol=1e-4 * options.k**0.5)
    print(f"matmul: {options.m}x{options.n}x{options.k} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
