"""Decoding with multi-head latent attention on sm_90a, with roles that the kernel states itself.

A block has 64 heads, whose weighted sums of 512 latents are too many registers for one warpgroup. So two warpgroups
share them: each holds the sums of one half of the latents. They visit pairs of tiles of 64 tokens; each computes the
scores of one tile of the pair, and passes the weights to the other through shared memory. While one is at its softmax,
the other one's products keep the tensor cores busy. A third warpgroup copies by TMA. The warpgroup that is the
last to use one half of a tile's latents releases that half; products begin when the first piece of a tile has landed.

For one pair of tiles (S scores, P weights, O_L and O_R sums of the left and right latents):

    warpgroup 0                                 warpgroup 1
    S0 = Q K0'                                  S1 = Q K1'
    P0 = softmax S0 -> shared memory            wait for P0
    O_L += P0 V0_L                              O_R += P0 V0_R, during it: P1 = softmax S1 -> shared memory
    wait for P1, O_L += P1 V1_L                 O_R += P1 V1_R

examples/mla_decode.py has the same for every target, and for few heads.

    python examples/hopper/mla_decode.py --batch 1 --heads 128 --length 300
"""

import argparse
import math

import torch

import tilecore
import tilecore.language as T

ROWS, TOKENS = 64, 64  # heads of a block, tokens of a tile
P0_READY, P1_READY, TOTALS_READY = 1, 2, 3  # numbers of named barriers


@T.macro
def ratios(factor, largest_before, largest, to_log2):
    for i in T.Parallel(ROWS):
        factor[i] = T.exp2(largest_before[i] * to_log2 - largest[i] * to_log2)


@T.macro
def exponentials(scores, largest, to_log2):
    for i, j in T.Parallel(ROWS, TOKENS):
        offset = largest[i] * to_log2  # rounded by itself: what follows is one fused multiply-add
        scores[i, j] = T.exp2(scores[i, j] * to_log2 - offset)


def mla_decode(batch, heads, length, latent=512, rotary=64, splits=1, dtype="float16", blocks=1, each_half=None):
    """Q [batch, heads, latent], QR [batch, heads, rotary]; KV [batch, length, latent], KR [batch, length, rotary];
    Out [batch, heads, latent]. latent: a multiple of 128, at most 512.

    each_half: the pieces in which half of a tile's latents is copied, each of 64 latents or a multiple; products begin
    when the first one has landed. blocks: of a cluster, 1 or 2. Those of a pair visit the same tokens, and each copy
    brings a tile to both."""
    if length < 1:
        raise ValueError("there is no token to attend to: length must be at least 1")
    if splits < 1:
        raise ValueError(f"splits ({splits}) must be at least 1")
    if latent % 128 or not 0 < latent <= 512:
        raise ValueError(f"latent ({latent}) must be 128, 256, 384 or 512: two warpgroups hold half of the sums each")
    to_log2 = 1 / math.log(2) / (latent + rotary) ** 0.5  # exp(x / sqrt(width)) = exp2(x * to_log2)
    pairs = T.ceildiv(length, 2 * TOKENS)
    each = T.ceildiv(pairs, min(splits, pairs))
    splits = T.ceildiv(pairs, each)  # every split has tokens
    half = latent // 2
    halves = slice(0, half), slice(half, latent)
    each_half = each_half or 1  # more pieces were 1 to 2 % slower (docs/notes/decoding.md)
    width = half // each_half  # of a piece
    if half % each_half or width % 64:
        raise ValueError(f"pieces of {half}/{each_half} latents are not a multiple of 64")
    pieces = [(n, slice(n * width, (n + 1) * width)) for n in range(2 * each_half)]  # a list: its loops are unrolled
    groups = T.ceildiv(heads, ROWS)
    if groups % blocks:
        raise ValueError(f"{groups} blocks for {heads} heads cannot form clusters of {blocks}")
    mask = (1 << blocks) - 1 if blocks > 1 else None
    is_ragged = length % (2 * TOKENS) != 0

    @T.macro
    def scores_of(Q_shared, QR_local, KV_tile, KR_tile, full, parity, scores):
        """Q K' of one tile, each piece as soon as it has landed."""
        for n, part in pieces:
            T.mbarrier_wait_parity(full[n], parity)
            T.wgmma_gemm(Q_shared[:, part], KV_tile[:, part], scores, transpose_B=True, clear_accum=n == 0)
            if n == each_half:
                T.wgmma_gemm(QR_local, KR_tile, scores, transpose_B=True)
        T.wait_wgmma(0)

    @T.macro
    def hide_tokens(scores, remaining, is_last):
        if is_ragged and is_last:
            for i, j in T.Parallel(ROWS, TOKENS):
                scores[i, j] = T.if_then_else(j < remaining, scores[i, j], -T.infinity("float32"))

    @T.macro
    def rescale(out, total, factor):
        for i, j in T.Parallel(ROWS, half):
            out[i, j] *= factor[i]
        for i in T.Parallel(ROWS):
            total[i] *= factor[i]

    @T.macro
    def release(empty, side):
        """A warp has finished with a half of a tile, which the blocks of the cluster copy anew."""
        if T.shuffle_elect(32):
            if blocks == 1:
                T.mbarrier_arrive(empty[side])
            else:
                for block in T.unroll(blocks):
                    T.mbarrier_arrive(empty[side], block)

    @T.macro
    def store(side, out, totals, factor, largest, Out, Part, Log, b, head, split):
        for i in T.Parallel(ROWS):
            factor[i] = 1 / (totals[0, i] + totals[1, i])
        for i, j in T.Parallel(ROWS, half):
            out[i, j] *= factor[i]
        if splits == 1:
            T.copy(out, Out[b, head : head + ROWS, halves[side]])
        else:
            T.copy(out, Part[b, head : head + ROWS, split, halves[side]])
            if side == 0:
                for i in T.Parallel(ROWS):
                    Log[b, head + i, split] = T.log2(totals[0, i] + totals[1, i]) + largest[i] * to_log2

    @T.prim_func
    def mla_decode_kernel(
        Q: T.Tensor((batch, heads, latent), dtype),
        QR: T.Tensor((batch, heads, rotary), dtype),
        KV: T.Tensor((batch, length, latent), dtype),
        KR: T.Tensor((batch, length, rotary), dtype),
        Out: T.Tensor((batch, heads, latent), dtype),
    ):
        Part, Log = None, None
        if splits > 1:
            Part = T.alloc_global((batch, heads, splits, latent), "float32")
            Log = T.alloc_global((batch, heads, splits), "float32")  # to base 2

        with T.Kernel(groups, splits, batch, threads=384, cluster_dims=(blocks, 1, 1)) as (bx, split, b):
            Q_shared = T.alloc_shared((ROWS, latent), dtype)
            KV0 = T.alloc_shared((TOKENS, latent), dtype)
            KV1 = T.alloc_shared((TOKENS, latent), dtype)
            KR0 = T.alloc_shared((TOKENS, rotary), dtype)
            KR1 = T.alloc_shared((TOKENS, rotary), dtype)
            weights0 = T.alloc_shared((ROWS, TOKENS), dtype)
            weights1 = T.alloc_shared((ROWS, TOKENS), dtype)  # before the loop, QR is in it
            QR_shared = weights1 if rotary == TOKENS else T.alloc_shared((ROWS, rotary), dtype)
            most = T.alloc_shared((2, ROWS), "float32")
            totals = T.alloc_shared((2, ROWS), "float32")
            q_full = T.alloc_barrier(1)
            full0, full1 = (T.alloc_barrier([1] * len(pieces)) for _ in range(2))  # of each piece
            empty0, empty1 = (T.alloc_barrier([4 * blocks] * 2) for _ in range(2))  # of each half, for 4 warps
            head = bx * ROWS
            first = split * each * 2 * TOKENS
            steps = T.min(each, pairs - split * each)

            with T.ws(0):
                T.set_max_nreg(240, 1)
                QR_local = T.alloc_fragment((ROWS, rotary), dtype)
                scores = T.alloc_fragment((ROWS, TOKENS), "float32")
                weights = T.alloc_fragment((ROWS, TOKENS), dtype)
                out = T.alloc_fragment((ROWS, half), "float32")
                largest, largest_before, factor = (T.alloc_fragment((ROWS,), "float32") for _ in range(3))
                total, tile_total = (T.alloc_fragment((ROWS,), "float32") for _ in range(2))
                T.clear(out)
                T.clear(total)
                T.fill(largest, -T.infinity("float32"))
                T.mbarrier_wait_parity(q_full, 0)
                T.copy(QR_shared, QR_local)
                T.sync_threads(TOTALS_READY, 256)  # before weights1 is overwritten
                for k in range(steps):
                    scores_of(Q_shared, QR_local, KV0, KR0, full0, k % 2, scores)
                    hide_tokens(scores, length - (first + k * 2 * TOKENS), k == steps - 1)
                    T.copy(largest, largest_before)
                    T.reduce_max(scores, largest, dim=1, clear=False)
                    T.copy(largest, most[0, :])
                    exponentials(scores, largest, to_log2)
                    T.copy(scores, weights)
                    T.copy(scores, weights0)
                    T.named_barrier_arrive(P0_READY, 256)
                    ratios(factor, largest_before, largest, to_log2)
                    rescale(out, total, factor)
                    T.wgmma_gemm(weights, KV0[:, halves[0]], out)
                    T.reduce_sum(scores, tile_total, dim=1)
                    for i in T.Parallel(ROWS):
                        total[i] += tile_total[i]
                    T.wait_wgmma(0)
                    release(empty0, 0)

                    T.sync_threads(P1_READY, 256)
                    T.copy(largest, largest_before)
                    T.copy(most[1, :], largest)
                    ratios(factor, largest_before, largest, to_log2)
                    rescale(out, total, factor)
                    T.wgmma_gemm(weights1, KV1[:, halves[0]], out)
                    T.wait_wgmma(0)
                    release(empty1, 0)
                T.copy(total, totals[0, :])
                T.sync_threads(TOTALS_READY, 256)
                store(0, out, totals, factor, largest, Out, Part, Log, b, head, split)

            with T.ws(1):
                T.set_max_nreg(240, 1)
                QR_local = T.alloc_fragment((ROWS, rotary), dtype)
                scores = T.alloc_fragment((ROWS, TOKENS), "float32")
                weights = T.alloc_fragment((ROWS, TOKENS), dtype)
                out = T.alloc_fragment((ROWS, half), "float32")
                largest, largest_before, factor = (T.alloc_fragment((ROWS,), "float32") for _ in range(3))
                total, tile_total, tile_largest = (T.alloc_fragment((ROWS,), "float32") for _ in range(3))
                T.clear(out)
                T.clear(total)
                T.fill(largest, -T.infinity("float32"))
                T.mbarrier_wait_parity(q_full, 0)
                T.copy(QR_shared, QR_local)
                T.sync_threads(TOTALS_READY, 256)  # before weights1 is overwritten
                for k in range(steps):
                    scores_of(Q_shared, QR_local, KV1, KR1, full1, k % 2, scores)
                    hide_tokens(scores, length - (first + (k * 2 + 1) * TOKENS), k == steps - 1)
                    T.reduce_max(scores, tile_largest, dim=1)

                    T.sync_threads(P0_READY, 256)
                    T.copy(largest, largest_before)
                    T.copy(most[0, :], largest)
                    ratios(factor, largest_before, largest, to_log2)
                    rescale(out, total, factor)
                    T.wgmma_gemm(weights0, KV0[:, halves[1]], out)
                    T.copy(largest, largest_before)
                    for i in T.Parallel(ROWS):
                        largest[i] = T.max(largest[i], tile_largest[i])
                    T.copy(largest, most[1, :])
                    exponentials(scores, largest, to_log2)
                    T.copy(scores, weights)
                    T.copy(scores, weights1)
                    T.named_barrier_arrive(P1_READY, 256)
                    ratios(factor, largest_before, largest, to_log2)
                    T.wait_wgmma(0)
                    release(empty0, 1)
                    rescale(out, total, factor)
                    T.wgmma_gemm(weights, KV1[:, halves[1]], out)
                    T.reduce_sum(scores, tile_total, dim=1)
                    for i in T.Parallel(ROWS):
                        total[i] += tile_total[i]
                    T.wait_wgmma(0)
                    release(empty1, 1)
                T.copy(total, totals[1, :])
                T.sync_threads(TOTALS_READY, 256)
                store(1, out, totals, factor, largest, Out, Part, Log, b, head, split)

            with T.ws(2):
                T.set_max_nreg(24, 0)
                if T.shuffle_elect(128):
                    T.tma_copy(Q[b, head : head + ROWS, :], Q_shared, barrier=q_full)
                    T.tma_copy(QR[b, head : head + ROWS, :], QR_shared, barrier=q_full, annotations={"emit_arrive": 1})
                    for k in range(steps):
                        for KV_tile, KR_tile, full, empty, tile in [
                            (KV0, KR0, full0, empty0, 0), (KV1, KR1, full1, empty1, 1),
                        ]:  # fmt: skip
                            token = first + (k * 2 + tile) * TOKENS
                            rows = slice(token, token + TOKENS)
                            for n, part in pieces:
                                if n % each_half == 0:
                                    T.mbarrier_wait_parity(empty[n // each_half], k % 2 ^ 1)
                                if n == each_half:
                                    T.tma_copy(KR[b, rows, :], KR_tile, barrier=full[n], cluster_mask=mask)
                                T.tma_copy(
                                    KV[b, rows, part], KV_tile[:, part], barrier=full[n], cluster_mask=mask,
                                    annotations={"emit_arrive": 1},
                                )  # fmt: skip

            if blocks > 1:
                T.cluster_sync()  # until then copies may reach the memory of the other block

        if splits > 1:
            with T.Kernel(heads, batch, threads=128) as (h, b):
                parts = T.alloc_fragment((splits, latent), "float32")
                shares = T.alloc_fragment((splits,), "float32")
                most_log = T.alloc_fragment((1,), "float32")
                whole = T.alloc_fragment((1,), "float32")
                out_row = T.alloc_fragment((latent,), "float32")
                T.copy(Log[b, h, :], shares)
                T.reduce_max(shares, most_log, dim=0)
                for s in T.Parallel(splits):
                    shares[s] = T.exp2(shares[s] - most_log[0])
                T.reduce_sum(shares, whole, dim=0)
                for s, j in T.Parallel(splits, latent):
                    parts[s, j] = Part[b, h, s, j] * (shares[s] / whole[0])
                T.reduce_sum(parts, out_row, dim=0)
                T.copy(out_row, Out[b, h, :])

    return mla_decode_kernel


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="cuda -arch=sm_90a")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=128)
    parser.add_argument("--length", type=int, default=300)
    parser.add_argument("--latent", type=int, default=512)
    parser.add_argument("--rotary", type=int, default=64)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=1, help="blocks of a cluster, which copy tiles for one another")
    parser.add_argument("--dtype", default="float16", choices=["float16", "bfloat16"])
    options = parser.parse_args(words)
    batch, heads, length, latent, rotary = (
        options.batch, options.heads, options.length, options.latent, options.rotary
    )  # fmt: skip

    kernel = tilecore.jit(mla_decode, target=options.target, out_idx=-1)(
        batch, heads, length, latent, rotary, options.splits, dtype=options.dtype, blocks=options.blocks
    )
    device, dtype = kernel.adapter.torch_device(), getattr(torch, options.dtype)
    q, qr = (torch.randn(batch, heads, width, device=device).to(dtype) for width in (latent, rotary))
    kv, kr = (torch.randn(batch, length, width, device=device).to(dtype) for width in (latent, rotary))
    wide = kv.float()
    scores = q.float() @ wide.transpose(1, 2) + qr.float() @ kr.float().transpose(1, 2)
    expected = (scores / (latent + rotary) ** 0.5).softmax(dim=-1) @ wide
    tolerance = 2e-3 if options.dtype == "float16" else 2e-2
    torch.testing.assert_close(kernel(q, qr, kv, kr).float(), expected, rtol=tolerance, atol=tolerance)
    print(f"mla_decode on sm_90a: {batch}x{heads}, {length} tokens of {latent}+{rotary}, right on {kernel.target.kind}")


if __name__ == "__main__":
    main()
