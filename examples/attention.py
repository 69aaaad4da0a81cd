"""Attention forward for large tiles: O = softmax(Q K^T / sqrt(dim)) V, plain or causal, heads in groups (GQA).

A block of queries visits the keys tile by tile, from the last tile to the first: only the first tiles visited can hold
keys that must not be seen (the diagonal of causal attention, or keys past the end), so no other pays for a mask. The
softmax is an online one (Dao et al., 2022): the largest score so far, the sum of the weights and the weighted sum of
the values are kept, and both sums are rescaled whenever a larger score turns up. Tensors are [batch, length, heads,
dim]; heads // kv_heads query heads share one head of keys and values. --lse returns log(sum(exp(scores))) too, which
the backward pass needs. Tiles are what tilecore.heuristics proposes, unless --block gives them; --tries N times the
best N proposals. --cores N: for N blocks that run at a time and take tiles of queries by turns: plain attention then
divides the tiles that fill no whole round by their keys. The order of causal attention's tiles, which have different
lengths, is left to the compiler.

    python examples/attention.py --target cpu --heads 4 --kv-heads 2 --length 500 --dim 64 --causal
"""

import argparse
import math

import torch

import tilecore
import tilecore.language as T

CACHED_BYTES = 32 << 20  # of keys and values that stay in the last-level cache of an H200


def attention(
    batch, heads, kv_heads, length, dim, is_causal=False, with_lse=False, block_M=128, block_N=128, stages=None,
    threads=256, dtype="float16", q_in_registers=True, dim_v=None, width=None, cores=None, panel=None,
):  # fmt: skip
    """Q [batch, length, heads, dim]; K [batch, length, kv_heads, dim]; V [batch, length, kv_heads, dim_v]; Out
    [batch, length, heads, dim_v]; Lse [batch, heads, length], float32.

    dim_v: dim unless given. width: columns of tiles of Q, K and V, where rows of dim elements are no good size for
    tiles: columns from dim on are zeros. cores: how many blocks run at a time; given, the tiles of queries beyond whole
    rounds of so many are divided by their keys among the blocks of a last one (plain attention, where at most half of
    the blocks had one of these tiles; else nothing changes). panel: heads whose blocks run side by side, so that they
    share keys and values in the last-level cache; unless given, the compiler's order for causal attention, whose tiles
    have different lengths, all heads for a few tiles a head whose keys and values fit into that cache, and 4 else."""
    if heads % kv_heads:
        raise ValueError(f"heads ({heads}) must be a multiple of kv_heads ({kv_heads})")
    panel_is_given, dim_v = panel is not None, dim_v or dim
    if width is not None and width < max(dim, dim_v):
        raise ValueError(f"width ({width}) must be at least dim ({dim}) and dim_v ({dim_v})")
    width_k, width_v = width or dim, width or dim_v
    # the number of tiles, counted from the last one, that may have keys which a query of the block must not see
    rows = range(0, math.lcm(block_M, block_N), block_M)
    masked = max((r + block_M - 1) // block_N - (r + 1) // block_N + 1 for r in rows) if is_causal else 1
    stages = stages or (3 if dim <= 64 else 2)
    group = heads // kv_heads
    in_cache = batch * kv_heads * length * (dim + dim_v) * T.dtype(dtype).itemsize <= CACHED_BYTES
    panel = panel or (1 if in_cache and 2 < T.ceildiv(length, block_M) <= 4 else 4)
    is_ordered = not is_causal or panel_is_given
    to_log2 = 1 / math.log(2) / dim**0.5  # exp(x / sqrt(dim)) = exp2(x * to_log2)
    blocks = T.ceildiv(length, block_M)
    q_type = T.Tensor((batch, length, heads, dim), dtype)
    k_type = T.Tensor((batch, length, kv_heads, dim), dtype)
    v_type = T.Tensor((batch, length, kv_heads, dim_v), dtype)
    out_type = T.Tensor((batch, length, heads, dim_v), dtype)
    lse_type = T.Tensor((batch, heads, length), "float32")

    @T.macro
    def visit_keys(Q, K, V, row, h, b, last, count, out, largest, total):
        """The weighted sums of the values of ``count`` tiles of keys, from tile ``last`` down, and what scales them."""
        Q_shared = T.alloc_shared((block_M, width_k), dtype)
        if q_in_registers:
            Q_local = T.alloc_fragment((block_M, width_k), dtype)
        K_shared = T.alloc_shared((block_N, width_k), dtype)
        V_shared = T.alloc_shared((block_N, width_v), dtype)
        scores = T.alloc_fragment((block_M, block_N), "float32")
        weights = T.alloc_fragment((block_M, block_N), dtype)
        largest_before = T.alloc_fragment((block_M,), "float32")
        rescale = T.alloc_fragment((block_M,), "float32")
        tile_total = T.alloc_fragment((block_M,), "float32")

        T.copy(Q[b, row : row + block_M, h, 0:width_k], Q_shared)
        if q_in_registers:  # where there is room: every product reads it
            T.copy(Q_shared, Q_local)
        T.clear(out)
        T.clear(total)
        T.fill(largest, T.min_value("float32"))  # finite: a query may see none of the first tile's keys
        for k in T.Pipelined(count, num_stages=stages):
            key = (last - k) * block_N
            T.copy(K[b, key : key + block_N, h // group, 0:width_k], K_shared)
            queries = Q_local if q_in_registers else Q_shared
            T.gemm(queries, K_shared, scores, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
            if (is_causal or length % block_N) and k < masked:
                for i, j in T.Parallel(block_M, block_N):
                    seen = key + j <= row + i if is_causal else key + j < length
                    scores[i, j] = T.if_then_else(seen, scores[i, j], -T.infinity("float32"))

            T.copy(largest, largest_before)
            T.reduce_max(scores, largest, dim=1, clear=False)
            for i in T.Parallel(block_M):
                rescale[i] = T.exp2(largest_before[i] * to_log2 - largest[i] * to_log2)
            for i, j in T.Parallel(block_M, block_N):
                offset = largest[i] * to_log2  # rounded by itself: what follows is one fused multiply-add
                scores[i, j] = T.exp2(scores[i, j] * to_log2 - offset)
            T.reduce_sum(scores, tile_total, dim=1)
            for i in T.Parallel(block_M):
                total[i] = total[i] * rescale[i] + tile_total[i]
            for i, j in T.Parallel(block_M, width_v):
                out[i, j] *= rescale[i]

            T.copy(scores, weights)
            T.copy(V[b, key : key + block_N, h // group, 0:width_v], V_shared)
            T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)

    @T.macro
    def block_of_queries(Q, K, V, Out, Lse, bx, h, b):
        out = T.alloc_fragment((block_M, width_v), "float32")
        largest = T.alloc_fragment((block_M,), "float32")
        total = T.alloc_fragment((block_M,), "float32")
        share = T.alloc_fragment((block_M,), "float32")
        # causal: the last queries have the most keys, and start first, so that short blocks fill the end
        row = (blocks - 1 - bx if is_causal else bx) * block_M
        last = (row + block_M - 1) // block_N if is_causal else (length - 1) // block_N
        visit_keys(Q, K, V, row, h, b, last, last + 1, out, largest, total)
        for i in T.Parallel(block_M):
            share[i] = 1 / total[i]
        for i, j in T.Parallel(block_M, width_v):
            out[i, j] *= share[i]
        T.copy(out, Out[b, row : row + block_M, h, 0:width_v])
        if Lse is not None:
            for i in T.Parallel(block_M):
                total[i] = (T.log2(total[i]) + largest[i] * to_log2) * math.log(2)
            T.copy(total, Lse[b, h, row : row + block_M])

    @T.macro
    def even_rounds(Q, K, V, Out, Lse):
        """Whole rounds of tiles; the tiles that remain, by parts of their keys; the sums of these parts."""
        Sums = T.alloc_global((divided * parts, block_M, width_v), "float32")
        Scales = T.alloc_global(
            (divided * parts, 2, block_M), "float32"
        )  # the largest score in units of log2, the total

        with T.Kernel(tiles - divided, threads=threads) as tile:
            bx, head = place_of(tile)
            block_of_queries(Q, K, V, Out, Lse, bx, head % heads, head // heads)

        with T.Kernel(divided * parts, threads=threads) as number:
            out = T.alloc_fragment((block_M, width_v), "float32")
            largest = T.alloc_fragment((block_M,), "float32")
            total = T.alloc_fragment((block_M,), "float32")
            bx, head = place_of(tiles - divided + number // parts)
            begin = number % parts * tiles_of_part
            end = T.min(begin + tiles_of_part, key_tiles)
            visit_keys(Q, K, V, bx * block_M, head % heads, head // heads, end - 1, end - begin, out, largest, total)
            for i in T.Parallel(block_M):
                largest[i] *= to_log2
            T.copy(out, Sums[number, :, :])
            T.copy(largest, Scales[number, 0, :])
            T.copy(total, Scales[number, 1, :])

        with T.Kernel(block_M // 16, divided, threads=128) as (slice_of_rows, n):
            out = T.alloc_fragment((16, width_v), "float32")
            largest = T.alloc_fragment((16,), "float32")
            total = T.alloc_fragment((16,), "float32")
            bx, head = place_of(tiles - divided + n)
            first = slice_of_rows * 16
            row, h, b = bx * block_M + first, head % heads, head // heads
            T.clear(out)
            T.clear(total)
            T.fill(largest, T.min_value("float32"))
            for part in T.serial(parts):
                for i in T.Parallel(16):
                    largest[i] = T.max(largest[i], Scales[n * parts + part, 0, first + i])
            for part in T.serial(parts):
                for i in T.Parallel(16):
                    scale = T.exp2(Scales[n * parts + part, 0, first + i] - largest[i])
                    total[i] += scale * Scales[n * parts + part, 1, first + i]
                for i, j in T.Parallel(16, width_v):
                    scale = T.exp2(Scales[n * parts + part, 0, first + i] - largest[i])
                    out[i, j] += scale * Sums[n * parts + part, first + i, j]
            for i, j in T.Parallel(16, width_v):
                out[i, j] /= total[i]
            T.copy(out, Out[b, row : row + 16, h, 0:width_v])
            if Lse is not None:
                for i in T.Parallel(16):
                    total[i] = (T.log2(total[i]) + largest[i]) * math.log(2)
                T.copy(total, Lse[b, h, row : row + 16])

    tiles = blocks * heads * batch
    key_tiles = (length + block_N - 1) // block_N
    divided = tiles % cores if cores and not is_causal else 0
    tiles_of_part = max(1, -(-key_tiles // max(1, cores // divided))) if divided else key_tiles
    parts = -(-key_tiles // tiles_of_part)
    if parts < 2 or divided == tiles:
        divided = 0
    heads_in_panel = math.gcd(panel, heads * batch)

    def place_of(tile):
        """(the block of queries, the head) of a tile: in panels of heads, that share keys and values in the cache."""
        in_panel = tile % (heads_in_panel * blocks)
        return in_panel // heads_in_panel, tile // (
            heads_in_panel * blocks
        ) * heads_in_panel + in_panel % heads_in_panel

    @T.prim_func
    def attention_kernel(Q: q_type, K: k_type, V: v_type, Out: out_type):
        with T.Kernel(heads * batch, blocks, threads=threads) as (head, bx):
            T.use_swizzle(panel, order="column", enable=is_ordered)
            block_of_queries(Q, K, V, Out, None, bx, head % heads, head // heads)

    @T.prim_func
    def attention_with_lse_kernel(Q: q_type, K: k_type, V: v_type, Out: out_type, Lse: lse_type):
        with T.Kernel(heads * batch, blocks, threads=threads) as (head, bx):
            T.use_swizzle(panel, order="column", enable=is_ordered)
            block_of_queries(Q, K, V, Out, Lse, bx, head % heads, head // heads)

    if not divided:
        return attention_with_lse_kernel if with_lse else attention_kernel

    @T.prim_func
    def even_attention_kernel(Q: q_type, K: k_type, V: v_type, Out: out_type):
        even_rounds(Q, K, V, Out, None)

    @T.prim_func
    def even_attention_with_lse_kernel(Q: q_type, K: k_type, V: v_type, Out: out_type, Lse: lse_type):
        even_rounds(Q, K, V, Out, Lse)

    return even_attention_with_lse_kernel if with_lse else even_attention_kernel


def reference(q, k, v, is_causal):
    """The output and the log of the sums of weights, by torch in float32."""
    q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    if is_causal:
        scores.masked_fill_(torch.ones_like(scores[0, 0], dtype=torch.bool).triu(1), -torch.inf)
    return (scores.softmax(dim=-1) @ v).transpose(1, 2), scores.logsumexp(dim=-1)


EXPLAIN = [
    "attention(1, 8, 8, 1024, 128)"
    " or attention(1, 8, 8, 1024, 128, block_M=64, block_N=32, stages=1, q_in_registers=False)",
    "attention(1, 8, 2, 1024, 64, True)"
    " or attention(1, 8, 2, 1024, 64, True, block_M=64, block_N=32, stages=1, q_in_registers=False)",
]  # for `tilecore explain --targets`; behind "or" for devices with less shared memory


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--kv-heads", type=int, help="heads of K and V (default: as many as of Q)")
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--dim-v", type=int, help="of V and the output (default: that of Q and K)")
    parser.add_argument("--block", type=int, help="queries, and keys, of a tile")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--lse", action="store_true")
    parser.add_argument("--dtype", default="float16", choices=["float16", "bfloat16"])
    parser.add_argument("--cores", type=int, help="blocks that run at a time, for even rounds of them")
    parser.add_argument("--tries", type=int, default=1, help="configurations to time")
    options = parser.parse_args(words)
    batch, heads, length, dim = options.batch, options.heads, options.length, options.dim
    kv_heads = options.kv_heads or heads

    config = {"block_M": options.block, "block_N": options.block} if options.block else {}
    config |= {"cores": options.cores} if options.cores else {}
    outputs = [3, 4] if options.lse else [3]
    # exp2 by one instruction: weights too small for the normal range of float32 become 0
    fast = {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}
    compiled = tilecore.jit(attention, target=options.target, out_idx=outputs, pass_configs=fast)
    tuned = tilecore.autotune(configs="auto", tries=options.tries)(compiled)
    kernel = tuned(
        batch, heads, kv_heads, length, dim, options.causal, options.lse, dtype=options.dtype, dim_v=options.dim_v,
        **config,
    )  # fmt: skip
    device, dtype = kernel.adapter.torch_device(), getattr(torch, options.dtype)
    q = torch.randn(batch, length, heads, dim, device=device, dtype=dtype)
    k, v = (
        torch.randn(batch, length, kv_heads, width, device=device, dtype=dtype) for width in (dim, options.dim_v or dim)
    )
    expected, expected_lse = reference(q, k, v, options.causal)
    tolerance = 2e-3 if options.dtype == "float16" else 2e-2
    if options.lse:
        out, lse = kernel(q, k, v)
        torch.testing.assert_close(lse, expected_lse, rtol=1e-3, atol=1e-3)
    else:
        out = kernel(q, k, v)
    torch.testing.assert_close(out.float(), expected, rtol=tolerance, atol=tolerance)
    kind = "causal" if options.causal else "plain"
    print(f"attention: {batch}x{length}x{heads}/{kv_heads}x{dim}, {kind}, right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
