"""Decoding with multi-head latent attention on sm_90a, with roles that the kernel states itself.

A block has 64 heads, whose weighted sums of 512 latents are too many registers for one warpgroup. So two warpgroups
share them: each holds the sums of one half of the latents. They visit pairs of tiles of 64 tokens; each computes the
scores of one tile of the pair, and passes the weights to the other through shared memory. While one is at its softmax,
the other one's products keep the tensor cores busy. A third warpgroup copies by TMA: a tile has two pieces, its halves
of latents, each with mbarriers of its own, so that the copy of a piece begins as soon as the warpgroup that is the
last to use it has done so.

For one pair of tiles (S scores, P weights, O_L and O_R sums of the left and right latents):

    warpgroup 0                                 warpgroup 1
    S0 = Q K0'                                  S1 = Q K1'
    P0 = softmax S0 -> shared memory            wait for P0
    O_L += P0 V0_L                              O_R += P0 V0_R, during it: P1 = softmax S1 -> shared memory
    wait for P1, O_L += P1 V1_L                 O_R += P1 V1_R

mla_decode.py has the same for every target, and for few heads.

    python examples/mla_decode_hopper.py --batch 1 --heads 128 --length 300
"""

import argparse
import math

import torch

import tilecore
import tilecore.language as T

ROWS, TOKENS = 64, 64  # heads of a block, tokens of a tile
P0_READY, P1_READY, TOTALS_READY = 1, 2, 3  # numbers of named barriers


@T.macro
def multiply_by(out, total, factor, width):
    for i, j in T.Parallel(ROWS, width):
        out[i, j] *= factor[i]
    for i in T.Parallel(ROWS):
        total[i] *= factor[i]


@T.macro
def exponentials(scores, largest, to_log2):
    for i, j in T.Parallel(ROWS, TOKENS):
        offset = largest[i] * to_log2  # rounded by itself: what follows is one fused multiply-add
        scores[i, j] = T.exp2(scores[i, j] * to_log2 - offset)


@T.macro
def hide_tokens(scores, remaining):
    for i, j in T.Parallel(ROWS, TOKENS):
        scores[i, j] = T.if_then_else(j < remaining, scores[i, j], -T.infinity("float32"))


def mla_decode_hopper(batch, heads, length, latent=512, rotary=64, splits=1, dtype="float16", blocks=1):
    """Q [batch, heads, latent], QR [batch, heads, rotary]; KV [batch, length, latent], KR [batch, length, rotary];
    Out [batch, heads, latent]. latent: a multiple of 128, at most 512.

    blocks: of a cluster, 1 or 2. Those of a pair visit the same tokens, and each copy brings a tile to both."""
    if length < 1:
        raise ValueError("there is no token to attend to: length must be at least 1")
    if latent % 128 or not 0 < latent <= 512:
        raise ValueError(f"latent ({latent}) must be 128, 256, 384 or 512: two warpgroups hold half of the sums each")
    to_log2 = 1 / math.log(2) / (latent + rotary) ** 0.5  # exp(x / sqrt(width)) = exp2(x * to_log2)
    pairs = T.ceildiv(length, 2 * TOKENS)
    each = T.ceildiv(pairs, min(splits, pairs))
    splits = T.ceildiv(pairs, each)  # every split has tokens
    half = latent // 2
    halves = slice(0, half), slice(half, latent)
    groups = T.ceildiv(heads, ROWS)
    if groups % blocks:
        raise ValueError(f"{groups} blocks for {heads} heads cannot form clusters of {blocks}")
    mask = (1 << blocks) - 1 if blocks > 1 else None
    is_ragged = length % (2 * TOKENS) != 0

    @T.macro
    def scores_of(Q_shared, QR_local, KV_tile, KR_tile, full, parity, scores):
        """Q K' of one tile, each piece as soon as it has landed."""
        T.mbarrier_wait_parity(full[0], parity)
        T.wgmma_gemm(Q_shared[:, halves[0]], KV_tile[:, halves[0]], scores, transpose_B=True, clear_accum=True)
        T.mbarrier_wait_parity(full[1], parity)
        T.wgmma_gemm(Q_shared[:, halves[1]], KV_tile[:, halves[1]], scores, transpose_B=True)
        T.wgmma_gemm(QR_local, KR_tile, scores, transpose_B=True)
        T.wait_wgmma(0)

    @T.macro
    def release(empty, piece):
        """A warp has finished with a piece of a tile, which the blocks of the cluster copy anew."""
        if T.shuffle_elect(32):
            if blocks == 1:
                T.mbarrier_arrive(empty[piece])
            else:
                for block in T.unroll(blocks):
                    T.mbarrier_arrive(empty[piece], block)

    @T.prim_func
    def mla_decode_hopper_kernel(
        Q: T.Tensor((batch, heads, latent), dtype),
        QR: T.Tensor((batch, heads, rotary), dtype),
        KV: T.Tensor((batch, length, latent), dtype),
        KR: T.Tensor((batch, length, rotary), dtype),
        Out: T.Tensor((batch, heads, latent), dtype),
    ):
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
            full0, full1 = T.alloc_barrier([1, 1]), T.alloc_barrier([1, 1])
            empty0, empty1 = T.alloc_barrier([4 * blocks] * 2), T.alloc_barrier([4 * blocks] * 2)  # of each warp
            head = bx * ROWS
            first = split * each * 2 * TOKENS
            steps = T.min(each, pairs - split * each)

            with T.ws(0):
                T.set_max_nreg(240, 1)
                QR_local = T.alloc_fragment((ROWS, rotary), dtype)
                scores = T.alloc_fragment((ROWS, TOKENS), "float32")
                weights = T.alloc_fragment((ROWS, TOKENS), dtype)
                out = T.alloc_fragment((ROWS, half), "float32")
                largest = T.alloc_fragment((ROWS,), "float32")
                largest_before = T.alloc_fragment((ROWS,), "float32")
                factor = T.alloc_fragment((ROWS,), "float32")
                total = T.alloc_fragment((ROWS,), "float32")
                tile_total = T.alloc_fragment((ROWS,), "float32")
                T.clear(out)
                T.clear(total)
                T.fill(largest, -T.infinity("float32"))
                T.mbarrier_wait_parity(q_full, 0)
                T.copy(QR_shared, QR_local)
                T.sync_threads(TOTALS_READY, 256)  # before weights1 is overwritten
                for k in range(steps):
                    scores_of(Q_shared, QR_local, KV0, KR0, full0, k % 2, scores)
                    if is_ragged:
                        if k == steps - 1:
                            hide_tokens(scores, length - (first + k * 2 * TOKENS))
                    T.copy(largest, largest_before)
                    T.reduce_max(scores, largest, dim=1, clear=False)
                    T.copy(largest, most[0, :])
                    exponentials(scores, largest, to_log2)
                    T.copy(scores, weights)
                    T.copy(scores, weights0)
                    T.named_barrier_arrive(P0_READY, 256)
                    for i in T.Parallel(ROWS):
                        factor[i] = T.exp2(largest_before[i] * to_log2 - largest[i] * to_log2)
                    multiply_by(out, total, factor, half)
                    T.wgmma_gemm(weights, KV0[:, halves[0]], out)
                    T.reduce_sum(scores, tile_total, dim=1)
                    for i in T.Parallel(ROWS):
                        total[i] += tile_total[i]
                    T.wait_wgmma(0)
                    release(empty0, 0)

                    T.sync_threads(P1_READY, 256)
                    T.copy(largest, largest_before)
                    T.copy(most[1, :], largest)
                    for i in T.Parallel(ROWS):
                        factor[i] = T.exp2(largest_before[i] * to_log2 - largest[i] * to_log2)
                    multiply_by(out, total, factor, half)
                    T.wgmma_gemm(weights1, KV1[:, halves[0]], out)
                    T.wait_wgmma(0)
                    release(empty1, 0)
                T.copy(total, totals[0, :])
                T.sync_threads(TOTALS_READY, 256)
                for i in T.Parallel(ROWS):
                    factor[i] = 1 / (totals[0, i] + totals[1, i])
                for i, j in T.Parallel(ROWS, half):
                    out[i, j] *= factor[i]
                if splits == 1:
                    T.copy(out, Out[b, head : head + ROWS, halves[0]])
                else:
                    T.copy(out, Part[b, head : head + ROWS, split, halves[0]])
                    for i in T.Parallel(ROWS):
                        Log[b, head + i, split] = T.log2(totals[0, i] + totals[1, i]) + largest[i] * to_log2

            with T.ws(1):
                T.set_max_nreg(240, 1)
                QR_local = T.alloc_fragment((ROWS, rotary), dtype)
                scores = T.alloc_fragment((ROWS, TOKENS), "float32")
                weights = T.alloc_fragment((ROWS, TOKENS), dtype)
                out = T.alloc_fragment((ROWS, half), "float32")
                largest = T.alloc_fragment((ROWS,), "float32")
                largest_before = T.alloc_fragment((ROWS,), "float32")
                tile_largest = T.alloc_fragment((ROWS,), "float32")
                factor = T.alloc_fragment((ROWS,), "float32")
                total = T.alloc_fragment((ROWS,), "float32")
                tile_total = T.alloc_fragment((ROWS,), "float32")
                T.clear(out)
                T.clear(total)
                T.fill(largest, -T.infinity("float32"))
                T.mbarrier_wait_parity(q_full, 0)
                T.copy(QR_shared, QR_local)
                T.sync_threads(TOTALS_READY, 256)  # before weights1 is overwritten
                for k in range(steps):
                    scores_of(Q_shared, QR_local, KV1, KR1, full1, k % 2, scores)
                    if is_ragged:
                        if k == steps - 1:
                            hide_tokens(scores, length - (first + (k * 2 + 1) * TOKENS))
                    T.reduce_max(scores, tile_largest, dim=1)

                    T.sync_threads(P0_READY, 256)
                    T.copy(largest, largest_before)
                    T.copy(most[0, :], largest)
                    for i in T.Parallel(ROWS):
                        factor[i] = T.exp2(largest_before[i] * to_log2 - largest[i] * to_log2)
                    multiply_by(out, total, factor, half)
                    T.wgmma_gemm(weights0, KV0[:, halves[1]], out)
                    T.copy(largest, largest_before)
                    for i in T.Parallel(ROWS):
                        largest[i] = T.max(largest[i], tile_largest[i])
                    T.copy(largest, most[1, :])
                    exponentials(scores, largest, to_log2)
                    T.copy(scores, weights)
                    T.copy(scores, weights1)
                    T.named_barrier_arrive(P1_READY, 256)
                    for i in T.Parallel(ROWS):
                        factor[i] = T.exp2(largest_before[i] * to_log2 - largest[i] * to_log2)
                    T.wait_wgmma(0)
                    release(empty0, 1)
                    multiply_by(out, total, factor, half)
                    T.wgmma_gemm(weights, KV1[:, halves[1]], out)
                    T.reduce_sum(scores, tile_total, dim=1)
                    for i in T.Parallel(ROWS):
                        total[i] += tile_total[i]
                    T.wait_wgmma(0)
                    release(empty1, 1)
                T.copy(total, totals[1, :])
                T.sync_threads(TOTALS_READY, 256)
                for i in T.Parallel(ROWS):
                    factor[i] = 1 / (totals[0, i] + totals[1, i])
                for i, j in T.Parallel(ROWS, half):
                    out[i, j] *= factor[i]
                if splits == 1:
                    T.copy(out, Out[b, head : head + ROWS, halves[1]])
                else:
                    T.copy(out, Part[b, head : head + ROWS, split, halves[1]])

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
                            T.mbarrier_wait_parity(empty[0], k % 2 ^ 1)
                            T.tma_copy(
                                KV[b, rows, halves[0]], KV_tile[:, halves[0]], barrier=full[0], cluster_mask=mask,
                                annotations={"emit_arrive": 1},
                            )  # fmt: skip
                            T.mbarrier_wait_parity(empty[1], k % 2 ^ 1)
                            T.tma_copy(
                                KV[b, rows, halves[1]], KV_tile[:, halves[1]], barrier=full[1], cluster_mask=mask
                            )  # fmt: skip
                            T.tma_copy(
                                KR[b, rows, :], KR_tile, barrier=full[1], cluster_mask=mask,
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

    return mla_decode_hopper_kernel
