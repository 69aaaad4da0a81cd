"""Attention and chunk scans, compared with numpy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from chunk_scan import chunk_scan
from flash_attention import flash_attention
from latent_attention import mla_decode
from shown import empty, normal, run, wide

pytestmark = pytest.mark.rotated
TOLERANCE = 4e-3  # weights are rounded to float16 before they are summed


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool = False) -> np.ndarray:
    """softmax(q k^T / sqrt(dim)) v over the last two axes."""
    scores = wide(q) @ np.swapaxes(wide(k), -1, -2) / q.shape[-1] ** 0.5
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ wide(v)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "length", "dim"), [(8, 512, 128), (2, 200, 128), (3, 77, 40), (1, 1, 16)])
def test_flash_attention(backend: str, heads: int, length: int, dim: int, causal: bool) -> None:
    shape = (1, heads, length, dim)
    q, k, v = (normal("float16", *shape, seed=s) for s in range(3))
    func = flash_attention(*shape, is_causal=causal, block_M=128, block_N=128, dtype="float16")
    run(backend, func, [q, k, v, empty("float16", *shape)], {3: attended(q, k, v, causal)}, TOLERANCE, TOLERANCE)


def test_flash_attention_in_float32(backend: str) -> None:
    shape = (2, 2, 100, 64)
    q, k, v = (normal("float32", *shape, seed=s) for s in range(3))
    run(backend, flash_attention(*shape), [q, k, v, empty("float32", *shape)], {3: attended(q, k, v)}, 1e-5, 1e-5)


@pytest.mark.parametrize(("batch", "heads", "length", "dim", "rotary"), [(2, 64, 300, 512, 64), (3, 16, 64, 128, 32)])
def test_mla_decode(backend: str, batch: int, heads: int, length: int, dim: int, rotary: int) -> None:
    q, qr = normal("float16", batch, heads, dim), normal("float16", batch, heads, rotary, seed=1)
    kv, kr = normal("float16", batch, length, dim, seed=2), normal("float16", batch, length, rotary, seed=3)
    expected = attended(np.concatenate([q, qr], -1), np.concatenate([kv, kr], -1), kv)
    arrays = [q, qr, kv, kr, empty("float16", batch, heads, dim)]
    run(backend, mla_decode(batch, heads, length, dim, rotary), arrays, {4: expected}, TOLERANCE, TOLERANCE)


@pytest.mark.parametrize(
    ("length", "heads", "dim", "state"), [(512, 8, 64, 64), (200, 3, 64, 32), (130, 2, 40, 16), (5, 1, 8, 8)]
)
def test_chunk_scan(backend: str, length: int, heads: int, dim: int, state: int) -> None:
    x = normal("float16", heads, length, dim)
    b, c = ((normal("float16", length, state, seed=s) / state**0.25).astype(np.float16) for s in (1, 2))
    decay = -np.abs(normal("float32", heads, length, seed=3)) / 4
    states, rows = np.zeros((heads, state, dim)), []
    for t in range(length):
        states = np.exp(wide(decay)[:, t, None, None]) * states + wide(b)[t][:, None] * wide(x)[:, t, None, :]
        rows.append(wide(c)[t] @ states)
    arrays = [x, b, c, decay, empty("float16", heads, length, dim), empty("float32", heads, state, dim)]
    run(backend, chunk_scan(length, heads, dim, state), arrays, {4: np.stack(rows, 1), 5: states}, 1e-2, 1e-2)
