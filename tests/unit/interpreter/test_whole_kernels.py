"""Kernels as users write them, against numpy and torch; blocks in any order."""

import numpy as np
import pytest
import torch

import tilecore.language as T
from tilecore.interpreter import interpret

from .kit import sample, wide


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [64, 50])
def test_flash_attention(causal, length):
    heads, width, bm, bn = 2, 16, 16, 32
    scale = 1.44269504 / width**0.5

    @T.prim_func
    def kernel(
        Q: T.Tensor((heads, length, width), "float16"),
        K: T.Tensor((heads, length, width), "float16"),
        V: T.Tensor((heads, length, width), "float16"),
        Out: T.Tensor((heads, length, width), "float16"),
    ):
        with T.Kernel(T.ceildiv(length, bm), heads, threads=64) as (bx, h):
            q, k = T.alloc_shared((bm, width), "float16"), T.alloc_shared((bn, width), "float16")
            v = T.alloc_shared((bn, width), "float16")
            s, s16 = T.alloc_fragment((bm, bn), "float32"), T.alloc_fragment((bm, bn), "float16")
            acc = T.alloc_fragment((bm, width), "float32")
            top, before = T.alloc_fragment((bm,), "float32"), T.alloc_fragment((bm,), "float32")
            total, row, factor = (T.alloc_fragment((bm,), "float32") for _ in range(3))
            T.copy(Q[h, bx * bm, 0], q)
            T.clear(acc)
            T.clear(total)
            T.fill(top, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv(length, bn), num_stages=2):
                T.copy(K[h, step * bn, 0], k)
                for i, j in T.Parallel(bm, bn):
                    inside = step * bn + j < length
                    seen = T.all_of(inside, bx * bm + i >= step * bn + j) if causal else inside
                    s[i, j] = T.if_then_else(seen, 0, -T.infinity("float32"))
                T.gemm(q, k, s, transpose_B=True)
                T.copy(V[h, step * bn, 0], v)
                T.copy(top, before)
                T.reduce_max(s, top, dim=1, clear=False)
                for i in T.Parallel(bm):
                    factor[i] = T.exp2((before[i] - top[i]) * scale)
                for i, j in T.Parallel(bm, bn):
                    s[i, j] = T.exp2((s[i, j] - top[i]) * scale)
                T.reduce_sum(s, row, dim=1)
                T.copy(s, s16)
                for i in T.Parallel(bm):
                    total[i] = total[i] * factor[i] + row[i]
                for i, j in T.Parallel(bm, width):
                    acc[i, j] *= factor[i]
                T.gemm(s16, v, acc)
            for i, j in T.Parallel(bm, width):
                acc[i, j] /= total[i]
            T.copy(acc, Out[h, bx * bm, 0])

    q, k, v = (sample("float16", (heads, length, width), seed) for seed in (1, 2, 3))
    out = np.zeros((heads, length, width), np.float16)
    interpret(kernel, q, k, v, out, block_order="seeded")
    with torch.no_grad():
        expected = torch.nn.functional.scaled_dot_product_attention(
            *(torch.from_numpy(wide(x)) for x in (q, k, v)), is_causal=causal
        )
    np.testing.assert_allclose(wide(out), expected.numpy(), atol=2e-3)


def test_layer_norm_in_place():
    @T.prim_func
    def kernel(X: T.Tensor((30, 33), "bfloat16"), W: T.Tensor((33,), "float32"), B: T.Tensor((33,), "float32")):
        with T.Kernel(T.ceildiv(30, 8)) as b:
            x, y = T.alloc_fragment((8, 33), "float32"), T.alloc_fragment((8, 33), "float32")
            mean, var = T.alloc_fragment((8,), "float32"), T.alloc_fragment((8,), "float32")
            T.copy(X[b * 8, 0], x)
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(8, 33):
                x[i, j] -= mean[i] / 33
                y[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(y, var, dim=1)
            for i, j in T.Parallel(8, 33):
                x[i, j] = x[i, j] * T.rsqrt(var[i] / 33 + 1e-5) * W[j] + B[j]
            T.copy(x, X[b * 8, 0])

    x, w, b = sample("bfloat16", (30, 33), 1), sample("float32", 33, 2), sample("float32", 33, 3)
    expected = torch.nn.functional.layer_norm(
        torch.from_numpy(wide(x)), (33,), torch.from_numpy(wide(w)), torch.from_numpy(wide(b))
    )
    interpret(kernel, x, w, b)
    np.testing.assert_allclose(wide(x), expected.numpy(), rtol=1e-2, atol=1e-2)


def test_a_product_with_four_bit_weights():
    m, n, k, group = 17, 24, 64, 16

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), "float16"),
        W: T.Tensor((n, k // 2), "uint8"),
        S: T.Tensor((n, k // group), "float16"),
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, 8), T.ceildiv(m, 16)) as (bx, by):
            a, w = T.alloc_shared((16, 32), "float16"), T.alloc_shared((8, 32), "float16")
            packed = T.alloc_shared((8, 16), "uint8")
            c = T.alloc_fragment((16, 8), "float32")
            T.clear(c)
            for step in T.serial(k // 32):
                T.copy(A[by * 16, step * 32], a)
                T.copy(W[bx * 8, step * 16], packed)
                for i, j in T.Parallel(8, 32):
                    nibble = (packed[i, j // 2] >> T.cast((j % 2) * 4, "uint8")) & T.uint8(15)
                    level = T.cast(T.cast(nibble, "int32") - 8, "float16")
                    w[i, j] = level * S[bx * 8 + i, (step * 32 + j) // group]
                T.gemm(a, w, c, transpose_B=True)
            T.copy(c, C[by * 16, bx * 8])

    rng = np.random.default_rng(0)
    weights = rng.integers(-8, 8, (n, k))
    packed = ((weights[:, 0::2] + 8) + 16 * (weights[:, 1::2] + 8)).astype(np.uint8)
    a, s, c = sample("float16", (m, k), 1), sample("float16", (n, k // group), 2), np.zeros((m, n), np.float32)
    interpret(kernel, a, packed, s, c)
    scaled = (weights.astype(np.float16) * np.repeat(s, group, 1)).astype(np.float64)
    np.testing.assert_allclose(c, wide(a) @ scaled.T, rtol=1e-5, atol=1e-5)


def test_a_histogram():
    @T.prim_func
    def kernel(X: T.Tensor((1000,), "uint8"), H: T.Tensor((16,), "int32")):
        with T.Kernel(4) as b:
            local = T.alloc_shared((16,), "int32")
            T.clear(local)
            for i in T.Parallel(250):
                T.atomic_add(local[X[b * 250 + i] // 16], 1)
            T.atomic_add(H, local)

    x, h = np.random.default_rng(0).integers(0, 256, 1000).astype(np.uint8), np.zeros(16, np.int32)
    interpret(kernel, x, h)
    assert h.tolist() == np.bincount(x // 16, minlength=16).tolist()


def test_a_convolution():
    n, h, w, c, f = 2, 9, 8, 3, 5

    @T.prim_func
    def kernel(
        X: T.Tensor((n, h, w, c), "float32"), K: T.Tensor((3, 3, c, f), "float32"), Y: T.Tensor((n, h, w, f), "float32")
    ):
        with T.Kernel(T.ceildiv(n * h * w, 16)) as b:
            x, k = T.alloc_shared((16, c), "float32"), T.alloc_shared((c, f), "float32")
            acc = T.alloc_fragment((16, f), "float32")
            T.clear(acc)
            for dy, dx in T.grid(3, 3):
                T.copy(K[dy, dx, 0, 0], k)
                for i, j in T.Parallel(16, c):
                    p = b * 16 + i
                    y0, x0 = p // w % h + dy - 1, p % w + dx - 1
                    inside = T.all_of(y0 >= 0, y0 < h, x0 >= 0, x0 < w)
                    x[i, j] = T.if_then_else(inside, X[p // (h * w), y0, x0, j], 0)
                T.gemm(x, k, acc)
            for i, j in T.Parallel(16, f):
                p = b * 16 + i
                Y[p // (h * w), p // w % h, p % w, j] = acc[i, j]

    x, k = sample("float32", (n, h, w, c), 1), sample("float32", (3, 3, c, f), 2)
    y = np.zeros((n, h, w, f), np.float32)
    interpret(kernel, x, k, y)
    expected = torch.nn.functional.conv2d(
        torch.from_numpy(x.transpose(0, 3, 1, 2)), torch.from_numpy(k.transpose(3, 2, 0, 1)), padding=1
    )
    np.testing.assert_allclose(y, expected.numpy().transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-4)


def test_split_k_with_atomics_in_any_order():
    @T.prim_func
    def kernel(A: T.Tensor((16, 64), "int8"), B: T.Tensor((64, 16), "int8"), C: T.Tensor((16, 16), "int32")):
        with T.Kernel(4) as split:
            a, b = T.alloc_shared((16, 16), "int8"), T.alloc_shared((16, 16), "int8")
            c = T.alloc_fragment((16, 16), "int32")
            T.clear(c)
            T.copy(A[0, split * 16], a)
            T.copy(B[split * 16, 0], b)
            T.gemm(a, b, c)
            T.atomic_add(C, c)

    a, b = sample("int8", (16, 64), 1), sample("int8", (64, 16), 2)
    for seed in range(3):
        c = np.zeros((16, 16), np.int32)
        interpret(kernel, a, b, c, block_order="seeded", seed=seed)
        np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


def test_persistent_blocks_cover_all_tiles():
    @T.prim_func
    def kernel(Y: T.Tensor((40, 56), "int32")):
        with T.Kernel(5) as block:
            for bm, bn in T.Persistent((5, 7), 5, block):
                for i, j in T.Parallel(8, 8):
                    Y[bm * 8 + i, bn * 8 + j] += bm * 100 + bn

    y = np.zeros((40, 56), np.int32)
    interpret(kernel, y)
    i, j = np.indices(y.shape)
    np.testing.assert_array_equal(y, i // 8 * 100 + j // 8)
