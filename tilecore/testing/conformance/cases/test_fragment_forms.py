"""Fragments by other indices than loop variables, and under other shapes: targets keep many of them in registers."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, compiled, same, sample, zeros

N = 64


def whole_numbers(shape, dtype="float32"):
    """Whole numbers, so that sums and products are exact."""
    return np.random.default_rng(0).integers(-4, 5, shape).astype(dtype)


def test_parts_of_loop_variables(target):
    """Halves, neighbours, quotients, slices, and rows that a serial loop selects; read and written."""

    @T.prim_func
    def kernel(X: T.Tensor((32, N), "float32"), S: T.Tensor((8,), "float32"), Y: T.Tensor((7, 32, N), "float32")):
        with T.Kernel(1, threads=128):
            f, s = T.alloc_fragment((32, N), "float32"), T.alloc_fragment((8,), "float32")
            reverse = T.alloc_fragment((32, N), "float32")  # in shared memory on targets with threads
            total, last = T.alloc_fragment((N,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(X, f)
            T.copy(S, s)
            T.copy(X, reverse)
            for half in range(2):
                for i, j in T.Parallel(32, N):
                    if i < 16:
                        Y[0, i + half * 16, j] = f[i + half * 16, j]
            for i, j in T.Parallel(32, N // 2):
                Y[1, i, 2 * j] = f[i, 2 * j] - f[i, 2 * j + 1]
                Y[1, i, 2 * j + 1] = f[i, 2 * j] + f[i, 2 * j + 1]
            for i, j in T.Parallel(32, N):
                Y[2, i, j] = f[i, j] * s[j // 8]
            for n in T.Parallel(32 * N):
                Y[3, n // N, n % N] = f[n // N, n % N] * s[n % 8]
            for i, j in T.Parallel(16, N):
                f[i + 16, j] = f[i + 16, j] * 2
            T.copy(f[:8, :], Y[4, :8, :])
            T.copy(f[8:, :], Y[4, 8:, :])
            T.clear(total)
            for i in T.serial(32):
                for j in T.Parallel(N):
                    total[j] += f[i, j]
            last[0] = 0
            for i in T.serial(8):
                last[0] += S[i]
            for i, j in T.Parallel(32, N):
                Y[5, i, j] = total[j] + last[0]
                Y[6, i, j] = reverse[31 - i, j]

    x, s = whole_numbers((32, N)), whole_numbers(8)
    *_, y = check(kernel, target, x, s, zeros("float32", (7, 32, N)))
    same(y[0], x)
    same(y[1], np.stack([x[:, ::2] - x[:, 1::2], x[:, ::2] + x[:, 1::2]], 2).reshape(32, N))
    same(y[2], x * np.repeat(s, 8))
    same(y[3], x * np.tile(s, 8))
    doubled = np.concatenate([x[:16], x[16:] * 2])
    same(y[4], doubled)
    same(y[5], np.broadcast_to(doubled.sum(0) + s.sum(), (32, N)))
    same(y[6], x[::-1])


@pytest.mark.parametrize("threads", [32, 128])
def test_views_of_fragments(target, threads):
    """Reductions, loops and copies through views, whose writes the fragment has, and of views of views."""

    @T.prim_func
    def kernel(
        X: T.Tensor((4, 192), "float32"),
        Y: T.Tensor((4, 6), "float32"),
        Z: T.Tensor((24, 32), "float32"),
        W: T.Tensor((768,), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            f, sums = T.alloc_fragment((4, 192), "float32"), T.alloc_fragment((4, 6), "float32")
            groups = T.reshape(f, (4, 6, 32))
            rows = T.reshape(groups, (24, 32))
            T.copy(X, f)
            for i, g, k in T.Parallel(4, 6, 32):
                groups[i, g, k] = groups[i, g, k] * 2 + g
            T.reduce_sum(groups, sums, dim=2)
            T.copy(sums, Y)
            T.copy(rows, Z)
            for i, j in T.Parallel(4, 192):
                f[i, j] += 1
            T.copy(T.reshape(f, (768,)), W)

    x = whole_numbers((4, 192))
    _, y, z, w = check(kernel, target, x, zeros("float32", (4, 6)), zeros("float32", (24, 32)), zeros("float32", 768))
    changed = x.reshape(4, 6, 32) * 2 + np.arange(6, dtype=np.float32)[:, None]
    same(y, changed.sum(2))
    same(z, changed.reshape(24, 32))
    same(w, changed.reshape(768) + 1)


@pytest.mark.parametrize("heads", [16, 32])
def test_a_product_summed_by_heads(target, heads):
    """The scores of an indexer: the accumulator of a product in a pipelined loop, cleared and reduced through views."""
    queries = 64 // heads

    @T.prim_func
    def kernel(
        K: T.Tensor((3 * 64, 64), "float16"),
        Q: T.Tensor((64, 64), "float16"),
        W: T.Tensor((queries, heads), "float32"),
        Y: T.Tensor((3 * 64, queries), "float32"),
    ):
        with T.Kernel(1, threads=128):
            q, k = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            scores, weights = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((queries, heads), "float32")
            by_head = T.reshape(scores, (64, queries, heads))
            logits = T.alloc_fragment((64, queries), "float32")
            T.copy(Q, q)
            T.copy(W, weights)
            for n in T.Pipelined(3, num_stages=2):
                T.copy(K[n * 64, 0], k)
                T.clear(scores)
                for i, a, h in T.Parallel(64, queries, heads):
                    by_head[i, a, h] += 1
                T.gemm(k, q, scores, transpose_B=True)
                for i, a, h in T.Parallel(64, queries, heads):
                    by_head[i, a, h] = T.max(by_head[i, a, h], 0) * weights[a, h]
                T.reduce_sum(by_head, logits, dim=-1)
                T.copy(logits, Y[n * 64, 0])

    k, q = whole_numbers((192, 64), "float16"), whole_numbers((64, 64), "float16")
    w = whole_numbers((queries, heads))
    *_, y = check(kernel, target, k, q, w, zeros("float32", (192, queries)))
    scores = np.maximum(k.astype(np.float32) @ q.astype(np.float32).T + 1, 0).reshape(192, queries, heads)
    same(y, (scores * w).sum(2))


def test_a_fragment_that_no_loop_reads(target):
    """More columns than threads divide, and one row: a loop that copies the fragment cannot read it either."""

    @T.prim_func
    def kernel(A: T.Tensor((1, 12), "uint8"), B: T.Tensor((12, 33), "uint8"), C: T.Tensor((1, 33), "int32")):
        with T.Kernel(1, threads=64):
            a, b = T.alloc_shared((1, 12), "uint8"), T.alloc_shared((12, 33), "uint8")
            c = T.alloc_fragment((1, 33), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    a, b = sample("uint8", (1, 12), 1), sample("uint8", (12, 33), 2)
    c = zeros("int32", (1, 33))
    compiled(kernel, target)(a, b, c)
    same(c, (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32))
