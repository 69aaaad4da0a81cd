"""RMSNorm in half precision: Y = X / sqrt(mean(X^2) + eps) * W for every row, computed in float32.

128 threads hold rows of up to 8192 columns in registers, several rows where they are short, and 512 threads one row of
up to 32768. On targets that have clusters, rows of more than 16384 columns are divided over the blocks of one. Longer
rows than these are read twice from memory, tile by tile.

    python examples/rms_norm.py --target cpu --rows 4096 --columns 1024
"""

import argparse

import torch
from tilecore.utils.target import determine_target

import tilecore
import tilecore.language as T

# Measured on an H200: most with 32 columns of a row in each thread, and blocks of 256 threads.
COLUMNS_OF_BLOCK = 8192
MOST_BLOCKS = 8  # of a cluster, on every device that has clusters
# of a row over a cluster. (The compiler of CUDA keeps as float32, too, what it has converted from bfloat16.)
MOST_COLUMNS = {"float16": 262144, "bfloat16": 131072, "float32": 131072}


def rms_norm(M, N, eps=1e-6, dtype="float16", clusters=False):
    """X, Y [M, N]; W [N]. clusters: whether the target has clusters of blocks."""
    if clusters and 16384 < N <= MOST_COLUMNS[dtype]:
        blocks = min(MOST_BLOCKS, tilecore.next_power_of_2(T.ceildiv(N, COLUMNS_OF_BLOCK)))
        columns_of_256_threads = 131072 if dtype == "float16" else 65536
        threads, resident = (512, 2) if columns_of_256_threads < N else (256, 4)
        return rms_norm_over_clusters(M, N, blocks, threads, resident, eps=eps, dtype=dtype)
    if N <= 32768:
        return rms_norm_of_rows(M, N, max(1, 2048 // N), 128 if N <= 8192 else 512, eps, dtype)
    return rms_norm_of_endless_rows(M, N, eps=eps, dtype=dtype)


def has_clusters(target):
    """Whether a target has clusters of blocks: CUDA C++ for sm_90 and newer."""
    resolved = determine_target(target, return_object=True)
    if resolved.kind != "cuda" or resolved.get("language") != "c++":
        return False
    return int("".join(filter(str.isdigit, resolved.get("arch")))) >= 90


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


def rms_norm_over_clusters(M, N, blocks, threads=512, resident=2, eps=1e-6, dtype="float16"):
    """The blocks of a cluster hold a part of a row each. Each writes the sum of its squares to the shared memory of all
    blocks of the cluster, where an mbarrier counts the bytes.

    resident: blocks that a multiprocessor runs at once, some of which load while others compute.
    """
    size = 16 // T.dtype(dtype).itemsize  # of a piece, which one thread loads at once
    pieces = T.ceildiv(N, size * blocks)  # of a block

    @T.prim_func
    def rms_norm_over_clusters_kernel(X: T.Tensor((M, N), dtype), W: T.Tensor((N,), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, blocks, threads=threads, cluster_dims=(1, blocks, 1)) as (bx, part):
            T.annotate_min_blocks_per_sm(resident)
            row = T.alloc_fragment((pieces, size), dtype)
            squares = T.alloc_fragment((pieces, size), "float32")
            total_of = T.alloc_fragment((pieces,), "float32")
            total = T.alloc_fragment((1,), "float32")
            total_of_block = T.alloc_shared((blocks,), "float32")
            landed = T.alloc_cluster_barrier(1, wait=False)
            total_of_row = T.alloc_var("float32", init=0.0)

            for i, j in T.Parallel(pieces, size):
                row[i, j] = X[bx, (part * pieces + i) * size + j]  # zeros behind the end of a row
            for i, j in T.Parallel(pieces, size):
                squares[i, j] = T.cast(row[i, j], "float32") * T.cast(row[i, j], "float32")
            T.reduce_sum(squares, total_of, dim=1)
            T.reduce_sum(total_of, total, dim=0)

            T.cluster_wait()  # all blocks have initialized their barriers
            if T.get_thread_binding() == 0:
                T.mbarrier_arrive_expect_tx(landed, 4 * blocks)
            for b in T.Parallel(blocks):
                T.cluster_store_async(total_of_block[part], total[0], dst_block=b, barrier=landed)
            T.mbarrier_wait_parity(landed, 0)
            for b in T.unroll(blocks):
                total_of_row += total_of_block[b]

            scale = T.rsqrt(total_of_row / N + eps)
            for i, j in T.Parallel(pieces, size):
                Y[bx, (part * pieces + i) * size + j] = (
                    T.cast(row[i, j], "float32") * scale * T.cast(W[(part * pieces + i) * size + j], "float32")
                )

    return rms_norm_over_clusters_kernel


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
EXPLAIN = [
    "rms_norm_of_rows(4096, 1024, 2, 128)",
    "rms_norm_over_clusters(2048, 65536, 8, 256, 4)",
    "rms_norm_of_endless_rows(4096, 50000)",
]


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--columns", type=int, default=1024)
    options = parser.parse_args(words)

    compiled = tilecore.jit(rms_norm, target=options.target, out_idx=-1)
    kernel = compiled(options.rows, options.columns, clusters=has_clusters(options.target))
    device = kernel.adapter.torch_device()
    x = torch.randn(options.rows, options.columns, device=device, dtype=torch.float16)
    w = torch.randn(options.columns, device=device, dtype=torch.float16)
    expected = torch.nn.functional.rms_norm(x.float(), (options.columns,), w.float(), 1e-6)
    torch.testing.assert_close(kernel(x, w).float(), expected, rtol=2e-3, atol=2e-3)
    print(f"rms_norm: {options.rows}x{options.columns} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
