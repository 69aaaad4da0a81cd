"""Reductions, softmax and norms of rows, rotary positions, gated activations and routing, compared with numpy in
float64."""

from __future__ import annotations

import numpy as np
import pytest
from gated import mlp, swiglu
from rms_norm import rms_norm_of_rows
from rotary import rope
from routed_rows import topk_gather
from row_reductions import reduce_max, reduce_sum
from shown import empty, normal, reports, run, wide
from softmax import softmax_of_rows

pytestmark = pytest.mark.rotated
HALF = 1e-3  # of a result that is rounded to float16 once


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize(("rows", "columns"), [(8192, 1020), (130, 1020), (70, 33), (1, 1)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_reduce_max(backend: str, rows: int, columns: int, dtype: str) -> None:
    x = normal(dtype, rows, columns)
    run(backend, reduce_max(rows, columns, dtype=dtype), [x, empty(dtype, rows)], {1: wide(x).max(1)})


@pytest.mark.parametrize(("rows", "columns"), [(8192, 8192), (130, 1020), (70, 33), (1, 1)])
def test_reduce_sum(backend: str, rows: int, columns: int) -> None:
    """The sums are of integers, and exact in any order. The CModel takes 12 s for 8192 rows, so it gets 1024."""
    rows = min(rows, 1024) if backend == "cmodel" else rows
    x = np.random.default_rng(0).integers(-99, 100, (rows, columns), np.int16).astype(np.float32)
    expected = x.sum(1, dtype=np.float64)
    kernel = run(backend, reduce_sum(rows, columns), [x, empty("float32", rows)], {1: expected})
    if backend == "sim" and rows == 8192:
        (report,) = reports(kernel)
        assert report.total_cycles < 1.02 * report.dma_bound


def test_reduce_sum_of_halves(backend: str) -> None:
    x = normal("float16", 300, 1020)
    expected = wide(x).sum(1)
    run(backend, reduce_sum(300, 1020, dtype="float16"), [x, empty("float32", 300)], {1: expected}, 1e-5)


@pytest.mark.parametrize(
    ("rows", "columns", "dtype"), [(1024, 1024, "float16"), (130, 1000, "float32"), (3, 7, "float16")]
)
def test_softmax(backend: str, rows: int, columns: int, dtype: str) -> None:
    x = normal(dtype, rows, columns)
    weights = np.exp(wide(x) - wide(x).max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True)
    tolerance = HALF if dtype == "float16" else 2e-6
    func = softmax_of_rows(rows, columns, block_M=64, dtype=dtype)
    run(backend, func, [x, empty(dtype, rows, columns)], {1: expected}, tolerance, tolerance)


@pytest.mark.parametrize(("rows", "columns"), [(1024, 1024), (130, 1000), (3, 7)])
def test_rms_norm(backend: str, rows: int, columns: int) -> None:
    x, w = normal("float16", rows, columns), normal("float16", columns, seed=1)
    expected = wide(x) / np.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-6) * wide(w)
    func = rms_norm_of_rows(rows, columns, block_M=64, threads=128)
    run(backend, func, [x, w, empty("float16", rows, columns)], {2: expected}, HALF, HALF)


@pytest.mark.parametrize(("length", "heads", "dim"), [(512, 8, 128), (100, 3, 64)])
def test_rope(backend: str, length: int, heads: int, dim: int) -> None:
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(dim // 2) / (dim // 2))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    x = normal("float16", length, heads, dim)
    turned = (wide(x)[..., : dim // 2] + 1j * wide(x)[..., dim // 2 :]) * (wide(cos) + 1j * wide(sin))[:, None]
    expected = np.concatenate([turned.real, turned.imag], -1)
    func = rope(length, heads, dim)
    run(backend, func, [x, cos, sin, empty("float16", length, heads, dim)], {3: expected}, HALF)


@pytest.mark.parametrize(
    ("tokens", "width", "dtype"), [(512, 1024, "float16"), (100, 300, "bfloat16"), (1, 1, "float16")]
)
def test_swiglu(backend: str, tokens: int, width: int, dtype: str) -> None:
    x = normal(dtype, tokens, 2 * width)
    expected = silu(wide(x)[:, :width]) * wide(x)[:, width:]
    tolerance = HALF if dtype == "float16" else 8e-3
    run(
        backend,
        swiglu(tokens, width, dtype=dtype),
        [x, empty(dtype, tokens, width)],
        {1: expected},
        tolerance,
        tolerance,
    )


@pytest.mark.parametrize(("tokens", "hidden", "inner"), [(256, 256, 512), (100, 192, 320), (33, 70, 50)])
def test_mlp(backend: str, tokens: int, hidden: int, inner: int) -> None:
    x = normal("float16", tokens, hidden)
    gate, up = ((normal("float16", inner, hidden, seed=s) / hidden**0.5).astype(np.float16) for s in (1, 2))
    down = (normal("float16", hidden, inner, seed=3) / inner**0.5).astype(np.float16)
    between = (silu(wide(x) @ wide(gate).T) * (wide(x) @ wide(up).T)).astype(np.float16)
    expected = wide(between) @ wide(down).T
    arrays = [x, gate, up, down, empty("float16", tokens, inner), empty("float16", tokens, hidden)]
    run(backend, mlp(tokens, hidden, inner), arrays, {4: wide(between), 5: expected}, 2 * HALF, 2 * HALF)


@pytest.mark.parametrize(("tokens", "experts", "dim", "k"), [(512, 64, 256, 8), (100, 60, 128, 4), (5, 3, 40, 3)])
def test_topk_gather(backend: str, tokens: int, experts: int, dim: int, k: int) -> None:
    rng = np.random.default_rng(0)
    scores = np.stack([rng.permutation(experts) for _ in range(tokens)]).astype(np.float32) / 8 - 2
    table = normal("float16", experts, dim)
    order = np.argsort(-scores, 1, kind="stable")[:, :k]
    expected = {2: np.take_along_axis(scores, order, 1), 3: order, 4: table[order]}
    arrays = [scores, table, empty("float32", tokens, k), empty("int32", tokens, k), empty("float16", tokens, k, dim)]
    run(backend, topk_gather(tokens, experts, dim, k), arrays, expected)
