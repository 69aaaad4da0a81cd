"""Decoding with multi-head latent attention (MLA, DeepSeek-V2): all heads share keys, of a latent and a rotary part,
and the values are the latent part again."""

from typing import Any

import tilecore.language as T


def mla_decode(
    batch: int, heads: int, length: int, dim: int = 512, rotary: int = 64, block: int = 64, stages: int = 2
) -> Any:
    """Out (batch, heads, dim): Q (batch, heads, dim) and QR (batch, heads, rotary) attend to KV (batch, length, dim)
    and KR (batch, length, rotary). float16, sums in float32."""
    scale = (dim + rotary) ** -0.5
    half, single = "float16", "float32"

    @T.prim_func
    def mla_decode_kernel(
        Q: T.Tensor((batch, heads, dim), half),
        QR: T.Tensor((batch, heads, rotary), half),
        KV: T.Tensor((batch, length, dim), half),
        KR: T.Tensor((batch, length, rotary), half),
        Out: T.Tensor((batch, heads, dim), half),
    ):
        with T.Kernel(batch, threads=128) as b:
            q, qr = T.alloc_shared((heads, dim), half), T.alloc_shared((heads, rotary), half)
            kv, kr = T.alloc_shared((block, dim), half), T.alloc_shared((block, rotary), half)
            scores, weights = T.alloc_fragment((heads, block), single), T.alloc_fragment((heads, block), half)
            out = T.alloc_fragment((heads, dim), single)
            most, before, rescale, total, part = (T.alloc_fragment((heads,), single) for _ in range(5))
            T.copy(Q[b, :, :], q)
            T.copy(QR[b, :, :], qr)
            T.clear(out)
            T.clear(total)
            T.fill(most, -T.infinity(single))
            for k in T.Pipelined(T.ceildiv(length, block), num_stages=stages):
                T.copy(KV[b, k * block : (k + 1) * block, :], kv)
                T.copy(KR[b, k * block : (k + 1) * block, :], kr)
                for i, j in T.Parallel(heads, block):
                    scores[i, j] = T.if_then_else(k * block + j < length, 0, -T.infinity(single))
                T.gemm(q, kv, scores, transpose_B=True)
                T.gemm(qr, kr, scores, transpose_B=True)
                T.copy(most, before)
                T.reduce_max(scores, most, dim=1, clear=False)
                for i in T.Parallel(heads):
                    rescale[i] = T.exp((before[i] - most[i]) * scale)
                for i, j in T.Parallel(heads, block):
                    scores[i, j] = T.exp((scores[i, j] - most[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(heads):
                    total[i] = total[i] * rescale[i] + part[i]
                for i, j in T.Parallel(heads, dim):
                    out[i, j] *= rescale[i]
                T.copy(scores, weights)
                T.gemm(weights, kv, out)
            for i, j in T.Parallel(heads, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[b, :, :])

    return mla_decode_kernel
