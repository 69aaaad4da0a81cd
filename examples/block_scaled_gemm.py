"""C = A @ B^T in float8 with a scale for every 1 x 128 block of A and every 128 x 128 block of B.

The recipe of large models trained in float8: a scale for each block keeps outliers from costing the rest its precision.
The tensor cores add 128 products of K, then each thread multiplies these sums by the scales and adds them in float32,
which also keeps the few bits of the tensor cores' own sums from adding up to an error. The scales are read while the
tensor cores multiply, and while one half of the threads adds, they multiply for the other half.

    python examples/block_scaled_gemm.py --target cpu --m 130 --n 200 --k 300
"""

import argparse

import torch

import tilecore
import tilecore.language as T

BLOCK = 128  # elements along K of a scale, and along N of a scale of B
LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


def block_scaled_gemm(
    M, N, K, dtype="float8_e4m3fn", out_dtype="bfloat16", block_M=128, stages=4, threads=256, panel=8,
):  # fmt: skip
    """A [M, K] and B [N, K] of float8, scales SA [K / 128, M] and SB [N / 128, K / 128] of float32 (both rounded up):
    C [M, N]. panel: rows of tiles whose blocks run together."""
    steps = T.ceildiv(K, BLOCK)

    @T.prim_func
    def block_scaled_gemm_kernel(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((N, K), dtype),
        SA: T.Tensor((steps, M), "float32"),
        SB: T.Tensor((T.ceildiv(N, BLOCK), steps), "float32"),
        C: T.Tensor((M, N), out_dtype),
    ):
        with T.Kernel(T.ceildiv(N, BLOCK), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, BLOCK), dtype)
            B_shared = T.alloc_shared((BLOCK, BLOCK), dtype)
            scale_shared = T.alloc_shared((block_M,), "float32")
            scale = T.alloc_fragment((block_M,), "float32")
            part = T.alloc_fragment((block_M, BLOCK), "float32")
            total = T.alloc_fragment((block_M, BLOCK), "float32")
            T.use_swizzle(panel, enable=panel > 0)
            T.clear(total)
            for k in T.Pipelined(steps, num_stages=stages):
                T.copy(A[by * block_M, k * BLOCK], A_shared)
                T.copy(B[bx * BLOCK, k * BLOCK], B_shared)
                T.copy(SA[k, by * block_M : (by + 1) * block_M], scale_shared)
                for i in T.Parallel(block_M):  # read before the product, which runs while they arrive
                    scale[i] = scale_shared[i] * SB[bx, k]
                T.gemm(A_shared, B_shared, part, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(block_M, BLOCK):
                    total[i, j] += part[i, j] * scale[i]
            T.copy(total, C[by * block_M, bx * BLOCK])

    return block_scaled_gemm_kernel


def blocks_of(matrix, rows):
    """A float32 matrix as [blocks down, rows, blocks across, 128], filled up with zeros."""
    down, across = -(-matrix.shape[0] // rows), -(-matrix.shape[1] // BLOCK)
    padded = torch.zeros(down * rows, across * BLOCK, device=matrix.device)
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    return padded.view(down, rows, across, BLOCK)


def quantize(matrix, rows, dtype):
    """The matrix in float8, and the scale of each block of ``rows`` x 128: matrix = float8 * scale."""
    blocks = blocks_of(matrix, rows)
    scale = blocks.abs().amax(dim=(1, 3)).clamp(min=1e-12) / LARGEST[dtype]
    scaled = (blocks / scale[:, None, :, None]).flatten(2).flatten(0, 1)[: matrix.shape[0], : matrix.shape[1]]
    return scaled.to(getattr(torch, dtype)).contiguous(), scale


def dequantize(quantized, scale, rows):
    blocks = blocks_of(quantized.float(), rows) * scale[:, None, :, None]
    return blocks.flatten(2).flatten(0, 1)[: quantized.shape[0], : quantized.shape[1]]


EXPLAIN = ["block_scaled_gemm(512, 512, 512)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--m", type=int, default=256)
    parser.add_argument("--n", type=int, default=256)
    parser.add_argument("--k", type=int, default=512)
    parser.add_argument("--dtype", default="float8_e4m3fn", choices=list(LARGEST))
    parser.add_argument("--out-dtype", default="bfloat16", choices=["bfloat16", "float32"])
    options = parser.parse_args(words)
    M, N, K, dtype = options.m, options.n, options.k, options.dtype

    compiled = tilecore.jit(block_scaled_gemm, target=options.target, out_idx=-1)
    kernel = compiled(M, N, K, dtype, options.out_dtype)
    device = kernel.adapter.torch_device()
    # rows of very different sizes, which one scale for the whole matrix would lose
    a, a_scale = quantize(torch.randn(M, K, device=device) * torch.logspace(-3, 3, M, device=device)[:, None], 1, dtype)
    b, b_scale = quantize(torch.randn(N, K, device=device), BLOCK, dtype)
    c = kernel(a, b, a_scale.t().contiguous(), b_scale)
    expected = dequantize(a, a_scale, 1).double() @ dequantize(b, b_scale, BLOCK).double().t()
    size = expected.abs().amax(1, keepdim=True).clamp(min=1e-30)  # of each row; the tensor cores add with 13 bits
    tolerance = 1e-2 if options.out_dtype == "bfloat16" else 2e-3
    torch.testing.assert_close(c.double() / size, expected / size, rtol=0, atol=tolerance)
    print(f"block_scaled_gemm: {M}x{N}x{K} {dtype} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
