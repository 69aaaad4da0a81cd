"""A kernel of h200_row_variants.py that no example has: softmax of rows that tensor maps bring to shared memory."""

from __future__ import annotations

from typing import Any

import tilecore.language as T

LOG2_E = 1.4426950408889634
LOWEST = -3.4028234663852886e38
BOX = 256  # elements that a tensor map copies along an axis


def softmax_in_shared_memory(
    M: int, N: int, blocks: int, threads: int = 256, resident: int = 4, dtype: str = "float16"
) -> Any:
    """As softmax_over_clusters of examples/softmax.py. One thread starts the copies of a block's part of the row, which
    take no registers while they are under way, so that more blocks fit on a multiprocessor. blocks: 2, 4 or 8."""
    size = 16 // T.dtype(dtype).itemsize
    columns = N // blocks
    pieces = columns // size
    if N % (blocks * BOX):
        raise ValueError(f"{N} columns are not divided into {blocks} parts of whole boxes of {BOX}")

    @T.prim_func
    def softmax_in_shared_memory_kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(M, blocks, threads=threads, cluster_dims=(1, blocks, 1)) as (bx, part):
            T.annotate_min_blocks_per_sm(resident)
            row = T.alloc_shared((columns,), dtype)
            terms = T.alloc_fragment((pieces, size), "float32")
            largest_of = T.alloc_fragment((pieces,), "float32")
            total_of = T.alloc_fragment((pieces,), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            of_blocks = T.alloc_shared((2, blocks), "float32")
            loaded = T.alloc_cluster_barrier(1, wait=False)
            landed = T.alloc_cluster_barrier(1, wait=False)
            largest_of_row = T.alloc_var("float32", init=LOWEST)
            total_of_row = T.alloc_var("float32", init=0.0)

            first = part * columns
            T.tma_copy(X[bx, first : first + columns], row, barrier=loaded, annotations={"emit_arrive": 1})
            T.cluster_wait()
            T.mbarrier_wait_parity(loaded, 0)
            for i, j in T.Parallel(pieces, size):
                terms[i, j] = row[i * size + j]
            T.reduce_max(terms, largest_of, dim=1)
            T.reduce_max(largest_of, largest, dim=0)
            for i, j in T.Parallel(pieces, size):
                terms[i, j] = T.exp2((T.cast(row[i * size + j], "float32") - largest[0]) * LOG2_E)
            T.reduce_sum(terms, total_of, dim=1)
            T.reduce_sum(total_of, total, dim=0)

            if T.get_thread_binding() == 0:
                T.mbarrier_arrive_expect_tx(landed, 8 * blocks)
            for b in T.Parallel(blocks):
                T.cluster_store_async(of_blocks[0, part], largest[0], dst_block=b, barrier=landed)
                T.cluster_store_async(of_blocks[1, part], total[0], dst_block=b, barrier=landed)
            T.mbarrier_wait_parity(landed, 0)
            for b in T.unroll(blocks):
                largest_of_row = T.max(largest_of_row, of_blocks[0, b])
            for b in T.unroll(blocks):
                total_of_row += of_blocks[1, b] * T.exp2((of_blocks[0, b] - largest_of_row) * LOG2_E)
            offset = T.log2(total_of_row)
            for i, j in T.Parallel(pieces, size):
                Y[bx, first + i * size + j] = T.exp2(
                    (T.cast(row[i * size + j], "float32") - largest_of_row) * LOG2_E - offset
                )

    return softmax_in_shared_memory_kernel
