"""Cases of copies, products, reductions, gathers and sorts, and of several cores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tpu_case import FLOATS, TYPES, Case, filled, rounded
from tpu_kernels import BF16, E4M3, E5M2, FP16, FP32, INT8, INT32, UINT8, UINT16


def moves(rng: np.random.Generator) -> Iterator[Case]:
    for dt in (FP32, FP16, INT8):
        for shape in ((1, 33, 1, 70), (1, 70, 1, 33), (2, 16, 3, 16)):
            x = filled(rng, shape, dt)
            t = np.ascontiguousarray(x.transpose(0, 3, 2, 1))
            # the tensor unit's c-w transpose has another layout where h > 1
            for entry in ("cw_trans", "wc_trans", "gdma_cw_S2L", "gdma_cw_L2S")[shape[2] > 1 :]:
                yield Case(f"{entry}-{dt}-{shape}", entry, [x, np.zeros_like(t)], [*shape, dt], {1: t})
            t = np.ascontiguousarray(x.transpose(1, 0, 2, 3))
            for entry in ("gdma_nc_S2L", "gdma_nc_L2L"):
                yield Case(f"{entry}-{dt}-{shape}", entry, [x, np.zeros_like(t)], [*shape, dt], {1: t})
    for dt in (FP32, FP16):
        for shape in ((1, 130, 1, 40), (1, 20, 1, 17)):
            x = filled(rng, shape, dt)
            for first, count in ((0, 7), (5, 8), (13, 7)):
                expected = np.ascontiguousarray(x[:, first : first + count])
                yield Case(f"rows-{dt}-{shape}-{first}", "rows", [x, np.zeros_like(expected)],
                           [*shape, dt, 0, first, count], {1: expected})  # fmt: skip
                yield Case(f"cross_npu-{dt}-{shape}-{first}", "cross_npu", [x, np.zeros_like(expected)],
                           [*shape, dt, 0, first, count], {1: expected})  # fmt: skip
        shape = (2, 70, 3, 10)
        x = filled(rng, shape, dt)
        w = x.astype(np.float32)
        yield Case(f"compact-{dt}", "compact", [x, np.zeros_like(x)], [*shape, dt], {1: rounded(w + w, dt)})
        yield Case(f"line_aligned-{dt}", "line_aligned", [x, np.zeros_like(x)], [*shape, dt], {1: rounded(w * w, dt)})
        yield Case(f"s2s-{dt}", "s2s", [x, np.zeros_like(x)], [*shape, dt], {1: x})
        expected = rounded(w[..., 0::2] + w[..., 1::2], dt)
        yield Case(f"even_odd-{dt}", "even_odd", [x, np.zeros_like(expected)], [*shape, dt], {1: expected})
        half = np.full(shape, 1.25, TYPES[dt])
        line = np.full(1000, 1.25, TYPES[dt])
        yield Case(f"fills-{dt}", "fills", [np.zeros_like(x), np.zeros_like(x), line * 0, line * 0],
                   [*shape, dt, 0, 1000], {0: half, 1: half, 2: line, 3: line}, [1.25])  # fmt: skip
        big = filled(rng, (8, 90, 50), dt)
        shape = (4, 45, 1, 13)
        expected = np.ascontiguousarray(big[1::2, 0::2, 0:39:3]).reshape(shape)
        yield Case(f"strided_dma-{dt}", "strided_dma", [big[1:].copy(), np.zeros(shape, TYPES[dt])],
                   [*shape, dt, 0, 2 * 90 * 50, 2 * 50, 0, 3], {1: expected})  # fmt: skip
        for shape in ((1, 70, 1, 45), (1, 40, 1, 16), (1, 130, 1, 7)):
            x, m, r = filled(rng, shape, dt), filled(rng, (shape[1], 1), dt), filled(rng, (1, shape[3]), dt)
            w, out = x.astype(np.float32), np.zeros_like(x)
            column = m.astype(np.float32).reshape(1, -1, 1, 1)
            yield Case(f"row_bcast-{dt}-{shape}", "row_bcast", [x, m, out], [*shape, dt], {2: rounded(w * column, dt)})
            row = rounded(w + r.astype(np.float32), dt)
            yield Case(f"column_bcast-{dt}-{shape}", "column_bcast", [x, r, out], [*shape, dt], {2: row})
            yield Case(f"dma_bcast-{dt}-{shape}", "dma_bcast", [x, r, out], [*shape, dt], {2: row})


def products(rng: np.random.Generator) -> Iterator[Case]:
    for m, k, n in ((16, 16, 16), (65, 33, 17), (130, 100, 70), (1, 64, 64), (128, 512, 64)):
        for dt in (FP16, BF16):
            a, b = filled(rng, (m, k), dt, -0.5, 0.5), filled(rng, (k, n), dt, -0.5, 0.5)
            exact = a.astype(np.float64) @ b.astype(np.float64)
            at, bt = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
            c = filled(rng, (m, n), FP32)
            ct = np.ascontiguousarray(c.T)
            whole = [0, 0, 0, 0, dt, FP32, m, k, n]
            yield _mm(f"mm-{dt}-{m}-{k}-{n}", "mm", [a, b, c], [*whole, 1], exact + c, k)
            yield _mm(f"mm_R_trans-{dt}-{m}-{k}-{n}", "mm_R_trans", [a, bt, c * 0], whole, exact, k)
            yield _mm(f"mm_R_trans_add-{dt}-{m}-{k}-{n}", "mm_R_trans_add", [a, bt, c], [*whole, 0], exact + c, k)
            yield _mm(f"mm_all_trans-{dt}-{m}-{k}-{n}", "mm_all_trans", [at, bt, ct], [*whole, 1], exact.T + ct, k)
            short = [*whole[:5], dt, *whole[6:], 0]
            expected = rounded(exact, dt).astype(np.float64)
            yield Case(f"mm-{dt}-short-{m}-{k}-{n}", "mm", [a, b, np.zeros((m, n), TYPES[dt])], short, {2: expected},
                       ulps=1, least=1e-3, cmodel=(1, 1e-3))  # fmt: skip
    yield _mm("relu", "mm_R_trans_add", [a, bt, c], [*whole, 1], np.maximum(exact + c, 0), k)
    m, k, n = 33, 50, 20
    for left, right in ((E4M3, E4M3), (E5M2, E5M2), (E4M3, E5M2)):
        a, b, c = filled(rng, (m, k), left), filled(rng, (k, n), right), filled(rng, (m, n), FP32)
        exact = a.astype(np.float64) @ b.astype(np.float64)
        whole = [0, 0, 0, 0, left, FP32, m, k, n, 1, right]
        yield _mm(f"fp8_mm-{left}-{right}", "fp8_mm", [a, b, c], whole, exact + c, k)
        yield _mm(f"fp8_mm_R_trans-{left}-{right}", "fp8_mm_R_trans", [a, np.ascontiguousarray(b.T), c], whole,
                  exact + c, k)  # fmt: skip
    for parts in ((16, 16), (64, 48), (7, 5)):
        for add in (0, 1):
            a, b, c = filled(rng, (m, k), FP32), filled(rng, (k, n), FP32), filled(rng, (m, n), FP32)
            exact = a.astype(np.float64) @ b.astype(np.float64) + add * c
            yield _mm(f"fp32_mm-{parts}-{add}", "fp32_mm", [a, b, c], [0, 0, 0, 0, FP32, FP32, m, k, n, add, *parts],
                      exact, k)  # fmt: skip
    for left, right, zero in ((INT8, INT8, 0), (UINT8, UINT8, 130), (INT8, INT8, -5)):
        a, b, c = filled(rng, (m, k), left), filled(rng, (k, n), right), np.zeros((m, n), np.int32)
        expected = a.astype(np.int64) @ (b.astype(np.int64) - zero)
        yield Case(f"int8_mm-{left}-{right}-{zero}", "int8_mm", [a, b, c],
                   [0, 0, 0, 0, left, right, m, k, n, 0, zero], {2: expected})  # fmt: skip


def _mm(name, entry, arrays, p, expected, depth) -> Case:
    return Case(name, entry, arrays, p, {2: expected}, ulps=8, least=2e-6 * depth, cmodel=(8, 2e-6 * depth))


def reductions(rng: np.random.Generator) -> Iterator[Case]:
    for dt in FLOATS:
        for width in (1, 15, 16, 17, 45, 64, 300):
            x = filled(rng, (1, 70, 1, width), dt)
            shape, out = [*x.shape, dt], np.zeros((70, 1), TYPES[dt])
            w = x.astype(np.float64)[0, :, 0]
            largest, least = (reduction(1, keepdims=True) for reduction in (w.max, w.min))
            yield Case(f"max_pool-{dt}-{width}", "max_pool", [x, out], [*shape, 0, 1, width], {1: largest})
            yield Case(f"min_pool-{dt}-{width}", "min_pool", [x, out], [*shape, 0, 1, width], {1: least})
            wide = [*x.shape, dt, FP32, 1, width]
            yield Case(f"avg_pool_ex-{dt}-{width}", "avg_pool_ex", [x, np.zeros((70, 1), np.float32)], wide,
                       {1: w.sum(1, keepdims=True)}, [1.0], ulps=8, least=1e-6 * width,
                       cmodel=(8, 1e-6 * width))  # fmt: skip
            sums = [np.zeros((70, 1), np.float32), np.zeros((70, 1), np.float32)]
            for i in range(width):
                sums[i % 2] = rounded(sums[i % 2] + w[:, i : i + 1].astype(np.float32), dt).astype(np.float32)
            step = rounded(sums[0] + sums[1], dt)
            yield Case(f"avg_pool-{dt}-{width}", "avg_pool", [x, out], [*shape, 0, 1, width], {1: step}, [1.0],
                       cmodel=(0, 1e-6 * width if dt == FP32 else 0))  # fmt: skip
        x = filled(rng, (2, 70, 9, 14), dt)
        w = x.astype(np.float64)
        yield Case(f"max_pool-{dt}-h", "max_pool", [x, np.zeros((2, 70, 1, 14), TYPES[dt])],
                   [*x.shape, dt, 0, 9, 1], {1: w.max(2, keepdims=True)})  # fmt: skip
    column_of_ones = np.ones((1, 64, 1, 5000), np.float16)
    yield Case("avg_pool-half-sticks", "avg_pool", [column_of_ones, np.zeros((64, 1), np.float16)],
               [*column_of_ones.shape, FP16, 0, 1, 5000], {1: np.full((64, 1), 4096.0)}, [1.0])  # fmt: skip


def indices(rng: np.random.Generator) -> Iterator[Case]:
    for dt in (FP32, FP16):
        table, picks = filled(rng, (20, 33), dt), rng.integers(0, 20, 7).astype(np.uint32)
        picks[2] = 99
        expected = np.stack([table[i] if i < 20 else np.full(33, 7, TYPES[dt]) for i in picks])
        for entry in ("h_gather_S2S", "h_gather_S2L"):
            yield Case(f"{entry}-{dt}", entry, [table, picks, np.zeros((7, 33), TYPES[dt])],
                       [1, 1, 7, 33, dt, 0, 20], {2: expected}, [7.0])  # fmt: skip
        places = rng.permutation(20)[:7].astype(np.uint32)
        out = np.zeros((20, 33), TYPES[dt])
        expected = out.copy()
        expected[places] = table[:7]
        yield Case(
            f"h_scatter-{dt}", "h_scatter_S2S", [table[:7].copy(), places, out], [1, 1, 20, 33, dt, 0, 7], {2: expected}
        )
        for index in (UINT8, UINT16):
            t, i = filled(rng, (70, 50), dt), rng.integers(0, 50, (2, 70, 1, 20)).astype(TYPES[index])
            expected = np.stack([np.take_along_axis(t, i[n, :, 0].astype(np.int64), 1) for n in range(2)])[:, :, None]
            yield Case(f"batch_w_gather-{dt}-{index}", "batch_w_gather", [t, i, np.zeros((2, 70, 1, 20), TYPES[dt])],
                       [2, 70, 1, 20, dt, index, 50], {2: expected})  # fmt: skip
            t, i = filled(rng, (70, 12, 9), dt), rng.integers(0, 12, (2, 70, 5, 1)).astype(TYPES[index])
            expected = np.stack([np.take_along_axis(t, i[n].astype(np.int64), 1) for n in range(2)])
            yield Case(f"batch_h_gather-{dt}-{index}", "batch_h_gather", [t, i, np.zeros((2, 70, 5, 9), TYPES[dt])],
                       [2, 70, 5, 9, dt, index, 12], {2: expected})  # fmt: skip
    for start, step, count in ((3, 2, 8), (-7, -1, 100), (0, 1, 70)):
        row = start + step * np.arange(count, dtype=np.int32)
        yield Case(f"iota_bcast-{start}", "iota_bcast", [np.zeros((64, count), np.int32)], [1, 1, 1, 1, INT32, 0, start,
                   step, count], {0: np.broadcast_to(row, (64, count))})  # fmt: skip
        yield Case(f"iota_distribute-{start}", "iota_distribute", [np.zeros(count, np.int32)],
                   [1, 1, 1, 1, INT32, 0, start, step, count], {0: row})  # fmt: skip
    x = rng.integers(-50, 50, 257)
    for dt, k, down in ((FP32, 11, 1), (INT32, 257, 0), (FP32, 257, 1)):
        order = np.argsort(-x if down else x, kind="stable")[:k]
        v = x.astype(TYPES[dt])
        yield Case(f"sort-{dt}-{k}-{down}", "sort", [v, np.zeros(k, v.dtype), np.zeros(k, np.int32)],
                   [1, 1, 1, 1, dt, 0, 257, k, down], {1: v[order], 2: order})  # fmt: skip


def programs(rng: np.random.Generator) -> Iterator[Case]:
    for blocks in (1, 2):
        out = np.zeros((blocks, 16), np.int32)
        expected = np.broadcast_to(100 * blocks + np.arange(blocks)[:, None], out.shape)
        yield Case(f"cores-{blocks}", "cores", [out], [1, 1, 1, 16], {0: expected}, blocks=blocks)
    x = filled(rng, (5 * 64, 100), FP16)
    expected = rounded(x.astype(np.float32) + 1, FP16)
    yield Case("pipeline", "pipeline", [x, np.zeros_like(x)], [1, 64, 1, 100, FP16, 0, 5], {1: expected})
