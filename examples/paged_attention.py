"""Decoding with a paged cache: one new query a sequence, whose keys and values lie in pages anywhere in memory.

Table[b, p] is the page that holds tokens p * page_size to (p + 1) * page_size - 1 of sequence b. There are few queries
and many keys, so the keys of a sequence are partitioned among ``splits`` blocks; each stores a partial softmax: the
weighted sum of values and the log of the sum of weights. A second kernel combines them (as Flash-Decoding does). The
query heads that share keys are the rows of one matrix product, so that the cache is read once for all of them.

    python examples/paged_attention.py --target cpu --lengths 300 33 1 --heads 8 --kv-heads 2 --splits 3
"""

import argparse
import math

import torch

import tilecore
import tilecore.language as T


def paged_attention(
    batch, heads, kv_heads, dim, pages_each, page_size=64, splits=4, block_N=64, stages=2, threads=128,
    dtype="float16", heads_each=1, eviction_policy="auto",
):  # fmt: skip
    """Q, Out [batch, heads, dim]; K, V [pages, page_size, kv_heads, dim]; Table [batch, pages_each], Length [batch],
    int32. Entries of Table behind the last token of a sequence may be anything; slots of its last page behind it hold
    finite numbers, which get the weight 0. A length of 0 gives zeros. heads_each: how many heads of the cache a block
    visits at once; those of one token are neighbours in memory. eviction_policy: of the L2 cache for keys and values,
    which no other block reads; "auto" is evict_first for eight parts and more, and no policy for fewer, where that was
    up to 5 % faster."""
    if eviction_policy == "auto":
        eviction_policy = "evict_first" if splits >= 8 else None
    if heads % kv_heads:
        raise ValueError(f"heads ({heads}) must be a multiple of kv_heads ({kv_heads})")
    if block_N % page_size:
        raise ValueError(f"a tile of {block_N} keys must be a whole number of pages of {page_size}")
    if kv_heads % heads_each:
        raise ValueError(f"heads_each ({heads_each}) must divide kv_heads ({kv_heads})")
    numbers = [*range(heads_each)]  # a list: loops over it are unrolled while the kernel is built
    group = heads // kv_heads
    block_H = T.align_up(group, 16)  # rows of a product: the smallest that matrix instructions have
    tile_pages = block_N // page_size
    to_log2 = 1 / math.log(2) / dim**0.5  # exp(x / sqrt(dim)) = exp2(x * to_log2)
    pages = T.dynamic("pages")

    @T.prim_func
    def paged_attention_kernel(
        Q: T.Tensor((batch, heads, dim), dtype),
        K: T.Tensor((pages, page_size, kv_heads, dim), dtype),
        V: T.Tensor((pages, page_size, kv_heads, dim), dtype),
        Table: T.Tensor((batch, pages_each), "int32"),
        Length: T.Tensor((batch,), "int32"),
        Out: T.Tensor((batch, heads, dim), dtype),
    ):
        if splits > 1:
            Part = T.alloc_global((batch, heads, splits, dim), "float32")
            Log = T.alloc_global((batch, heads, splits), "float32")  # to base 2

        with T.Kernel(splits, kv_heads // heads_each, batch, threads=threads) as (split, of_heads, b):
            # a tile or fragment for each of the block's heads of the cache
            Q_shared = [T.alloc_shared((block_H, dim), dtype) for _ in numbers]
            K_shared = [T.alloc_shared((block_N, dim), dtype) for _ in numbers]
            V_shared = [T.alloc_shared((block_N, dim), dtype) for _ in numbers]
            out = [T.alloc_fragment((block_H, dim), "float32") for _ in numbers]
            largest = [T.alloc_fragment((block_H,), "float32") for _ in numbers]
            total = [T.alloc_fragment((block_H,), "float32") for _ in numbers]
            scores = T.alloc_fragment((block_H, block_N), "float32")
            weights = T.alloc_fragment((block_H, block_N), dtype)
            largest_before = T.alloc_fragment((block_H,), "float32")
            rescale = T.alloc_fragment((block_H,), "float32")
            tile_total = T.alloc_fragment((block_H,), "float32")

            length = Length[b]
            tiles = T.ceildiv(length, block_N)
            each = T.ceildiv(tiles, splits)
            first = split * each
            for n in numbers:
                head = (of_heads * heads_each + n) * group
                T.copy(Q[b, head : head + block_H, :], Q_shared[n])  # rows from group on are not used
                T.clear(out[n])
                T.clear(total[n])
                T.fill(largest[n], -T.infinity("float32"))
            for k in T.Pipelined(T.max(T.min(each, tiles - first), 0), num_stages=stages):
                key = (first + k) * block_N
                for p in [*range(tile_pages)]:
                    at = key // page_size + p
                    rows = slice(p * page_size, (p + 1) * page_size)
                    page = T.if_then_else(at * page_size < length, Table[b, at], 0)
                    for n in numbers:
                        h_kv = of_heads * heads_each + n
                        T.copy(K[page, :, h_kv, :], K_shared[n][rows, :], eviction_policy=eviction_policy)
                        T.copy(V[page, :, h_kv, :], V_shared[n][rows, :], eviction_policy=eviction_policy)
                for n in numbers:
                    T.gemm(Q_shared[n], K_shared[n], scores, transpose_B=True, clear_accum=True)
                    for i, j in T.Parallel(block_H, block_N):
                        scores[i, j] = T.if_then_else(key + j < length, scores[i, j], -T.infinity("float32"))

                    T.copy(largest[n], largest_before)
                    T.reduce_max(scores, largest[n], dim=1, clear=False)
                    for i in T.Parallel(block_H):
                        rescale[i] = T.exp2(largest_before[i] * to_log2 - largest[n][i] * to_log2)
                    for i, j in T.Parallel(block_H, block_N):
                        offset = largest[n][i] * to_log2  # rounded by itself: what follows is one fused multiply-add
                        scores[i, j] = T.exp2(scores[i, j] * to_log2 - offset)
                    T.reduce_sum(scores, tile_total, dim=1)
                    for i in T.Parallel(block_H):
                        total[n][i] = total[n][i] * rescale[i] + tile_total[i]
                    for i, j in T.Parallel(block_H, dim):
                        out[n][i, j] *= rescale[i]
                    T.copy(scores, weights)
                    T.gemm(weights, V_shared[n], out[n])
            for n in numbers:
                head = (of_heads * heads_each + n) * group
                if splits == 1:
                    for i, j in T.Parallel(block_H, dim):
                        if i < group:
                            Out[b, head + i, j] = T.if_then_else(total[n][i] > 0, out[n][i, j] / total[n][i], 0)
                else:  # a split without keys has weight 2 ** -infinity = 0 below
                    for i, j in T.Parallel(block_H, dim):
                        if i < group:
                            Part[b, head + i, split, j] = T.if_then_else(total[n][i] > 0, out[n][i, j] / total[n][i], 0)
                    for i in T.Parallel(block_H):
                        if i < group:
                            Log[b, head + i, split] = T.log2(total[n][i]) + largest[n][i] * to_log2

        if splits > 1:
            with T.Kernel(heads, batch, threads=threads) as (h, b):
                parts = T.alloc_fragment((splits, dim), "float32")
                shares = T.alloc_fragment((splits,), "float32")
                most = T.alloc_fragment((1,), "float32")
                whole = T.alloc_fragment((1,), "float32")
                out = T.alloc_fragment((dim,), "float32")
                T.copy(Log[b, h, :], shares)
                T.reduce_max(shares, most, dim=0)
                for s in T.Parallel(splits):
                    shares[s] = T.if_then_else(Length[b] > 0, T.exp2(shares[s] - most[0]), 1)
                T.reduce_sum(shares, whole, dim=0)
                for s, j in T.Parallel(splits, dim):
                    parts[s, j] = Part[b, h, s, j] * (shares[s] / whole[0])
                T.reduce_sum(parts, out, dim=0)
                T.copy(out, Out[b, h, :])

    return paged_attention_kernel


def reference(q, k_cache, v_cache, table, lengths):
    """Sequence by sequence, by torch in float32: its pages are gathered first."""
    rows = []
    for query, pages, length in zip(q.float(), table, lengths, strict=True):
        used = pages[: -(-length // k_cache.shape[1])].long()
        k, v = (cache[used].flatten(0, 1)[:length].float().transpose(0, 1) for cache in (k_cache, v_cache))
        k, v = (x.repeat_interleave(q.shape[1] // k_cache.shape[2], dim=0) for x in (k, v))
        scores = query[:, None] @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=-1) @ v)[:, 0])
    return torch.stack(rows)


EXPLAIN = ["paged_attention(3, 8, 2, 64, 5)"]  # for `tilecore explain --targets`


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--lengths", type=int, nargs="+", default=[300, 33, 1], help="tokens of each sequence so far")
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--kv-heads", type=int, default=2)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--page-size", type=int, default=64, help="tokens of a page; tiles of whole pages load best")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--heads-each", type=int, default=1, help="heads of the cache that a block visits")
    options = parser.parse_args(words)
    heads, kv_heads, dim, lengths, size = (
        options.heads, options.kv_heads, options.dim, options.lengths, options.page_size
    )  # fmt: skip
    pages_each = -(-max(lengths) // size)

    kernel = tilecore.jit(paged_attention, target=options.target, out_idx=-1)(
        len(lengths), heads, kv_heads, dim, pages_each, page_size=size, splits=options.splits,
        heads_each=options.heads_each,
    )  # fmt: skip
    device = kernel.adapter.torch_device()
    q = torch.randn(len(lengths), heads, dim, device=device).half()
    pages = len(lengths) * pages_each + 3
    k_cache, v_cache = torch.randn(2, pages, size, kv_heads, dim, device=device).half()
    table = torch.randperm(pages, device=device)[: len(lengths) * pages_each].view(len(lengths), pages_each)
    used = torch.arange(pages_each) * size < torch.tensor(lengths)[:, None]
    table = torch.where(used.to(device), table, -1).to(torch.int32)  # pages that no token needs are not there
    out = kernel(q, k_cache, v_cache, table, torch.tensor(lengths, dtype=torch.int32, device=device))
    expected = reference(q, k_cache, v_cache, table, lengths)
    torch.testing.assert_close(out.float(), expected, rtol=2e-3, atol=2e-3)
    print(f"paged_attention: {len(lengths)} sequences in {pages} pages right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
