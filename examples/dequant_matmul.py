"""C = A @ W^T with 4-bit weights: they are unpacked, shifted and scaled on the chip, tile by tile, in registers.

W[n, k] = (q[n, k] - zero[n, k // group]) * scale[n, k // group]: ``group`` neighbours in a row share a scale and a zero
point. The 4-bit numbers q lie two a byte along k, the even one in the low bits. What is read from memory is a quarter
of half precision, which is what counts when there are few rows (tokens). It is C^T = W A^T that is computed, as matrix
units take a left operand from registers. With few rows K is divided over several blocks, whose sums a second kernel
adds, so that there is work for the whole chip.

    python examples/dequant_matmul.py --target cpu --m 64 --n 1024 --k 1024
"""

import argparse
from pathlib import Path

import torch

import tilecore
import tilecore.language as T
from tilecore.autotuner import KnownConfigs

EXPONENT = 0x6400  # the bits of 1024 in half precision: a number below 1024 in the low bits adds itself


def dequant_matmul(
    M, N, K, group=64, block_M=None, block_N=None, block_K=None, splits=None, stages=4, threads=None
):  # fmt: skip
    """A [M, K], float16; W [N, K // 2], uint8; Scale, Zero [N, K // group], float16; C [M, N], float16."""
    if group % 2 or K % group:
        raise ValueError(f"K ({K}) must be a whole number of groups ({group}), and a group of bytes")
    block_M = block_M or (16 if M <= 16 else 64 if M <= 256 else 256)
    block_N = block_N or (64 if M <= 256 else 128)
    block_K = block_K or (128 if M <= 256 else 64)
    splits = splits or (4 if M <= 16 else 2 if M <= 64 else 1)
    threads = threads or 2 * block_N
    unit = max(block_K, group)
    if unit % block_K or unit % group:
        raise ValueError(f"block_K ({block_K}) must be a multiple of group ({group}), or the other way round")
    part = T.ceildiv(T.ceildiv(K, splits), unit) * unit  # of K, for one block
    splits = T.ceildiv(K, part)
    groups = part // group

    @T.macro
    def multiply(A, W, Scale, Zero, C_local, bx, by, first):
        """C_local [block_N, block_M] = the tile (bx, by) of W @ A^T over ``part`` of K from ``first`` on."""
        A_shared = T.alloc_shared((block_M, block_K), "float16")
        W_packed = T.alloc_shared((block_N, block_K // 2), "uint8")
        Scale_shared = T.alloc_shared((block_N, groups), "float16")
        Zero_shared = T.alloc_shared((block_N, groups), "float16")
        W_local = T.alloc_fragment((block_N, block_K), "float16")
        T.copy(Scale[bx * block_N, first // group], Scale_shared)
        T.copy(Zero[bx * block_N, first // group], Zero_shared)
        T.clear(C_local)
        for step in T.Pipelined(part // block_K, num_stages=stages):
            k = first + step * block_K
            T.copy(W[bx * block_N, k // 2], W_packed)
            T.copy(A[by * block_M, k], A_shared)
            for i, j in T.Parallel(block_N, block_K):
                q = (T.cast(W_packed[i, j // 2], "int32") >> (j % 2 * 4)) & 15
                number = T.reinterpret(T.cast(q | EXPONENT, "uint16"), "float16")  # 1024 + q
                g = (step * block_K + j) // group
                W_local[i, j] = (number - (Zero_shared[i, g] + 1024)) * Scale_shared[i, g]
            T.gemm(W_local, A_shared, C_local, transpose_B=True)

    if splits == 1:

        @T.prim_func
        def dequant_matmul_kernel(
            A: T.Tensor((M, K), "float16"),
            W: T.Tensor((N, K // 2), "uint8"),
            Scale: T.Tensor((N, K // group), "float16"),
            Zero: T.Tensor((N, K // group), "float16"),
            C: T.Tensor((M, N), "float16"),
        ):
            with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
                C_local = T.alloc_fragment((block_N, block_M), "float32")
                multiply(A, W, Scale, Zero, C_local, bx, by, 0)
                for i, j in T.Parallel(block_N, block_M):
                    C[by * block_M + j, bx * block_N + i] = C_local[i, j]

        return dequant_matmul_kernel

    @T.prim_func
    def dequant_matmul_split_kernel(
        A: T.Tensor((M, K), "float16"),
        W: T.Tensor((N, K // 2), "uint8"),
        Scale: T.Tensor((N, K // group), "float16"),
        Zero: T.Tensor((N, K // group), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        Part = T.alloc_global((splits, M, N), "float32")
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), splits, threads=threads) as (bx, by, split):
            C_local = T.alloc_fragment((block_N, block_M), "float32")
            multiply(A, W, Scale, Zero, C_local, bx, by, split * part)
            for i, j in T.Parallel(block_N, block_M):
                Part[split, by * block_M + j, bx * block_N + i] = C_local[i, j]
        with T.Kernel(T.ceildiv(N, 256), M, threads=128) as (bx, row):
            total = T.alloc_fragment((256,), "float32")
            T.clear(total)
            for split in T.unroll(splits):
                for j in T.Parallel(256):
                    total[j] += Part[split, row, bx * 256 + j]
            T.copy(total, C[row, bx * 256 : (bx + 1) * 256])

    return dequant_matmul_split_kernel


EXPLAIN = [
    "dequant_matmul(64, 1024, 1024) or dequant_matmul(64, 1024, 1024, block_M=32, stages=1)"
]  # for `tilecore explain --targets`; behind "or" for devices with less shared memory


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--m", type=int, default=64)
    parser.add_argument("--n", type=int, default=1024)
    parser.add_argument("--k", type=int, default=1024)
    parser.add_argument("--group", type=int, default=64)
    options = parser.parse_args(words)
    M, N, K, group = options.m, options.n, options.k, options.group

    # the configuration that benchmarks/tune_h200.py found for such sizes on this target, if any
    configs = KnownConfigs.load(Path(__file__).with_name("dequant_matmul.tuned.json"))
    config = configs.find(options.target, {"M": M, "N": N, "K": K}) or {}
    compiled = tilecore.jit(dequant_matmul, target=options.target, out_idx=-1)
    try:
        kernel = compiled(M, N, K, group, **config)
    except tilecore.errors.LimitError:  # the device has less shared memory, such as 32 KiB
        kernel = compiled(M, N, K, group, block_M=32, stages=1)
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
