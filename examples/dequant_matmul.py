"""C = A @ (B * scale) with 4-bit weights: they are unpacked and scaled on the chip, block by block.

Weights are stored two a byte along N (the even column in the low bits) with 8 added; one scale serves ``group`` rows
of a column.

    python examples/dequant_matmul.py --target cpu --m 64 --n 1024 --k 1024
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def dequant_matmul(M, N, K, group=32, block_M=32, block_N=128, block_K=64, dtype="float32"):
    @T.prim_func
    def dequant_matmul_kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N // 2), "uint8"),
        Scale: T.Tensor((K // group, N), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_packed = T.alloc_shared((block_K, block_N // 2), "uint8")
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * (block_N // 2)], B_packed)
                for i, j in T.Parallel(block_K, block_N):
                    nibble = (T.cast(B_packed[i, j // 2], "int32") >> (j % 2 * 4)) & 15
                    weight = T.cast(nibble - 8, dtype)
                    B_shared[i, j] = weight * Scale[(k * block_K + i) // group, bx * block_N + j]
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return dequant_matmul_kernel


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--m", type=int, default=64)
    parser.add_argument("--n", type=int, default=1024)
    parser.add_argument("--k", type=int, default=1024)
    options = parser.parse_args(words)
    M, N, K, group = options.m, options.n, options.k, 32

    kernel = tilecore.jit(dequant_matmul, target=options.target, out_idx=-1)(M, N, K, group)
    device = kernel.adapter.torch_device()
    a = torch.randn(M, K, device=device)
    weights = torch.randint(-8, 8, (K, N), device=device)
    scale = 0.01 + 0.01 * torch.rand(K // group, N, device=device)
    packed = ((weights[:, 0::2] + 8) | (weights[:, 1::2] + 8) << 4).to(torch.uint8)
    expected = a @ (weights * scale.repeat_interleave(group, dim=0))
    torch.testing.assert_close(kernel(a, packed, scale), expected, rtol=1e-4, atol=1e-4)
    print(f"dequant_matmul: {M}x{N}x{K} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
