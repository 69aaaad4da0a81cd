"""Attention over sequences of different lengths, packed one after the other, without padding.

Sequence b has the rows starts[b] to starts[b + 1] of the packed tensor. Blocks cover the longest sequence that the
kernel is made for; those past the end of their own do nothing. Queries and keys have starts of their own: with fewer
queries than keys the queries are the last ones (a prompt that continues what is in the cache). The total lengths are
read from the tensors, so one kernel serves every batch of as many sequences.

    python examples/attention_varlen.py --target cpu --lengths 100 7 250 --heads 4 --kv-heads 2 --causal
"""

import argparse
import itertools
import math

import torch

import tilecore
import tilecore.language as T


def attention_varlen(
    batch, longest, heads, kv_heads, dim, is_causal=False, block_M=64, block_N=64, stages=2, threads=128,
    dtype="float16",
):  # fmt: skip
    """Q, Out [all queries, heads, dim]; K, V [all keys, kv_heads, dim]; QStart, KStart [batch + 1], int32.

    No sequence has more than ``longest`` queries. Each has a key at least; causal: as many keys as queries at least.
    Values are finite: a tile may reach into the next sequence, whose values get the weight 0.
    """
    if heads % kv_heads:
        raise ValueError(f"heads ({heads}) must be a multiple of kv_heads ({kv_heads})")
    group = heads // kv_heads
    to_log2 = 1 / math.log(2) / dim**0.5  # exp(x / sqrt(dim)) = exp2(x * to_log2)
    queries, keys = T.dynamic("queries, keys")
    # causal: the diagonal may begin anywhere in a tile, and then runs through one tile more than a block is long
    masked_tiles = T.ceildiv(block_M, block_N) + 1 if is_causal else 1

    @T.prim_func
    def attention_varlen_kernel(
        Q: T.Tensor((queries, heads, dim), dtype),
        K: T.Tensor((keys, kv_heads, dim), dtype),
        V: T.Tensor((keys, kv_heads, dim), dtype),
        QStart: T.Tensor((batch + 1,), "int32"),
        KStart: T.Tensor((batch + 1,), "int32"),
        Out: T.Tensor((queries, heads, dim), dtype),
    ):
        with T.Kernel(T.ceildiv(longest, block_M), heads, batch, threads=threads) as (bx, h, b):
            Q_shared = T.alloc_shared((block_M, dim), dtype)
            K_shared = T.alloc_shared((block_N, dim), dtype)
            V_shared = T.alloc_shared((block_N, dim), dtype)
            scores = T.alloc_fragment((block_M, block_N), "float32")
            weights = T.alloc_fragment((block_M, block_N), dtype)
            out = T.alloc_fragment((block_M, dim), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            largest_before = T.alloc_fragment((block_M,), "float32")
            rescale = T.alloc_fragment((block_M,), "float32")
            tile_total = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")

            row = bx * block_M
            q_start, q_length = QStart[b], QStart[b + 1] - QStart[b]
            k_start, k_length = KStart[b], KStart[b + 1] - KStart[b]
            before = k_length - q_length  # causal: query i sees the keys up to before + i
            if row < q_length:
                end = T.min(before + row + block_M, k_length) if is_causal else k_length
                last = (end - 1) // block_N
                T.copy(Q[q_start + row : q_start + row + block_M, h, :], Q_shared)
                T.clear(out)
                T.clear(total)
                T.fill(largest, -T.infinity("float32"))
                for k in T.Pipelined(last + 1, num_stages=stages):
                    key = (last - k) * block_N  # from the last tile to the first
                    T.copy(K[k_start + key : k_start + key + block_N, h // group, :], K_shared)
                    T.gemm(Q_shared, K_shared, scores, transpose_B=True, clear_accum=True)
                    # the tile may reach into the keys of the next sequence: they get no weight
                    if k < masked_tiles:
                        for i, j in T.Parallel(block_M, block_N):
                            seen = T.min(before + row + i + 1, k_length) if is_causal else k_length
                            scores[i, j] = T.if_then_else(key + j < seen, scores[i, j], -T.infinity("float32"))

                    T.copy(largest, largest_before)
                    T.reduce_max(scores, largest, dim=1, clear=False)
                    for i in T.Parallel(block_M):
                        # where no key was seen yet: minus infinity must not be subtracted from itself
                        nothing = largest[i] == -T.infinity("float32")
                        largest[i] = T.if_then_else(nothing, -1e30, largest[i])
                        rescale[i] = T.exp2(largest_before[i] * to_log2 - largest[i] * to_log2)
                    for i, j in T.Parallel(block_M, block_N):
                        offset = largest[i] * to_log2  # rounded by itself: what follows is one fused multiply-add
                        scores[i, j] = T.exp2(scores[i, j] * to_log2 - offset)
                    T.reduce_sum(scores, tile_total, dim=1)
                    for i in T.Parallel(block_M):
                        total[i] = total[i] * rescale[i] + tile_total[i]
                    for i, j in T.Parallel(block_M, dim):
                        out[i, j] *= rescale[i]

                    T.copy(scores, weights)
                    T.copy(V[k_start + key : k_start + key + block_N, h // group, :], V_shared)
                    T.gemm(weights, V_shared, out)
                for i, j in T.Parallel(block_M, dim):
                    if row + i < q_length:  # what follows belongs to the next sequence
                        Out[q_start + row + i, h, j] = out[i, j] / total[i]

    return attention_varlen_kernel


def reference(q, k, v, q_starts, k_starts, is_causal):
    """Sequence by sequence, by torch in float32."""
    parts = []
    for (q0, q1), (k0, k1) in zip(itertools.pairwise(q_starts), itertools.pairwise(k_starts), strict=True):
        one_q, one_k, one_v = (x.float().transpose(0, 1) for x in (q[q0:q1], k[k0:k1], v[k0:k1]))
        one_k, one_v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=0) for x in (one_k, one_v))
        scores = one_q @ one_k.transpose(1, 2) / q.shape[-1] ** 0.5
        if is_causal:
            unseen = torch.ones_like(scores[0], dtype=torch.bool).triu(1 + (k1 - k0) - (q1 - q0))
            scores = scores.masked_fill(unseen, -torch.inf)
        parts.append((scores.softmax(dim=-1) @ one_v).transpose(0, 1))
    return torch.cat(parts)


EXPLAIN = [
    "attention_varlen(3, 250, 4, 4, 64) or attention_varlen(3, 250, 4, 4, 64, block_M=32, block_N=32, stages=1)"
]  # for `tilecore explain --targets`; behind "or" for devices with less shared memory


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--lengths", type=int, nargs="+", default=[100, 7, 250], help="queries of each sequence")
    parser.add_argument("--cached", type=int, nargs="+", help="keys of each before its queries (default: none)")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--kv-heads", type=int, help="heads of K and V (default: as many as of Q)")
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--causal", action="store_true")
    options = parser.parse_args(words)
    heads, kv_heads, dim, lengths = options.heads, options.kv_heads or options.heads, options.dim, options.lengths
    cached = options.cached or [0] * len(lengths)
    if len(cached) != len(lengths):
        parser.error(f"--cached has {len(cached)} numbers, --lengths has {len(lengths)}")

    q_starts = [0, *itertools.accumulate(lengths)]
    k_starts = [0, *itertools.accumulate(n + more for n, more in zip(lengths, cached, strict=True))]
    compiled = tilecore.jit(attention_varlen, target=options.target, out_idx=-1)
    sizes = len(lengths), max(lengths), heads, kv_heads, dim, options.causal
    try:
        kernel = compiled(*sizes)
    except tilecore.errors.LimitError:  # the device has less shared memory, such as 32 KiB
        kernel = compiled(*sizes, block_M=32, block_N=32, stages=1)
    device = kernel.adapter.torch_device()
    q = torch.randn(q_starts[-1], heads, dim, device=device, dtype=torch.float16)
    k, v = torch.randn(2, k_starts[-1], kv_heads, dim, device=device, dtype=torch.float16)
    starts = [torch.tensor(s, dtype=torch.int32, device=device) for s in (q_starts, k_starts)]
    expected = reference(q, k, v, q_starts, k_starts, options.causal)
    torch.testing.assert_close(kernel(q, k, v, *starts).float(), expected, rtol=2e-3, atol=2e-3)
    print(
        f"attention_varlen: {len(lengths)} sequences of {min(lengths)} to {max(lengths)} right on {kernel.target.kind}"
    )


if __name__ == "__main__":
    main()
