"""Softmax of every row of a matrix, in float32, by the length of a row:

- up to 8192 columns: 128 threads hold rows in registers, several rows where they are short,
- up to 32768: 1024 threads hold a row in registers as float32, and reduce it in pieces,
- longer: two passes over the row in memory, tile by tile.

Where the target has clusters of blocks (cuda -arch=sm_90a), 512 threads hold 16-bit rows of up to 16384 columns in
their own type, and convert them where they use them. Of longer rows each block of a cluster holds a part.

    python examples/softmax.py --target cpu --rows 4096 --columns 1000
"""

import argparse

import torch
from tilecore.utils.target import determine_target

import tilecore
import tilecore.language as T

LOG2_E = 1.4426950408889634  # exp(x) = 2 ** (x * LOG2_E)
LOWEST = -3.4028234663852886e38  # of float32; no infinity: -inf - -inf is no number


# Measured on an H200: most with 32 columns of a row in each thread, and blocks of 256 threads.
COLUMNS_OF_BLOCK = 8192
MOST_BLOCKS = 8  # of a cluster, on every device that has clusters
# of a row over a cluster. (The compiler of CUDA keeps as float32, too, what it has converted from bfloat16.)
MOST_COLUMNS = {"float16": 262144, "bfloat16": 131072, "float32": 131072}


def softmax(M, N, dtype="float32", clusters=False):
    """Y[i, j] = exp(X[i, j]) / sum(exp(X[i, :])). X, Y [M, N]. clusters: whether the target has clusters of blocks, and
    so many registers as an H200."""
    if N <= 8192:
        return softmax_of_rows(M, N, max(1, 2048 // N), dtype=dtype)
    if clusters and N <= 16384 and dtype != "float32":
        return softmax_of_long_rows(M, N, dtype=dtype)
    if clusters and 16384 < N <= MOST_COLUMNS[dtype]:
        return softmax_over_clusters(M, N, **part_of_rows(N, dtype), dtype=dtype)
    return softmax_in_pieces(M, N, dtype=dtype) if N <= 32768 else softmax_of_endless_rows(M, N, dtype=dtype)


def part_of_rows(N, dtype):
    """Blocks of a cluster for rows of N columns, their threads, and the type in which they keep their part."""
    blocks = tilecore.next_power_of_2(T.ceildiv(N, COLUMNS_OF_BLOCK))
    if blocks <= MOST_BLOCKS:
        return {"blocks": blocks, "threads": 256, "resident": 4}
    return {"blocks": MOST_BLOCKS, "threads": 512, "resident": 2, "kept": "float32" if N <= 131072 else dtype}


def has_clusters(target):
    """Whether a target has clusters of blocks: CUDA C++ for sm_90 and newer."""
    resolved = determine_target(target, return_object=True)
    if resolved.kind != "cuda" or resolved.get("language") != "c++":
        return False
    return int("".join(filter(str.isdigit, resolved.get("arch")))) >= 90


def softmax_of_rows(M, N, block_M, threads=128, dtype="float32"):
    @T.prim_func
    def softmax_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
            row = T.alloc_fragment((block_M, N), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            scale = T.alloc_fragment((block_M,), "float32")
            T.copy(X[bx * block_M, 0], row)
            T.reduce_max(row, largest, dim=1)
            for i, j in T.Parallel(block_M, N):
                row[i, j] = T.exp2((row[i, j] - largest[i]) * LOG2_E)
            T.reduce_sum(row, scale, dim=1)
            for i in T.Parallel(block_M):
                scale[i] = 1 / scale[i]
            for i, j in T.Parallel(block_M, N):
                row[i, j] *= scale[i]
            T.copy(row, Y[bx * block_M, 0])

    return softmax_kernel


def softmax_of_long_rows(M, N, threads=512, dtype="float32"):
    @T.prim_func
    def softmax_of_long_rows_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=threads) as bx:
            T.annotate_min_blocks_per_sm(2)  # one block loads while another computes
            row = T.alloc_fragment((N,), dtype)
            # every thread has its own largest value and sum; finalize_reducer combines them
            largest = T.alloc_reducer((1,), "float32", op="max")
            total = T.alloc_reducer((1,), "float32", op="sum")
            T.copy(X[bx, 0:N], row)
            T.fill(largest, -T.infinity("float32"))
            for j in T.Parallel(N):
                largest[0] = T.max(largest[0], T.cast(row[j], "float32"))
            T.finalize_reducer(largest)
            T.fill(total, 0)
            for j in T.Parallel(N):
                total[0] += T.exp2((T.cast(row[j], "float32") - largest[0]) * LOG2_E)
            T.finalize_reducer(total)
            # exp(x - largest) / total = 2 ** ((x - largest) * LOG2_E - log2(total))
            for j in T.Parallel(N):
                Y[bx, j] = T.exp2((T.cast(row[j], "float32") - largest[0]) * LOG2_E - T.log2(total[0]))

    return softmax_of_long_rows_kernel


def softmax_over_clusters(M, N, blocks, threads=512, resident=2, kept=None, dtype="float16"):
    """The blocks of a cluster hold a part of a row each. Each computes its largest value and the sum relative to it,
    and writes both to the shared memory of all blocks of the cluster, where an mbarrier counts the bytes.

    resident: blocks that a multiprocessor runs at once, some of which load while others compute. kept: the type in
    which a part is kept; as float32 each exponential is computed once, in a narrower type it takes less registers.
    """
    size = 16 // T.dtype(dtype).itemsize  # of a piece, which one thread loads at once
    pieces = T.ceildiv(N, size * blocks)  # of a block
    kept = kept or dtype

    @T.prim_func
    def softmax_over_clusters_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, blocks, threads=threads, cluster_dims=(1, blocks, 1)) as (bx, part):
            T.annotate_safe_value({X: -T.infinity(dtype)})  # of what is read behind the end of a row
            T.annotate_min_blocks_per_sm(resident)
            row = T.alloc_fragment((pieces, size), kept)
            terms = T.alloc_fragment((pieces, size), "float32")
            largest_of = T.alloc_fragment((pieces,), "float32")
            total_of = T.alloc_fragment((pieces,), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            factor = T.alloc_fragment((1,), "float32")
            largest_of_block = T.alloc_shared((blocks,), "float32")
            total_of_block = T.alloc_shared((blocks,), "float32")
            landed = T.alloc_cluster_barrier(1, wait=False)
            largest_of_row = T.alloc_var("float32", init=LOWEST)
            total_of_row = T.alloc_var("float32", init=0.0)

            for i, j in T.Parallel(pieces, size):
                row[i, j] = X[bx, (part * pieces + i) * size + j]
            for i, j in T.Parallel(pieces, size):
                terms[i, j] = row[i, j]
            T.fill(largest_of, LOWEST)
            T.reduce_max(terms, largest_of, dim=1, clear=False)
            T.reduce_max(largest_of, largest, dim=0)
            for i, j in T.Parallel(pieces, size):
                terms[i, j] = T.exp2((T.cast(row[i, j], "float32") - largest[0]) * LOG2_E)
            T.reduce_sum(terms, total_of, dim=1)
            T.reduce_sum(total_of, total, dim=0)

            T.cluster_wait()  # all blocks have initialized their barriers
            if T.get_thread_binding() == 0:
                T.mbarrier_arrive_expect_tx(landed, 8 * blocks)
            for b in T.Parallel(blocks):
                T.cluster_store_async(largest_of_block[part], largest[0], dst_block=b, barrier=landed)
                T.cluster_store_async(total_of_block[part], total[0], dst_block=b, barrier=landed)
            T.mbarrier_wait_parity(landed, 0)
            for b in T.unroll(blocks):
                largest_of_row = T.max(largest_of_row, largest_of_block[b])
            for b in T.unroll(blocks):
                total_of_row += total_of_block[b] * T.exp2((largest_of_block[b] - largest_of_row) * LOG2_E)

            if kept == "float32":
                for i in T.Parallel(1):
                    factor[i] = T.exp2((largest[i] - largest_of_row) * LOG2_E) / total_of_row
                for i, j in T.Parallel(pieces, size):
                    Y[bx, (part * pieces + i) * size + j] = terms[i, j] * factor[0]
            else:
                offset = T.log2(total_of_row)
                for i, j in T.Parallel(pieces, size):
                    Y[bx, (part * pieces + i) * size + j] = T.exp2(
                        (T.cast(row[i, j], "float32") - largest_of_row) * LOG2_E - offset
                    )

    return softmax_over_clusters_kernel


def softmax_in_pieces(M, N, threads=1024, dtype="float32"):
    """A piece of 8 neighbours has its own largest value, which one thread knows as soon as it has loaded the piece, and
    its exponentials are relative to that. They become relative to the row's largest value with the last factor."""
    pieces = T.ceildiv(N, 8)

    @T.prim_func
    def softmax_in_pieces_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=threads) as bx:
            T.annotate_safe_value({X: -T.infinity(dtype)})  # of what is read behind the end of a row
            row = T.alloc_fragment((pieces, 8), "float32")
            largest_of = T.alloc_fragment((pieces,), "float32")
            total_of = T.alloc_fragment((pieces,), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            for i, j in T.Parallel(pieces, 8):
                row[i, j] = X[bx, i * 8 + j]
            T.fill(largest_of, LOWEST)
            T.reduce_max(row, largest_of, dim=1, clear=False)
            for i, j in T.Parallel(pieces, 8):
                row[i, j] = T.exp2((row[i, j] - largest_of[i]) * LOG2_E)
            T.reduce_sum(row, total_of, dim=1)
            T.reduce_max(largest_of, largest, dim=0)
            for i in T.Parallel(pieces):
                largest_of[i] = T.exp2((largest_of[i] - largest[0]) * LOG2_E)
                total_of[i] *= largest_of[i]
            T.reduce_sum(total_of, total, dim=0)
            for i in T.Parallel(pieces):
                largest_of[i] /= total[0]
            for i, j in T.Parallel(pieces, 8):
                Y[bx, i * 8 + j] = row[i, j] * largest_of[i]

    return softmax_in_pieces_kernel


def softmax_of_endless_rows(M, N, block_N=4096, threads=512, dtype="float32"):
    """The first pass keeps the largest value of each column of the tiles so far, and the sum relative to it."""

    @T.prim_func
    def softmax_of_endless_rows_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, threads=threads) as bx:
            T.annotate_safe_value({X: -T.infinity(dtype)})  # what a copy reads behind the end of a row
            tile = T.alloc_fragment((block_N,), "float32")
            largest_of = T.alloc_fragment((block_N,), "float32")
            total_of = T.alloc_fragment((block_N,), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.fill(largest_of, LOWEST)
            T.fill(total_of, 0)
            for k in T.serial(T.ceildiv(N, block_N)):
                T.copy(X[bx, k * block_N], tile)
                for j in T.Parallel(block_N):
                    before = largest_of[j]
                    largest_of[j] = T.max(before, tile[j])
                    total_of[j] *= T.exp2((before - largest_of[j]) * LOG2_E)
                    total_of[j] += T.exp2((tile[j] - largest_of[j]) * LOG2_E)
            T.reduce_max(largest_of, largest, dim=0)
            for j in T.Parallel(block_N):
                total_of[j] *= T.exp2((largest_of[j] - largest[0]) * LOG2_E)
            T.reduce_sum(total_of, total, dim=0)
            for k in T.serial(T.ceildiv(N, block_N)):
                T.copy(X[bx, k * block_N], tile)
                for j in T.Parallel(block_N):
                    tile[j] = T.exp2((tile[j] - largest[0]) * LOG2_E - T.log2(total[0]))
                T.copy(tile, Y[bx, k * block_N])

    return softmax_of_endless_rows_kernel


# for `tilecore explain --targets`
EXPLAIN = [
    "softmax_of_rows(4096, 1000, 2)",
    "softmax_of_long_rows(4096, 32768, dtype='float16')",
    "softmax_over_clusters(2048, 65536, 8, 256, 4, dtype='float16')",
    "softmax_in_pieces(4096, 32768)",
    "softmax_of_endless_rows(4096, 50000)",
]


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16", "bfloat16"])
    options = parser.parse_args(words)

    # exp2 by one instruction: terms too small for the normal range of float32 become 0
    fast = {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}
    compiled = tilecore.jit(softmax, target=options.target, out_idx=-1, pass_configs=fast)
    kernel = compiled(options.rows, options.columns, options.dtype, has_clusters(options.target))
    x = torch.randn(options.rows, options.columns, device=kernel.adapter.torch_device())
    x = x.to(getattr(torch, options.dtype))
    torch.testing.assert_close(kernel(x), torch.softmax(x, dim=1))
    print(f"softmax: {options.rows}x{options.columns} right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
