"""Residual addition and normalisation in one kernel: S = X + R, Y = norm(S) * W + B for every row, read once.

Blocks of transformers add what a layer computed to the stream beside it, keep the sum, and normalise it for the next
layer. LayerNorm subtracts the mean and divides by the standard deviation; RMSNorm (--rms) divides by the root of the
mean square and has no bias.

    python examples/layer_norm.py --target cpu --rows 1000 --columns 768
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def rows_and_threads(N):
    """The rows of a block, several where they are short, and its threads: at most 64 elements of a row in each."""
    return max(1, 2048 // N), 128 if N <= 8192 else 512


def add_layer_norm(M, N, eps=1e-5, dtype="float16"):
    """X, R, S, Y [M, N]; W, B [N]. Computed in float32, from the sum as S keeps it."""
    block_M, threads = rows_and_threads(N)

    @T.prim_func
    def add_layer_norm_kernel(
        X: T.Tensor((M, N), dtype),
        R: T.Tensor((M, N), dtype),
        W: T.Tensor((N,), dtype),
        B: T.Tensor((N,), dtype),
        S: T.Tensor((M, N), dtype),
        Y: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
            total = T.alloc_fragment((block_M, N), dtype)
            residual = T.alloc_fragment((block_M, N), dtype)
            row = T.alloc_fragment((block_M, N), "float32")
            squares = T.alloc_fragment((block_M, N), "float32")
            mean = T.alloc_fragment((block_M,), "float32")
            scale = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], total)
            T.copy(R[bx * block_M, 0], residual)
            for i, j in T.Parallel(block_M, N):
                total[i, j] += residual[i, j]
            T.copy(total, S[bx * block_M, 0])
            T.copy(total, row)  # as float32
            T.reduce_sum(row, mean, dim=1)
            for i in T.Parallel(block_M):
                mean[i] /= N
            # the variance of the differences: the mean of squares minus the squared mean would lose precision
            for i, j in T.Parallel(block_M, N):
                row[i, j] -= mean[i]
                squares[i, j] = row[i, j] * row[i, j]
            T.reduce_sum(squares, scale, dim=1)
            for i in T.Parallel(block_M):
                scale[i] = T.rsqrt(scale[i] / N + eps)
            for i, j in T.Parallel(block_M, N):
                Y[bx * block_M + i, j] = row[i, j] * scale[i] * T.cast(W[j], "float32") + T.cast(B[j], "float32")

    return add_layer_norm_kernel


def add_rms_norm(M, N, eps=1e-5, dtype="float16"):
    """X, R, S, Y [M, N]; W [N]. Computed in float32, from the sum as S keeps it."""
    block_M, threads = rows_and_threads(N)

    @T.prim_func
    def add_rms_norm_kernel(
        X: T.Tensor((M, N), dtype),
        R: T.Tensor((M, N), dtype),
        W: T.Tensor((N,), dtype),
        S: T.Tensor((M, N), dtype),
        Y: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
            total = T.alloc_fragment((block_M, N), dtype)
            residual = T.alloc_fragment((block_M, N), dtype)
            row = T.alloc_fragment((block_M, N), "float32")
            squares = T.alloc_fragment((block_M, N), "float32")
            scale = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], total)
            T.copy(R[bx * block_M, 0], residual)
            for i, j in T.Parallel(block_M, N):
                total[i, j] += residual[i, j]
            T.copy(total, S[bx * block_M, 0])
            T.copy(total, row)  # as float32
            for i, j in T.Parallel(block_M, N):
                squares[i, j] = row[i, j] * row[i, j]
            T.reduce_sum(squares, scale, dim=1)
            for i in T.Parallel(block_M):
                scale[i] = T.rsqrt(scale[i] / N + eps)
            for i, j in T.Parallel(block_M, N):
                Y[bx * block_M + i, j] = row[i, j] * scale[i] * T.cast(W[j], "float32")

    return add_rms_norm_kernel


EXPLAIN = ["add_layer_norm(1000, 768)", "add_rms_norm(1000, 768)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=768)
    parser.add_argument("--rms", action="store_true", help="RMSNorm instead of LayerNorm")
    options = parser.parse_args(words)
    rows, columns = options.rows, options.columns

    factory, outputs = (add_rms_norm, [3, 4]) if options.rms else (add_layer_norm, [4, 5])
    kernel = tilecore.jit(factory, target=options.target, out_idx=outputs)(rows, columns)
    device = kernel.adapter.torch_device()
    x, r = (3 + torch.randn(2, rows, columns, device=device)).half()
    w, b = torch.randn(2, columns, device=device).half()
    if options.rms:
        s, y = kernel(x, r, w)
        expected = torch.nn.functional.rms_norm((x + r).float(), (columns,), w.float(), 1e-5)
    else:
        s, y = kernel(x, r, w, b)
        expected = torch.nn.functional.layer_norm((x + r).float(), (columns,), w.float(), b.float(), 1e-5)
    torch.testing.assert_close(s, x + r, rtol=0, atol=0)
    torch.testing.assert_close(y.float(), expected, rtol=2e-3, atol=2e-3)
    print(f"layer_norm: {rows}x{columns}, {'rms' if options.rms else 'layer'}, right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
