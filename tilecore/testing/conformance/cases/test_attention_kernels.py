"""Attention as users write it: forward (plain, causal, grouped heads), decoding in splits, latent heads, linear."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tilecore.language as T

from .kit import compiled, sample, zeros
from .test_product_kernels import near

LOG2E = 1.44269504


def attention(q, k, v, causal=False):
    """softmax(q @ k.T / sqrt(d)) @ v over the axes (..., length, d), in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    if causal:
        seen = np.arange(k.shape[-2])[None] <= np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]
        scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def heads_first(x):
    return np.swapaxes(x, 1, 2)


def forward(batch, heads, groups, length, dim, block_M, block_N, causal, stages, threads):
    scale = (1.0 / dim) ** 0.5 * LOG2E
    dtype, accum_dtype = "float16", "float32"

    @T.prim_func
    def flash(
        Q: T.Tensor([batch, length, heads, dim], dtype),
        K: T.Tensor([batch, length, heads // groups, dim], dtype),
        V: T.Tensor([batch, length, heads // groups, dim], dtype),
        Output: T.Tensor([batch, length, heads, dim], dtype),
    ):
        with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=threads) as (bx, by, bz):
            Q_shared = T.alloc_shared([block_M, dim], dtype)
            K_shared = T.alloc_shared([block_N, dim], dtype)
            V_shared = T.alloc_shared([block_N, dim], dtype)
            O_shared = T.alloc_shared([block_M, dim], dtype)
            acc_s = T.alloc_fragment([block_M, block_N], accum_dtype)
            acc_s_cast = T.alloc_fragment([block_M, block_N], dtype)
            acc_o = T.alloc_fragment([block_M, dim], accum_dtype)
            scores_max = T.alloc_fragment([block_M], accum_dtype)
            scores_max_prev = T.alloc_fragment([block_M], accum_dtype)
            scores_scale = T.alloc_fragment([block_M], accum_dtype)
            scores_sum = T.alloc_fragment([block_M], accum_dtype)
            logsum = T.alloc_fragment([block_M], accum_dtype)

            T.copy(Q[bz, bx * block_M : (bx + 1) * block_M, by, :], Q_shared)
            T.fill(acc_o, 0)
            T.fill(logsum, 0)
            T.fill(scores_max, -T.infinity(accum_dtype))
            loop_range = (
                T.min(T.ceildiv(length, block_N), T.ceildiv((bx + 1) * block_M, block_N))
                if causal
                else T.ceildiv(length, block_N)
            )
            for k in T.Pipelined(loop_range, num_stages=stages):
                T.copy(K[bz, k * block_N : (k + 1) * block_N, by // groups, :], K_shared)
                if causal:
                    for i, j in T.Parallel(block_M, block_N):
                        acc_s[i, j] = T.if_then_else(bx * block_M + i >= k * block_N + j, 0, -T.infinity(acc_s.dtype))
                else:
                    for i, j in T.Parallel(block_M, block_N):
                        acc_s[i, j] = T.if_then_else(k * block_N + j >= length, -T.infinity(acc_s.dtype), 0)
                T.gemm(Q_shared, K_shared, acc_s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(scores_max, scores_max_prev)
                T.fill(scores_max, -T.infinity(accum_dtype))
                T.reduce_max(acc_s, scores_max, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    scores_max[i] = T.max(scores_max[i], scores_max_prev[i])
                for i in T.Parallel(block_M):
                    scores_scale[i] = T.exp2(scores_max_prev[i] * scale - scores_max[i] * scale)
                for i, j in T.Parallel(block_M, block_N):
                    acc_s[i, j] = T.exp2(acc_s[i, j] * scale - scores_max[i] * scale)
                T.reduce_sum(acc_s, scores_sum, dim=1)
                for i in T.Parallel(block_M):
                    logsum[i] = logsum[i] * scores_scale[i] + scores_sum[i]
                T.copy(acc_s, acc_s_cast)
                for i, j in T.Parallel(block_M, dim):
                    acc_o[i, j] *= scores_scale[i]
                T.copy(V[bz, k * block_N : (k + 1) * block_N, by // groups, :], V_shared)
                T.gemm(acc_s_cast, V_shared, acc_o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                acc_o[i, j] /= logsum[i]
            T.copy(acc_o, O_shared)
            T.copy(O_shared, Output[bz, bx * block_M : (bx + 1) * block_M, by, :])

    return flash


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((1, 2, 1, 64, 32), (32, 32, False, 1, 64)),
        ((1, 2, 1, 64, 32), (32, 32, True, 2, 64)),
        ((2, 4, 2, 48, 32), (32, 16, True, 2, 64)),
        ((1, 1, 1, 50, 64), (32, 32, False, 2, 64)),
        ((1, 4, 4, 64, 16), (64, 32, True, 1, 128)),
        ((1, 2, 1, 128, 64), (64, 32, False, 1, 128)),
    ],
    ids=str,
)
def test_forward(target, shape, options):
    batch, heads, groups, length, dim = shape
    kernel = compiled(forward(*shape, *options), target)
    q = sample("float16", (batch, length, heads, dim))
    k, v = (sample("float16", (batch, length, heads // groups, dim), seed) for seed in (1, 2))
    out = zeros("float16", q.shape)
    kernel(q, k, v, out)
    wide_k, wide_v = (np.repeat(heads_first(x), groups, 1) for x in (k, v))
    near(heads_first(out), attention(heads_first(q), wide_k, wide_v, causal=options[2]), 5e-3)


@pytest.mark.parametrize("splits", [1, 3])
def test_decoding_in_splits(target, splits):
    """One query a head; the keys in splits, whose results a second kernel combines by their log sums."""
    batch, heads, groups, length, dim, block_N, block_H = 2, 8, 4, 96, 32, 16, 16
    kv_heads = heads // groups
    scale = (1.0 / dim) ** 0.5 * LOG2E
    part = length // splits

    @T.prim_func
    def decode(
        Q: T.Tensor([batch, heads, dim], "float16"),
        K: T.Tensor([batch, length, kv_heads, dim], "float16"),
        V: T.Tensor([batch, length, kv_heads, dim], "float16"),
        glse: T.Tensor([batch, heads, splits], "float32"),
        partial: T.Tensor([batch, heads, splits, dim], "float32"),
        Output: T.Tensor([batch, heads, dim], "float16"),
    ):
        with T.Kernel(batch, kv_heads, splits, threads=32) as (bx, by, bz):
            Q_shared = T.alloc_shared([block_H, dim], "float16")
            K_shared = T.alloc_shared([block_N, dim], "float16")
            V_shared = T.alloc_shared([block_N, dim], "float16")
            acc_s = T.alloc_fragment([block_H, block_N], "float32")
            acc_s_cast = T.alloc_fragment([block_H, block_N], "float16")
            acc_o = T.alloc_fragment([block_H, dim], "float32")
            scores_max = T.alloc_fragment([block_H], "float32")
            scores_max_prev = T.alloc_fragment([block_H], "float32")
            scores_scale = T.alloc_fragment([block_H], "float32")
            scores_sum = T.alloc_fragment([block_H], "float32")
            logsum = T.alloc_fragment([block_H], "float32")
            for i, j in T.Parallel(block_H, dim):
                Q_shared[i, j] = T.if_then_else(i < groups, Q[bx, by * groups + T.min(i, groups - 1), j], 0)
            T.fill(acc_o, 0)
            T.fill(logsum, 0)
            T.fill(scores_max, -T.infinity("float32"))
            for k in T.Pipelined(part // block_N, num_stages=2):
                T.copy(K[bx, bz * part + k * block_N : bz * part + (k + 1) * block_N, by, :], K_shared)
                T.clear(acc_s)
                T.gemm(Q_shared, K_shared, acc_s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(scores_max, scores_max_prev)
                T.reduce_max(acc_s, scores_max, dim=1, clear=False)
                for i in T.Parallel(block_H):
                    scores_scale[i] = T.exp2(scores_max_prev[i] * scale - scores_max[i] * scale)
                for i, j in T.Parallel(block_H, block_N):
                    acc_s[i, j] = T.exp2(acc_s[i, j] * scale - scores_max[i] * scale)
                T.reduce_sum(acc_s, scores_sum, dim=1)
                for i in T.Parallel(block_H):
                    logsum[i] = logsum[i] * scores_scale[i] + scores_sum[i]
                T.copy(acc_s, acc_s_cast)
                for i, j in T.Parallel(block_H, dim):
                    acc_o[i, j] *= scores_scale[i]
                T.copy(V[bx, bz * part + k * block_N : bz * part + (k + 1) * block_N, by, :], V_shared)
                T.gemm(acc_s_cast, V_shared, acc_o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_H, dim):
                acc_o[i, j] /= logsum[i]
            for i in T.Parallel(block_H):
                logsum[i] = T.log2(logsum[i]) + scores_max[i] * scale
            for i in T.Parallel(block_H):
                if i < groups:
                    glse[bx, by * groups + i, bz] = logsum[i]
            for i, j in T.Parallel(block_H, dim):
                if i < groups:
                    partial[bx, by * groups + i, bz, j] = acc_o[i, j]
        with T.Kernel(heads, batch, threads=32) as (by, bz):
            o_accum = T.alloc_fragment([dim], "float32")
            lse_max = T.alloc_var("float32", init=-3e38)
            lse_sum = T.alloc_var("float32", init=0)
            T.clear(o_accum)
            for k in T.serial(splits):
                lse_max = T.max(lse_max, glse[bz, by, k])
            for k in T.serial(splits):
                lse_sum += T.exp2(glse[bz, by, k] - lse_max)
            for k in T.serial(splits):
                weight = T.exp2(glse[bz, by, k] - lse_max) / lse_sum
                for i in T.Parallel(dim):
                    o_accum[i] += partial[bz, by, k, i] * weight
            for i in T.Parallel(dim):
                Output[bz, by, i] = o_accum[i]

    q = sample("float16", (batch, heads, dim))
    k, v = (sample("float16", (batch, length, kv_heads, dim), seed) for seed in (1, 2))
    out = zeros("float16", q.shape)
    compiled(decode, target)(
        q, k, v, zeros("float32", (batch, heads, splits)), zeros("float32", (batch, heads, splits, dim)), out
    )
    wide_k, wide_v = (np.repeat(heads_first(x), groups, 1) for x in (k, v))
    near(out, attention(q[:, :, None], wide_k, wide_v)[:, :, 0], 5e-3)


def test_decoding_with_latent_heads(target):
    """Keys are a shared latent part and a rotary part; values are the latent part again."""
    batch, heads, length, dim, pe_dim, block_N = 1, 16, 64, 64, 16, 32
    scale = (1.0 / (dim + pe_dim)) ** 0.5 * LOG2E

    @T.prim_func
    def mla(
        Q: T.Tensor([batch, heads, dim], "float16"),
        Q_pe: T.Tensor([batch, heads, pe_dim], "float16"),
        KV: T.Tensor([batch, length, 1, dim], "float16"),
        K_pe: T.Tensor([batch, length, 1, pe_dim], "float16"),
        Output: T.Tensor([batch, heads, dim], "float16"),
    ):
        with T.Kernel(batch, threads=32) as bx:
            Q_shared = T.alloc_shared([heads, dim], "float16")
            S_shared = T.alloc_shared([heads, block_N], "float16")
            Q_pe_shared = T.alloc_shared([heads, pe_dim], "float16")
            KV_shared = T.alloc_shared([block_N, dim], "float16")
            K_pe_shared = T.alloc_shared([block_N, pe_dim], "float16")
            acc_s = T.alloc_fragment([heads, block_N], "float32")
            acc_o = T.alloc_fragment([heads, dim], "float32")
            scores_max = T.alloc_fragment([heads], "float32")
            scores_max_prev = T.alloc_fragment([heads], "float32")
            scores_scale = T.alloc_fragment([heads], "float32")
            scores_sum = T.alloc_fragment([heads], "float32")
            logsum = T.alloc_fragment([heads], "float32")
            T.annotate_layout({S_shared: T.Layout(S_shared.shape, lambda i, j: i * (block_N + 8) + j)})
            T.copy(Q[bx, :, :], Q_shared)
            T.copy(Q_pe[bx, :, :], Q_pe_shared)
            T.fill(acc_o, 0)
            T.fill(logsum, 0)
            T.fill(scores_max, -T.infinity("float32"))
            for k in T.Pipelined(length // block_N, num_stages=2):
                T.copy(KV[bx, k * block_N : (k + 1) * block_N, 0, :], KV_shared)
                T.copy(K_pe[bx, k * block_N : (k + 1) * block_N, 0, :], K_pe_shared)
                T.gemm(Q_shared, KV_shared, acc_s, transpose_B=True, policy=T.GemmWarpPolicy.FullCol, clear_accum=True)
                T.gemm(Q_pe_shared, K_pe_shared, acc_s, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
                T.copy(scores_max, scores_max_prev)
                T.fill(scores_max, -T.infinity("float32"))
                T.reduce_max(acc_s, scores_max, dim=1, clear=False)
                for i in T.Parallel(heads):
                    scores_max[i] = T.max(scores_max[i], scores_max_prev[i])
                    scores_scale[i] = T.exp2(scores_max_prev[i] * scale - scores_max[i] * scale)
                for i, j in T.Parallel(heads, block_N):
                    acc_s[i, j] = T.exp2(acc_s[i, j] * scale - scores_max[i] * scale)
                T.reduce_sum(acc_s, scores_sum, dim=1)
                T.copy(acc_s, S_shared)
                for i in T.Parallel(heads):
                    logsum[i] = logsum[i] * scores_scale[i] + scores_sum[i]
                for i, j in T.Parallel(heads, dim):
                    acc_o[i, j] *= scores_scale[i]
                T.gemm(S_shared, KV_shared, acc_o, policy=T.GemmWarpPolicy.FullCol)
            for i, j in T.Parallel(heads, dim):
                acc_o[i, j] /= logsum[i]
            T.copy(acc_o, Output[bx, :, :])

    q, q_pe = sample("float16", (batch, heads, dim)), sample("float16", (batch, heads, pe_dim), 1)
    kv, k_pe = sample("float16", (batch, length, 1, dim), 2), sample("float16", (batch, length, 1, pe_dim), 3)
    out = zeros("float16", q.shape)
    compiled(mla, target)(q, q_pe, kv, k_pe, out)
    keys = np.concatenate([kv, k_pe], -1)[:, :, 0]
    queries = np.concatenate([q, q_pe], -1)
    near(out, attention(queries, keys, kv[:, :, 0]), 5e-3)


def test_linear_attention_in_chunks(target):
    """out = tril(q k^T) v chunk by chunk; what chunks before leave is a state k^T v in registers."""
    heads, length, dim, chunk = 2, 64, 32, 16

    @T.prim_func
    def linear(
        Q: T.Tensor([length, heads, dim], "float16"),
        K: T.Tensor([length, heads, dim], "float16"),
        V: T.Tensor([length, heads, dim], "float16"),
        Output: T.Tensor([length, heads, dim], "float32"),
        final_state: T.Tensor([heads, dim, dim], "float32"),
    ):
        with T.Kernel(heads, threads=64) as h:
            q, k, v = (T.alloc_shared([chunk, dim], "float16") for _ in range(3))
            s = T.alloc_fragment([chunk, chunk], "float32")
            s_shared = T.alloc_shared([chunk, chunk], "float16")
            state = T.alloc_fragment([dim, dim], "float32")
            state_shared = T.alloc_shared([dim, dim], "float16")
            o = T.alloc_fragment([chunk, dim], "float32")
            T.clear(state)
            for i in T.Pipelined(0, length // chunk):
                for row, col in T.Parallel(chunk, dim):
                    q[row, col] = Q[i * chunk + row, h, col]
                T.copy(K[i * chunk : (i + 1) * chunk, h, :], k)
                T.copy(V[i * chunk : (i + 1) * chunk, h, :], v)
                T.gemm(q, k, s, clear_accum=True, transpose_B=True)
                for row, col in T.Parallel(chunk, chunk):
                    s_shared[row, col] = T.if_then_else(row >= col, s[row, col], 0)
                T.gemm(s_shared, v, o, clear_accum=True)
                T.copy(state, state_shared)
                T.gemm(k, v, state, transpose_A=True)
                T.gemm(q, state_shared, o)
                T.copy(o, Output[i * chunk : (i + 1) * chunk, h, :])
            T.copy(state, final_state[h, :, :])

    q, k, v = (sample("float16", (length, heads, dim), seed) for seed in range(3))
    out, state = zeros("float32", (length, heads, dim)), zeros("float32", (heads, dim, dim))
    compiled(linear, target)(q, k, v, out, state)
    wide = [np.swapaxes(x.astype(np.float64), 0, 1) for x in (q, k, v)]
    expected = np.tril(wide[0] @ np.swapaxes(wide[1], 1, 2)) @ wide[2]
    near(np.swapaxes(out, 0, 1), expected, 1e-2)
    near(state, np.swapaxes(wide[1], 1, 2) @ wide[2])
