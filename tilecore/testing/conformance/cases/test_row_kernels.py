"""Kernels over rows as users write them: norms, softmax, losses, top-k, quantisation, rotary positions, scans."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, close, compiled, same, sample, zeros
from .test_product_kernels import near


def wide(x):
    return x.astype(np.float64)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(("rows", "columns", "block"), [(7, 100, 2), (8, 256, 4), (3, 1024, 1)])
def test_layer_norm(target, rows, columns, block, dtype):
    @T.prim_func
    def layer_norm(
        X: T.Tensor((rows, columns), dtype),
        gamma: T.Tensor((columns,), dtype),
        beta: T.Tensor((columns,), dtype),
        Y: T.Tensor((rows, columns), dtype),
    ):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as bx:
            x = T.alloc_fragment((block, columns), "float32")
            square = T.alloc_fragment((block, columns), "float32")
            mean, variance = T.alloc_fragment((block,), "float32"), T.alloc_fragment((block,), "float32")
            T.copy(X[bx * block : (bx + 1) * block, :], x)
            T.reduce_sum(x, mean, dim=1)
            for i in T.Parallel(block):
                mean[i] = mean[i] / columns
            for i, j in T.Parallel(block, columns):
                square[i, j] = (x[i, j] - mean[i]) * (x[i, j] - mean[i])
            T.reduce_sum(square, variance, dim=1)
            for i in T.Parallel(block):
                variance[i] = T.rsqrt(variance[i] / columns + 1e-5)
            for i, j in T.Parallel(block, columns):
                x[i, j] = (x[i, j] - mean[i]) * variance[i] * gamma[j] + beta[j]
            T.copy(x, Y[bx * block : (bx + 1) * block, :])

    x, gamma, beta = sample(dtype, (rows, columns)), sample(dtype, columns, 1), sample(dtype, columns, 2)
    y = zeros(dtype, (rows, columns))
    compiled(layer_norm, target)(x, gamma, beta, y)
    centred = wide(x) - wide(x).mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * wide(gamma) + wide(beta)
    near(y, expected, 1e-4 if dtype == "float32" else 1e-2)


def test_rms_norm_in_pieces_of_rows(target):
    rows, columns, piece, block = 6, 384, 128, 2

    @T.prim_func
    def rms(A: T.Tensor((rows, columns), "float32"), B: T.Tensor((rows, columns), "float32")):
        with T.Kernel(T.ceildiv(rows, block), threads=128) as bx:
            A_shared = T.alloc_shared((block, piece), "float32")
            A_pow_local = T.alloc_fragment((block, piece), "float32")
            A_powsum = T.alloc_fragment((block,), "float32")
            T.clear(A_pow_local)
            for k in range(columns // piece):
                T.copy(A[bx * block, k * piece], A_shared)
                for i, j in T.Parallel(block, piece):
                    A_pow_local[i, j] += A_shared[i, j] * A_shared[i, j]
            T.reduce_sum(A_pow_local, A_powsum, dim=1)
            for i in T.Parallel(block):
                A_powsum[i] = T.rsqrt(A_powsum[i] / columns + 1e-6)
            for k in range(columns // piece):
                last = columns // piece - 1 - k
                T.copy(A[bx * block, last * piece], A_shared)
                for i, j in T.Parallel(block, piece):
                    A_shared[i, j] *= A_powsum[i]
                T.copy(A_shared, B[bx * block, last * piece])

    a, b = sample("float32", (rows, columns)), zeros("float32", (rows, columns))
    compiled(rms, target)(a, b)
    near(b, wide(a) / np.sqrt((wide(a) ** 2).mean(1, keepdims=True) + 1e-6), 1e-4)


@pytest.mark.parametrize("columns", [96, 250])
def test_softmax_in_one_pass(target, columns):
    rows, piece = 5, 64

    @T.prim_func
    def softmax(X: T.Tensor((rows, columns), "float16"), Y: T.Tensor((rows, columns), "float16")):
        with T.Kernel(rows, threads=64) as b:
            x, e = T.alloc_fragment((piece,), "float32"), T.alloc_fragment((piece,), "float32")
            high, total = T.alloc_fragment((1,), "float32"), T.alloc_fragment((1,), "float32")
            lse = T.alloc_fragment((1,), "float32")
            T.fill(lse, -T.infinity("float32"))
            for k in T.Pipelined(T.ceildiv(columns, piece), num_stages=2):
                for j in T.Parallel(piece):
                    x[j] = T.if_then_else(k * piece + j < columns, X[b, k * piece + j], -T.infinity("float32"))
                T.reduce_max(x, high, dim=0, clear=True)
                for j in T.Parallel(piece):
                    e[j] = T.exp2(x[j] * 1.44269504 - high[0] * 1.44269504)
                T.reduce_sum(e, total, dim=0, clear=True)
                lse[0] = high[0] * 1.44269504 + T.log2(T.exp2(lse[0] - high[0] * 1.44269504) + total[0])
            for k in T.Pipelined(T.ceildiv(columns, piece), num_stages=2):
                for j in T.Parallel(piece):
                    Y[b, k * piece + j] = T.exp2(T.cast(X[b, k * piece + j], "float32") * 1.44269504 - lse[0])

    x, y = sample("float16", (rows, columns)), zeros("float16", (rows, columns))
    compiled(softmax, target)(x, y)
    e = np.exp(wide(x) - wide(x).max(1, keepdims=True))
    near(y, e / e.sum(1, keepdims=True), 2e-3)


def test_cross_entropy(target):
    n, vocabulary = T.dynamic("n"), 200

    @T.prim_func
    def loss(
        logits: T.Tensor((n, vocabulary), "bfloat16"),
        labels: T.Tensor((n,), "int64"),
        losses: T.Tensor((n,), "float32"),
        total: T.Tensor((1,), "float32"),
    ):
        with T.Kernel(n, threads=64) as b:
            x = T.alloc_fragment((1, vocabulary), "float32")
            high, sums = T.alloc_fragment((1,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(logits[b, 0], x)
            T.reduce_max(x, high, dim=1)
            for i, j in T.Parallel(1, vocabulary):
                x[i, j] = T.exp(x[i, j] - high[i])
            T.reduce_sum(x, sums, dim=1)
            label = labels[b]
            if label >= 0:
                value = T.log(sums[0]) + high[0] - T.cast(logits[b, label], "float32")
                losses[b] = value
                T.atomic_add(total[0], value)
            else:
                losses[b] = 0

    kernel = compiled(loss, target)
    for size in (1, 9):
        logits, labels = sample("bfloat16", (size, vocabulary)), np.arange(size, dtype=np.int64) * 7 % vocabulary
        labels[size // 2] = -100
        losses, total = zeros("float32", size), zeros("float32", 1)
        kernel(logits, labels, losses, total)
        x = wide(logits)
        each = np.log(np.exp(x - x.max(1, keepdims=True)).sum(1)) + x.max(1) - x[np.arange(size), np.maximum(labels, 0)]
        expected = np.where(labels >= 0, each, 0)
        near(losses, expected, 1e-3)
        near(total, expected.sum(keepdims=True), 1e-3)


@pytest.mark.parametrize("experts", [32, 100])
def test_top_k(target, experts):
    """The k largest of a row by k searches, each of which hides what the one before found."""
    tokens, k, block = 10, 4, 4

    @T.prim_func
    def topk(
        logits: T.Tensor((tokens, experts), "float32"),
        gates: T.Tensor((tokens, k), "float32"),
        indices: T.Tensor((tokens, k), "int32"),
    ):
        with T.Kernel(T.ceildiv(tokens, block), threads=128) as bx:
            x = T.alloc_fragment((block, experts), "float32")
            high = T.alloc_fragment((block,), "float32")
            candidates = T.alloc_fragment((block, experts), "int32")
            best = T.alloc_fragment((block,), "int32")
            T.copy(logits[bx * block, 0], x)
            for step in T.serial(k):
                T.fill(candidates, -1)
                T.reduce_max(x, high, dim=1, clear=True)
                for i, j in T.Parallel(block, experts):
                    candidates[i, j] = T.if_then_else(high[i] == x[i, j], j, candidates[i, j])
                T.reduce_max(candidates, best, dim=1, clear=True)
                for i, j in T.Parallel(block, experts):
                    x[i, j] = T.if_then_else(high[i] == x[i, j], -10000.0, x[i, j])
                for i in T.Parallel(block):
                    gates[bx * block + i, step] = high[i]
                    indices[bx * block + i, step] = best[i]

    logits = np.random.default_rng(0).permutation(tokens * experts).reshape(tokens, experts).astype(np.float32)
    gates, indices = zeros("float32", (tokens, k)), zeros("int32", (tokens, k))
    compiled(topk, target)(logits, gates, indices)
    order = np.argsort(-logits, 1)[:, :k]
    same(indices, order.astype(np.int32))
    same(gates, np.take_along_axis(logits, order, 1))


@pytest.mark.parametrize("columns", [70, 128])
def test_argmax(target, columns):
    rows = 5

    @T.prim_func
    def argmax(X: T.Tensor((rows, columns), "float16"), I: T.Tensor((rows,), "int32")):  # noqa: E741
        with T.Kernel(rows, threads=64) as b:
            x, high = T.alloc_fragment((columns,), "float16"), T.alloc_fragment((1,), "float16")
            at, first = T.alloc_fragment((columns,), "int32"), T.alloc_fragment((1,), "int32")
            T.copy(X[b, :], x)
            T.reduce_max(x, high, dim=0)
            for j in T.Parallel(columns):
                at[j] = T.Select(x[j] == high[0], j, columns)
            T.reduce_min(at, first, dim=0)
            I[b] = first[0]

    x, i = sample("float16", (rows, columns)), zeros("int32", rows)
    check(argmax, target, x, i)
    compiled(argmax, target)(x, i)
    same(i, np.argmax(x, 1).astype(np.int32))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "int8"])
def test_scales_of_groups(target, dtype):
    """Each group of 64 in a row divided by its largest magnitude, in eight bits."""
    m, n, group, block = 9, 256, 64, 8
    limit = 448.0 if dtype == "float8_e4m3fn" else 127.0

    @T.prim_func
    def cast_by_group(
        X: T.Tensor((m, n), "float32"),
        Y: T.Tensor((m, n), dtype),
        amax: T.Tensor((m, T.ceildiv(n, group)), "float32"),
    ):
        with T.Kernel(T.ceildiv(m, block), T.ceildiv(n, group), threads=128) as (bx, by):
            y = T.alloc_fragment((block, group), "float32")
            y_amax, scale = T.alloc_fragment((block,), "float32"), T.alloc_fragment((block,), "float32")
            q, q_8 = T.alloc_fragment((block, group), "float32"), T.alloc_fragment((block, group), dtype)
            T.copy(X[bx * block : (bx + 1) * block, by * group : (by + 1) * group], y)
            T.reduce_absmax(y, y_amax, dim=1)
            for i in T.Parallel(block):
                y_amax[i] = T.max(y_amax[i], 1e-4)
                scale[i] = y_amax[i] / limit
            for i, j in T.Parallel(block, group):
                q[i, j] = T.clamp(y[i, j] / scale[i], -limit, limit)
            T.copy(q, q_8)
            for i in T.Parallel(block):
                amax[bx * block + i, by] = scale[i]
            T.copy(q_8, Y[bx * block : (bx + 1) * block, by * group : (by + 1) * group])

    x, y, scales = sample("float32", (m, n)), zeros(dtype, (m, n)), zeros("float32", (m, n // group))
    check(cast_by_group, target, x, y, scales, compare=lambda a, b, label: near(wide(a), wide(b), 0.07))
    compiled(cast_by_group, target)(x, y, scales)
    near(scales, np.abs(wide(x)).reshape(m, -1, group).max(2) / limit, 1e-6)
    near(wide(y) * np.repeat(scales, group, 1), wide(x), 0.04)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_positions(target, interleaved):
    length, heads, dim = 12, 3, 32

    @T.prim_func
    def rope(
        X: T.Tensor((length, heads, dim), "float16"),
        cos: T.Tensor((length, dim // 2), "float32"),
        sin: T.Tensor((length, dim // 2), "float32"),
        Y: T.Tensor((length, heads, dim), "float16"),
    ):
        with T.Kernel(length, threads=64) as b:
            x = T.alloc_shared((heads, dim), "float16")
            T.copy(X[b, :, :], x)
            for h, d in T.Parallel(heads, dim // 2):
                left = 2 * d if interleaved else d
                right = 2 * d + 1 if interleaved else d + dim // 2
                Y[b, h, left] = x[h, left] * cos[b, d] - x[h, right] * sin[b, d]
                Y[b, h, right] = x[h, right] * cos[b, d] + x[h, left] * sin[b, d]

    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(dim // 2) / (dim // 2))
    x, y = sample("float16", (length, heads, dim)), zeros("float16", (length, heads, dim))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    compiled(rope, target)(x, cos, sin, y)
    left, right = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., : dim // 2], x[..., dim // 2 :])
    turned = (wide(left) + 1j * wide(right)) * (cos + 1j * sin)[:, None]
    parts = [turned.real, turned.imag]
    expected = np.stack(parts, -1).reshape(x.shape) if interleaved else np.concatenate(parts, -1)
    near(y, expected, 2e-3)


def test_gated_activation(target):
    n, dim = T.dynamic("n"), 96

    @T.prim_func
    def swiglu(X: T.Tensor((n, 2 * dim), "bfloat16"), Y: T.Tensor((n, dim), "bfloat16")):
        with T.Kernel(T.ceildiv(dim, 32), T.ceildiv(n, 8), threads=64) as (bx, by):
            gate, up = T.alloc_fragment((8, 32), "float32"), T.alloc_fragment((8, 32), "float32")
            T.copy(X[by * 8, bx * 32], gate)
            T.copy(X[by * 8, dim + bx * 32], up)
            for i, j in T.Parallel(8, 32):
                up[i, j] = up[i, j] * gate[i, j] / (1.0 + T.exp(-gate[i, j]))
            T.copy(up, Y[by * 8, bx * 32])

    kernel = compiled(swiglu, target)
    for size in (3, 16):
        x, y = sample("bfloat16", (size, 2 * dim)), zeros("bfloat16", (size, dim))
        kernel(x, y)
        gate, up = wide(x)[:, :dim], wide(x)[:, dim:]
        near(y, up * gate / (1 + np.exp(-gate)), 1e-2)


@pytest.mark.parametrize("order", ["rows", "columns"])
def test_broadcasts(target, order):
    m, n = 33, 70

    @T.prim_func
    def add(A: T.Tensor((m, 1), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 16), threads=64) as (bx, by):
            if order == "rows":
                for i, j in T.Parallel(16, 32):
                    C[by * 16 + i, bx * 32 + j] = A[by * 16 + i, 0] * B[bx * 32 + j]
            else:
                for j, i in T.Parallel(32, 16):
                    C[by * 16 + i, bx * 32 + j] = A[by * 16 + i, 0] * B[bx * 32 + j]

    a, b = sample("float32", (m, 1)), sample("float32", n, 1)
    same(check(add, target, a, b, zeros("float32", (m, n)))[2], a * b)


@pytest.mark.parametrize("dtype", ["float16", "int8", "float32"])
def test_transpose_through_shared_memory(target, dtype):
    m, n, block = 50, 40, 32

    @T.prim_func
    def transpose(A: T.Tensor((m, n), dtype), B: T.Tensor((n, m), dtype)):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=128) as (bx, by):
            tile, turned = T.alloc_shared((block, block), dtype), T.alloc_shared((block, block), dtype)
            T.annotate_padding({tile: 4 // np.dtype(dtype).itemsize})
            T.copy(A[by * block, bx * block], tile)
            for i, j in T.Parallel(block, block):
                turned[i, j] = tile[j, i]
            T.copy(turned, B[bx * block, by * block])

    a = sample(dtype, (m, n))
    same(check(transpose, target, a, zeros(dtype, (n, m)))[1], a.T)


def test_histogram_in_shared_memory(target):
    n, bins, block = 1000, 64, 256

    @T.prim_func
    def histogram(X: T.Tensor((n,), "int32"), H: T.Tensor((bins,), "int32")):
        with T.Kernel(T.ceildiv(n, block), threads=128) as b:
            counts = T.alloc_shared((bins,), "int32")
            T.clear(counts)
            for i in T.Parallel(block):
                if b * block + i < n:
                    T.atomic_add(counts[X[b * block + i]], 1)
            for i in T.Parallel(bins):
                T.atomic_add(H[i], counts[i])

    x = np.random.default_rng(0).integers(0, bins, n).astype(np.int32)
    same(check(histogram, target, x, zeros("int32", bins))[1], np.bincount(x, minlength=bins).astype(np.int32))


@pytest.mark.parametrize("reverse", [False, True])
def test_prefix_sums_over_blocks(target, reverse):
    """Sums of each block, their prefix sums by one block, and both together."""
    n, block = 500, 128
    blocks = -(-n // block)

    @T.prim_func
    def scan(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
        sums = T.alloc_global((blocks,), "float32")
        before = T.alloc_global((blocks,), "float32")
        with T.Kernel(blocks, threads=64) as b:
            x, total = T.alloc_shared((block,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(X[b * block], x)
            T.reduce_sum(x, total, dim=0)
            sums[b] = total[0]
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((blocks,), "float32")
            T.copy(sums, s)
            T.cumsum(s, dim=0, reverse=reverse)
            T.copy(s, before)
        with T.Kernel(blocks, threads=64) as b:
            x = T.alloc_shared((block,), "float32")
            T.copy(X[b * block], x)
            T.cumsum(x, dim=0, reverse=reverse)
            for i in T.Parallel(block):
                Y[b * block + i] = x[i] + before[b] - sums[b]

    x, y = sample("float32", n), zeros("float32", n)
    compiled(scan, target)(x, y)
    expected = np.cumsum(wide(x)[::-1])[::-1] if reverse else np.cumsum(wide(x))
    near(y, expected, 1e-4)


def test_rows_of_a_table(target):
    """Gather by indices, and scatter-add back."""
    tokens, vocabulary, dim = 13, 20, 48

    @T.prim_func
    def embed(
        I: T.Tensor((tokens,), "int64"),  # noqa: E741
        W: T.Tensor((vocabulary, dim), "float16"),
        Y: T.Tensor((tokens, dim), "float16"),
        G: T.Tensor((vocabulary, dim), "float32"),
    ):
        with T.Kernel(T.ceildiv(tokens, 4), threads=64) as b:
            rows = T.alloc_shared((4, dim), "float16")
            index = T.alloc_shared((4,), "int64")
            for i in T.Parallel(4):
                index[i] = T.if_then_else(b * 4 + i < tokens, I[b * 4 + i], 0)
            for i, j in T.Parallel(4, dim):
                rows[i, j] = W[index[i], j]
            T.copy(rows, Y[b * 4, 0])
            for i, j in T.Parallel(4, dim):
                if b * 4 + i < tokens:
                    T.atomic_add(G[index[i], j], T.cast(rows[i, j], "float32"))

    index = np.random.default_rng(0).integers(0, vocabulary, tokens)
    w = sample("float16", (vocabulary, dim))
    y, g = zeros("float16", (tokens, dim)), zeros("float32", (vocabulary, dim))
    compiled(embed, target)(index, w, y, g)
    same(y, w[index])
    expected = np.zeros((vocabulary, dim))
    np.add.at(expected, index, wide(w[index]))
    near(g, expected, 1e-4)


def test_one_row_by_a_tile_of_global_memory(target):
    """Copies whose place is read from memory, as paged caches have it."""
    pages, page, dim = 6, 4, 32

    @T.prim_func
    def gather(
        table: T.Tensor((3,), "int32"),
        cache: T.Tensor((pages, page, dim), "float16"),
        Y: T.Tensor((3 * page, dim), "float32"),
    ):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((page, dim), "float16")
            for k in T.Pipelined(3, num_stages=2):
                T.copy(cache[table[k], :, :], tile)
                T.copy(tile, Y[k * page, 0])

    table, cache = np.array([5, 0, 3], np.int32), sample("float16", (pages, page, dim))
    y = check(gather, target, table, cache, zeros("float32", (3 * page, dim)), compare=close)[2]
    same(y, cache[table].reshape(-1, dim).astype(np.float32))
