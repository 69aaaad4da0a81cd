"""RMSNorm in half precision: Y = X / sqrt(mean(X^2) + eps) * W for every row, computed in float32.

128 threads hold rows of up to 8192 columns in registers, several rows where they are short, and 512 threads one row of
up to 32768. Longer rows are read twice from memory, tile by tile.

    python examples/rms_norm.py --target cpu --rows 4096 --columns 1024
"""

import argparse

import torch

import tilecore
import tilecore.language as T


def rms_norm(M, N, eps=1e-6, dtype="float16"):
    """X, Y [M, N]; W [N]."""
    if N <= 32768:
        return rms_norm_of_rows(M, N, max(1, 2048 // N), 128 if N <= 8192 else 512, eps, dtype)
    return rms_norm_of_endless_rows(M, N, eps=eps, dtype=dtype)


def rms_norm_of_rows(M, N, block_M, threads, eps=1e-6, dtype="float16"):
    @T.prim_func
    def rms_norm_kernel(X: T.Tensor((M, N), dtype), W: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
            row = T.alloc_fragment((block_M, N), "float32")
            squares = T.alloc_fragment((block_M, N), "float32")
            scale = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], row)  # a copy converts between element types
            for i, j in T.Parallel(block_M, N):
                squares[i, j] = row[i, j] * row[i, j]
            T.reduce_sum(squares, scale, dim=1)
            for i in T.Parallel(block_M):
                scale[i] = T.rsqrt(scale[i] / N + eps)
            for i, j in T.Parallel(block_M, N):
                row[i, j] = row[i, j] * scale[i] * T.cast(W[j], "float32")
            T.copy(row, Y[bx * block_M, 0])

    return rms_norm_kernel


def rms_norm_of_endless_rows(M, N, block_N=4096, threads=512, eps=1e-6, dtype="float16"):
    @T.prim_func
    def rms_norm_of_endless_rows_kernel(
        X: T.Tensor((M, N), dtype), W: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)
    ):
        with T.Kernel(M, threads=threads) as bx:
            tile = T.alloc_fragment((block_N,), "float32")
            weight = T.alloc_fragment((block_N,), "float32")
            squares = T.alloc_fragment((block_N,), "float32")
            scale = T.alloc_fragment((1,), "float32")
            T.fill(squares, 0)
            for k in T.serial(T.ceildiv(N, block_N)):
                T.copy(X[bx, k * block_N], tile)  # zeros behind the end of a row
                for j in T.Parallel(block_N):
                    squares[j] += tile[j] * tile[j]
            T.reduce_sum(squares, scale, dim=0)
            scale[0] = T.rsqrt(scale[0] / N + eps)
            for k in T.serial(T.ceildiv(N, block_N)):
                T.copy(X[bx, k * block_N], tile)
                T.copy(W[k * block_N], weight)
                for j in T.Parallel(block_N):
                    tile[j] *= scale[0] * weight[j]
                T.copy(tile, Y[bx, k * block_N])

    return rms_norm_of_endless_rows_kernel


# for `tilecore explain --targets`
EXPLAIN = ["rms_norm_of_rows(4096, 1024, 2, 128)", "rms_norm_of_endless_rows(4096, 50000)"]


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--columns", type=int, default=1024)
    options = parser.parse_args(words)

    kernel = tilecore.jit(rms_norm, target=options.target, out_idx=-1)(options.rows, options.columns)
    device = kernel.adapter.torch_device()
    x = torch.randn(options.rows, options.columns, device=device, dtype=torch.float16)
    w = torch.randn(options.columns, device=device, dtype=torch.float16)
    expected = torch.nn.functional.rms_norm(x.float(), (options.columns,), w.float(), 1e-6)
    torch.testing.assert_close(kernel(x, w).float(), expected, rtol=2e-3, atol=2e-3)
    print(f"rms_norm: {options.rows}x{options.columns} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
