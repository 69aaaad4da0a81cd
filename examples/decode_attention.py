"""Decoding: attention of one new query a sequence, whose keys are partitioned among blocks (as Flash-Decoding does).

There are few queries and many keys. Each of ``splits`` blocks visits a part of the keys and stores a partial softmax:
the weighted sum of values and the log of the sum of weights; a second kernel combines them. The query heads that share
keys are the rows of one matrix product, so that keys and values are read once for all of them. paged_attention.py is
the same for keys in pages. Without --splits their number and the tiles are what tilecore.heuristics proposes.

    python examples/decode_attention.py --target cpu --batch 2 --heads 8 --kv-heads 2 --length 300 --splits 3
"""

import argparse
import math

import torch

import tilecore
import tilecore.language as T


def decode_attention(
    batch, heads, kv_heads, length, dim, splits=1, block_N=64, stages=2, threads=128, dtype="float16", dim_v=None,
    width=None, block_H=None,
):  # fmt: skip
    """Q [batch, heads, dim]; K [batch, length, kv_heads, dim]; V [batch, length, kv_heads, dim_v]; Out [batch, heads,
    dim_v]. dim_v: dim unless given.

    width: columns of tiles, as in attention.py. block_H: rows of a product, at least heads // kv_heads; 16 is the
    smallest that matrix instructions have."""
    if heads % kv_heads:
        raise ValueError(f"heads ({heads}) must be a multiple of kv_heads ({kv_heads})")
    dim_v, group = dim_v or dim, heads // kv_heads
    block_H = block_H or T.align_up(group, 16)
    if block_H < group:
        raise ValueError(f"block_H ({block_H}) must be at least the {group} query heads that share keys")
    width_k, width_v = width or dim, width or dim_v
    tiles = T.ceildiv(length, block_N)
    each = T.ceildiv(tiles, splits)
    splits = T.ceildiv(tiles, each)  # none of them without work
    to_log2 = 1 / math.log(2) / dim**0.5  # exp(x / sqrt(dim)) = exp2(x * to_log2)
    q_type = T.Tensor((batch, heads, dim), dtype)
    k_type = T.Tensor((batch, length, kv_heads, dim), dtype)
    v_type = T.Tensor((batch, length, kv_heads, dim_v), dtype)
    out_type = T.Tensor((batch, heads, dim_v), dtype)

    @T.macro
    def part_of_keys(Q, K, V, out, total, largest, first, count, h_kv, b):
        """out: the sum of exp(score - largest) * value over ``count`` tiles of keys from ``first``; total: of exp."""
        Q_shared = T.alloc_shared((block_H, width_k), dtype)
        K_shared = T.alloc_shared((block_N, width_k), dtype)
        V_shared = T.alloc_shared((block_N, width_v), dtype)
        scores = T.alloc_fragment((block_H, block_N), "float32")
        weights = T.alloc_fragment((block_H, block_N), dtype)
        largest_before = T.alloc_fragment((block_H,), "float32")
        rescale = T.alloc_fragment((block_H,), "float32")
        tile_total = T.alloc_fragment((block_H,), "float32")

        T.copy(Q[b, h_kv * group : h_kv * group + block_H, 0:width_k], Q_shared)  # rows from group on are not used
        T.clear(out)
        T.clear(total)
        T.fill(largest, -T.infinity("float32"))
        for k in T.Pipelined(count, num_stages=stages):
            key = (first + k) * block_N
            T.copy(K[b, key : key + block_N, h_kv, 0:width_k], K_shared)
            T.copy(V[b, key : key + block_N, h_kv, 0:width_v], V_shared)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, clear_accum=True)
            if length % block_N:
                for i, j in T.Parallel(block_H, block_N):
                    scores[i, j] = T.if_then_else(key + j < length, scores[i, j], -T.infinity("float32"))

            T.copy(largest, largest_before)
            T.reduce_max(scores, largest, dim=1, clear=False)
            for i in T.Parallel(block_H):
                rescale[i] = T.exp2(largest_before[i] * to_log2 - largest[i] * to_log2)
            for i, j in T.Parallel(block_H, block_N):
                offset = largest[i] * to_log2  # rounded by itself: what follows is one fused multiply-add
                scores[i, j] = T.exp2(scores[i, j] * to_log2 - offset)
            T.reduce_sum(scores, tile_total, dim=1)
            for i in T.Parallel(block_H):
                total[i] = total[i] * rescale[i] + tile_total[i]
            for i, j in T.Parallel(block_H, width_v):
                out[i, j] *= rescale[i]
            T.copy(scores, weights)
            T.gemm(weights, V_shared, out)

    @T.prim_func
    def decode_kernel(Q: q_type, K: k_type, V: v_type, Out: out_type):
        with T.Kernel(kv_heads, batch, threads=threads) as (h_kv, b):
            out = T.alloc_fragment((block_H, width_v), "float32")
            largest = T.alloc_fragment((block_H,), "float32")
            total = T.alloc_fragment((block_H,), "float32")
            part_of_keys(Q, K, V, out, total, largest, 0, tiles, h_kv, b)
            for i, j in T.Parallel(block_H, width_v):
                if i < group and j < dim_v:
                    Out[b, h_kv * group + i, j] = out[i, j] / total[i]

    if splits == 1:
        return decode_kernel

    @T.prim_func
    def decode_split_kernel(Q: q_type, K: k_type, V: v_type, Out: out_type):
        Part = T.alloc_global((batch, heads, splits, dim_v), "float32")
        Log = T.alloc_global((batch, heads, splits), "float32")  # to base 2

        with T.Kernel(splits, kv_heads, batch, threads=threads) as (split, h_kv, b):
            out = T.alloc_fragment((block_H, width_v), "float32")
            largest = T.alloc_fragment((block_H,), "float32")
            total = T.alloc_fragment((block_H,), "float32")
            part_of_keys(
                Q, K, V, out, total, largest, split * each, T.min(each, tiles - split * each), h_kv, b
            )  # fmt: skip
            for i, j in T.Parallel(block_H, width_v):
                if i < group and j < dim_v:
                    Part[b, h_kv * group + i, split, j] = out[i, j] / total[i]
            for i in T.Parallel(block_H):
                if i < group:
                    Log[b, h_kv * group + i, split] = T.log2(total[i]) + largest[i] * to_log2

        with T.Kernel(heads, batch, threads=128) as (h, b):
            parts = T.alloc_fragment((splits, dim_v), "float32")
            shares = T.alloc_fragment((splits,), "float32")
            most = T.alloc_fragment((1,), "float32")
            whole = T.alloc_fragment((1,), "float32")
            out = T.alloc_fragment((dim_v,), "float32")
            T.copy(Log[b, h, :], shares)
            T.reduce_max(shares, most, dim=0)
            for s in T.Parallel(splits):
                shares[s] = T.exp2(shares[s] - most[0])
            T.reduce_sum(shares, whole, dim=0)
            for s, j in T.Parallel(splits, dim_v):
                parts[s, j] = Part[b, h, s, j] * (shares[s] / whole[0])
            T.reduce_sum(parts, out, dim=0)
            T.copy(out, Out[b, h, :])

    return decode_split_kernel


def reference(q, k, v):
    """By torch in float32."""
    k, v = (x.float().transpose(1, 2).repeat_interleave(q.shape[1] // x.shape[2], dim=1) for x in (k, v))
    scores = q.float()[:, :, None] @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    return (scores.softmax(dim=-1) @ v)[:, :, 0]


EXPLAIN = ["decode_attention(3, 8, 2, 300, 64, splits=3)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--kv-heads", type=int, default=2)
    parser.add_argument("--length", type=int, default=300, help="keys of each sequence")
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--splits", type=int)
    parser.add_argument("--tries", type=int, default=1, help="configurations to time")
    options = parser.parse_args(words)
    batch, heads, kv_heads, length, dim = (
        options.batch, options.heads, options.kv_heads, options.length, options.dim
    )  # fmt: skip

    compiled = tilecore.jit(decode_attention, target=options.target, out_idx=-1)
    tuned = tilecore.autotune(configs="auto", tries=options.tries)(compiled)
    kernel = tuned(batch, heads, kv_heads, length, dim, **({"splits": options.splits} if options.splits else {}))
    device = kernel.adapter.torch_device()
    q = torch.randn(batch, heads, dim, device=device).half()
    k, v = torch.randn(2, batch, length, kv_heads, dim, device=device).half()
    torch.testing.assert_close(kernel(q, k, v).float(), reference(q, k, v), rtol=2e-3, atol=2e-3)
    print(f"decode_attention: {batch}x{heads}/{kv_heads}, {length} keys of {dim}, right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
