"""Decoding with multi-head latent attention (MLA, DeepSeek-V2): all heads share one latent vector a token.

The cache holds, for each token, a latent part that is key and value at once, and a small rotary part that is key only.
The heads of one sequence are the rows of the products, so the cache is read once for a block of them, and the tile of
latents in shared memory serves both products. The tokens are partitioned among ``splits`` blocks, whose results a
second kernel combines.

    python examples/mla_decode.py --target cpu --batch 1 --heads 16 --length 300 --latent 512 --rotary 64
"""

import argparse
import math

import torch

import tilecore
import tilecore.language as T


def mla_decode(
    batch, heads, length, latent=512, rotary=64, splits=4, block_H=64, block_N=32, stages=2, threads=256,
    dtype="float16",
):  # fmt: skip
    """Q [batch, heads, latent], QR [batch, heads, rotary]; KV [batch, length, latent], KR [batch, length, rotary];
    Out [batch, heads, latent]."""
    if length < 1:
        raise ValueError("there is no token to attend to: length must be at least 1")
    to_log2 = 1 / math.log(2) / (latent + rotary) ** 0.5  # exp(x / sqrt(width)) = exp2(x * to_log2)
    tiles = T.ceildiv(length, block_N)
    splits = min(splits, tiles)
    each = T.ceildiv(tiles, splits)
    splits = T.ceildiv(tiles, each)  # every split has tokens

    @T.prim_func
    def mla_decode_kernel(
        Q: T.Tensor((batch, heads, latent), dtype),
        QR: T.Tensor((batch, heads, rotary), dtype),
        KV: T.Tensor((batch, length, latent), dtype),
        KR: T.Tensor((batch, length, rotary), dtype),
        Out: T.Tensor((batch, heads, latent), dtype),
    ):
        if splits > 1:
            Part = T.alloc_global((batch, heads, splits, latent), "float32")
            Log = T.alloc_global((batch, heads, splits), "float32")  # to base 2

        with T.Kernel(T.ceildiv(heads, block_H), splits, batch, threads=threads) as (bx, split, b):
            Q_shared = T.alloc_shared((block_H, latent), dtype)
            QR_shared = T.alloc_shared((block_H, rotary), dtype)
            KV_shared = T.alloc_shared((block_N, latent), dtype)
            KR_shared = T.alloc_shared((block_N, rotary), dtype)
            weights = T.alloc_shared((block_H, block_N), dtype)
            scores = T.alloc_fragment((block_H, block_N), "float32")
            out = T.alloc_fragment((block_H, latent), "float32")
            largest = T.alloc_fragment((block_H,), "float32")
            largest_before = T.alloc_fragment((block_H,), "float32")
            rescale = T.alloc_fragment((block_H,), "float32")
            tile_total = T.alloc_fragment((block_H,), "float32")
            total = T.alloc_fragment((block_H,), "float32")

            head = bx * block_H
            T.copy(Q[b, head : head + block_H, :], Q_shared)
            T.copy(QR[b, head : head + block_H, :], QR_shared)
            T.clear(out)
            T.clear(total)
            T.fill(largest, -T.infinity("float32"))
            for k in T.Pipelined(T.min(each, tiles - split * each), num_stages=stages):
                token = (split * each + k) * block_N
                T.copy(KV[b, token : token + block_N, :], KV_shared)
                T.copy(KR[b, token : token + block_N, :], KR_shared)
                T.gemm(Q_shared, KV_shared, scores, transpose_B=True, clear_accum=True)
                T.gemm(QR_shared, KR_shared, scores, transpose_B=True)
                if length % block_N:
                    for i, j in T.Parallel(block_H, block_N):
                        scores[i, j] = T.if_then_else(token + j < length, scores[i, j], -T.infinity("float32"))

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
                for i, j in T.Parallel(block_H, latent):
                    out[i, j] *= rescale[i]
                T.copy(scores, weights)  # through shared memory: warps share the 512 columns of the next product
                T.gemm(weights, KV_shared, out)
            if splits == 1:
                for i, j in T.Parallel(block_H, latent):
                    Out[b, head + i, j] = out[i, j] / total[i]
            else:
                for i, j in T.Parallel(block_H, latent):
                    Part[b, head + i, split, j] = out[i, j] / total[i]
                for i in T.Parallel(block_H):
                    Log[b, head + i, split] = T.log2(total[i]) + largest[i] * to_log2

        if splits > 1:
            with T.Kernel(heads, batch, threads=128) as (h, b):
                parts = T.alloc_fragment((splits, latent), "float32")
                shares = T.alloc_fragment((splits,), "float32")
                most = T.alloc_fragment((1,), "float32")
                whole = T.alloc_fragment((1,), "float32")
                out = T.alloc_fragment((latent,), "float32")
                T.copy(Log[b, h, :], shares)
                T.reduce_max(shares, most, dim=0)
                for s in T.Parallel(splits):
                    shares[s] = T.exp2(shares[s] - most[0])
                T.reduce_sum(shares, whole, dim=0)
                for s, j in T.Parallel(splits, latent):
                    parts[s, j] = Part[b, h, s, j] * (shares[s] / whole[0])
                T.reduce_sum(parts, out, dim=0)
                T.copy(out, Out[b, h, :])

    return mla_decode_kernel


EXPLAIN = [
    "mla_decode(1, 16, 300) or mla_decode(1, 16, 300, block_H=16, block_N=16, stages=1)"
    " or mla_decode(1, 16, 300, block_H=8, block_N=16, stages=1)"
]  # for `tilecore explain --targets`; behind "or" for devices with less shared memory


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="auto")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--length", type=int, default=300)
    parser.add_argument("--latent", type=int, default=512)
    parser.add_argument("--rotary", type=int, default=64)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--block-heads", type=int, default=64, help="heads of a block")
    options = parser.parse_args(words)
    batch, heads, length, latent, rotary = (
        options.batch, options.heads, options.length, options.latent, options.rotary
    )  # fmt: skip

    compiled = tilecore.jit(mla_decode, target=options.target, out_idx=-1)
    sizes = batch, heads, length, latent, rotary, options.splits
    try:
        kernel = compiled(*sizes, block_H=options.block_heads)
    except tilecore.errors.LimitError:  # the device has less shared memory, such as 64 KiB
        try:
            kernel = compiled(*sizes, block_H=16, block_N=16, stages=1)
        except tilecore.errors.LimitError:  # 32 KiB
            kernel = compiled(*sizes, block_H=8, block_N=16, stages=1)
    device = kernel.adapter.torch_device()
    q, qr = (torch.randn(batch, heads, width, device=device).half() for width in (latent, rotary))
    kv, kr = (torch.randn(batch, length, width, device=device).half() for width in (latent, rotary))
    wide = kv.float()
    scores = q.float() @ wide.transpose(1, 2) + qr.float() @ kr.float().transpose(1, 2)
    expected = (scores / (latent + rotary) ** 0.5).softmax(dim=-1) @ wide
    torch.testing.assert_close(kernel(q, qr, kv, kr).float(), expected, rtol=2e-3, atol=2e-3)
    print(f"mla_decode: {batch}x{heads}, {length} tokens of {latent}+{rotary}, right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
