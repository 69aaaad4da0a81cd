"""Routing of a mixture of experts: the k best experts of every token, and a row of a table for each of them."""

from typing import Any

import tilecore.language as T


def topk_gather(tokens: int, experts: int, dim: int, k: int, block: int = 64, dtype: str = "float16") -> Any:
    """Scores (tokens, experts), float32, to Gates (tokens, k) and Index (tokens, k), the largest scores of each token
    in falling order and where they are; Rows (tokens, k, dim) = Table (experts, dim) at Index."""

    @T.prim_func
    def topk_gather_kernel(
        Scores: T.Tensor((tokens, experts), "float32"),
        Table: T.Tensor((experts, dim), dtype),
        Gates: T.Tensor((tokens, k), "float32"),
        Index: T.Tensor((tokens, k), "int32"),
        Rows: T.Tensor((tokens, k, dim), dtype),
    ):
        with T.Kernel(T.ceildiv(tokens, block), threads=128) as b:
            scores = T.alloc_fragment((block, experts), "float32")
            place = T.alloc_fragment((block, experts), "int32")
            largest, first = T.alloc_fragment((block,), "float32"), T.alloc_fragment((block,), "int32")
            rows = T.alloc_shared((block, dim), dtype)
            T.copy(Scores[b * block, 0], scores)
            for step in T.serial(k):
                T.reduce_max(scores, largest, dim=1)
                for i, j in T.Parallel(block, experts):
                    place[i, j] = T.if_then_else(scores[i, j] == largest[i], j, experts - 1)
                T.reduce_min(place, first, dim=1)
                for i, j in T.Parallel(block, experts):
                    scores[i, j] = T.if_then_else(j == first[i], -T.infinity("float32"), scores[i, j])
                for i, j in T.Parallel(block, dim):
                    rows[i, j] = Table[first[i], j]
                for i in T.Parallel(block):
                    if b * block + i < tokens:
                        Gates[b * block + i, step] = largest[i]
                        Index[b * block + i, step] = first[i]
                T.copy(rows, Rows[b * block : (b + 1) * block, step, :])

    return topk_gather_kernel
