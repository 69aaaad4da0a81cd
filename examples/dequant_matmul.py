"""C = A @ W^T with 4-bit weights: they are unpacked, shifted and scaled on the chip, tile by tile.

W[n, k] = (q[n, k] - zero[n, k // group]) * scale[n, k // group]: ``group`` neighbours in a row share a scale and a zero
point. The 4-bit numbers q lie two a byte along k, the even one in the low bits. What is read from memory is a quarter
of half precision, which is what counts when there are few rows (tokens): then tiles of C are low and narrow, so that
there are enough of them for the whole chip.

    python examples/dequant_matmul.py --target cpu --m 64 --n 1024 --k 1024
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def dequant_matmul(M, N, K, group=64, block_M=None, block_N=None, block_K=64, stages=2, threads=128, dtype="float16"):
    """A [M, K]; W [N, K // 2], uint8; Scale, Zero [N, K // group], of dtype; C [M, N]."""
    if group % 2 or K % group:
        raise ValueError(f"K ({K}) must be a whole number of groups ({group}), and a group of bytes")
    if block_K % group and group % block_K:
        raise ValueError(f"block_K ({block_K}) must be a multiple of group ({group}), or the other way round")
    block_M = block_M or (16 if M <= 16 else 64 if M <= 256 else 128)
    block_N = block_N or (64 if M <= 16 else 128)

    @T.prim_func
    def dequant_matmul_kernel(
        A: T.Tensor((M, K), dtype),
        W: T.Tensor((N, K // 2), "uint8"),
        Scale: T.Tensor((N, K // group), dtype),
        Zero: T.Tensor((N, K // group), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            W_packed = T.alloc_shared((block_N, block_K // 2), "uint8")
            W_shared = T.alloc_shared((block_N, block_K), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(W[bx * block_N, k * (block_K // 2)], W_packed)
                for i, j in T.Parallel(block_N, block_K):
                    number = (T.cast(W_packed[i, j // 2], "int32") >> (j % 2 * 4)) & 15
                    n, g = bx * block_N + i, (k * block_K + j) // group
                    W_shared[i, j] = (T.cast(number, dtype) - Zero[n, g]) * Scale[n, g]
                T.gemm(A_shared, W_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return dequant_matmul_kernel


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--m", type=int, default=64)
    parser.add_argument("--n", type=int, default=1024)
    parser.add_argument("--k", type=int, default=1024)
    parser.add_argument("--group", type=int, default=64)
    options = parser.parse_args(words)
    M, N, K, group = options.m, options.n, options.k, options.group

    kernel = tilecore.jit(dequant_matmul, target=options.target, out_idx=-1)(M, N, K, group)
    device = kernel.adapter.torch_device()
    a = torch.randn(M, K, device=device).half()
    numbers = torch.randint(0, 16, (N, K), device=device, dtype=torch.uint8)
    zero = torch.randint(0, 16, (N, K // group), device=device).half()
    scale = (0.01 + 0.01 * torch.rand(N, K // group, device=device)).half()
    packed = numbers[:, 0::2] | numbers[:, 1::2] << 4
    weights = (numbers.float() - zero.float().repeat_interleave(group, 1)) * scale.float().repeat_interleave(group, 1)
    # weights are rounded to half precision, sums of K of them
    c = kernel(a, packed, scale, zero)
    torch.testing.assert_close(c.float(), a.float() @ weights.T, rtol=2e-3, atol=1e-4 * K**0.5)
    print(f"dequant_matmul: {M}x{N}x{K} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
