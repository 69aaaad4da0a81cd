"""The kernels that tpu.py measures, with what they are called with and what they give, by numpy in float64."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "plugins" / "tile-tpu" / "tests" / "kernels"), str(ROOT / "examples")]


@dataclass(frozen=True)
class Case:
    """make: the kernel, of a number of pipeline stages. arrays: of a call. want: the last of them after it, in float64.
    tolerance: of an element, relative to 1 + its magnitude. bar: the largest ratio that is good, if there is one."""

    name: str
    make: Callable[[int], Any]
    arrays: list[np.ndarray]
    expected: np.ndarray
    tolerance: float
    bar: float | None = None
    pipelined: bool = True


def soft(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def normal(*shape: int, dtype: str = "float16") -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32).astype(dtype)


def cases(quick: bool) -> Iterator[Case]:
    yield from products(quick)
    yield from attentions(quick)
    yield from rows(quick)
    yield from routed(quick)


def products(quick: bool) -> Iterator[Case]:
    from gated import mlp
    from products import product

    size = 512 if quick else 1024
    a, b = normal(size, size), normal(size + 1, size)[1:]
    yield Case(
        f"matmul fp16 {size}^3", lambda stages: product(
            size, size, size, out="float16", blocks=(size // 2, size // 4, 256), stages=stages
        ),
        [a, b, np.zeros_like(a)], a.astype(np.float64) @ b, 2e-3, 1.3,
    )  # fmt: skip
    tokens, hidden, inner = (256, 256, 512) if quick else (512, 512, 1024)
    x = normal(tokens, hidden)
    gate, up = ((normal(inner + i, hidden)[i:] / hidden**0.5).astype(np.float16) for i in (1, 2))
    down = (normal(hidden, inner) / inner**0.5).astype(np.float16)
    between = (silu(x.astype(np.float64) @ gate.T) * (x.astype(np.float64) @ up.T)).astype(np.float16)
    yield Case(
        f"MLP {tokens}x{hidden}x{inner}", lambda stages: mlp(tokens, hidden, inner, stages=stages),
        [x, gate, up, down, np.zeros_like(between), np.zeros_like(x)], between.astype(np.float64) @ down.T, 4e-3,
    )  # fmt: skip


def attentions(quick: bool) -> Iterator[Case]:
    from attention import attention
    from chunk_scan import chunk_scan
    from latent_attention import mla_decode

    length = 256 if quick else 512
    q, k, v = (normal(1, 8, length + i, 128)[:, :, i:] for i in range(3))
    wide = [x.astype(np.float64) for x in (q, k, v)]
    scores = wide[0] @ np.swapaxes(wide[1], -1, -2) / 128**0.5
    yield Case(
        f"attention B1 H8 S{length} D128", lambda stages: attention(length, 128, 128, stages),
        [q, k, v, np.zeros_like(q)], soft(scores) @ wide[2], 4e-3, 1.6,
    )  # fmt: skip
    hidden = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    yield Case(
        f"attention, causal, S{length}", lambda stages: attention(length, 128, 128, stages, causal=True),
        [q, k, v, np.zeros_like(q)], soft(hidden) @ wide[2], 4e-3,
    )  # fmt: skip
    batch, heads, length = 8, 64, 256 if quick else 1024
    q, qr = normal(batch, heads, 512), normal(batch, heads, 64)
    kv, kr = normal(batch, length, 512), normal(batch, length, 64)
    keys = np.concatenate([kv, kr], -1).astype(np.float64)
    weights = soft(np.concatenate([q, qr], -1).astype(np.float64) @ np.swapaxes(keys, 1, 2) / 576**0.5)
    yield Case(
        f"MLA decode B{batch} H{heads} S{length}", lambda stages: mla_decode(batch, heads, length, stages=stages),
        [q, qr, kv, kr, np.zeros_like(q)], weights @ kv.astype(np.float64), 4e-3,
    )  # fmt: skip
    heads, length, dim, state = 8, 256 if quick else 512, 64, 64
    x, decay = normal(heads, length, dim), -np.abs(normal(heads, length, dtype="float32")) / 4
    b, c = ((normal(length + i, state)[i:] / state**0.25).astype(np.float16) for i in (1, 2))
    running_state = np.zeros((heads, state, dim))
    for t in range(length):
        running_state = (
            np.exp(decay[:, t, None, None].astype(np.float64)) * running_state
            + b[t].astype(np.float64)[:, None] * x[:, t, None]
        )
    yield Case(
        f"chunk scan H{heads} S{length} D{dim}", lambda stages: chunk_scan(length, heads, dim, state, stages=stages),
        [x, b, c, decay, np.zeros_like(x), np.zeros((heads, state, dim), np.float32)], running_state, 1e-2,
    )  # fmt: skip


def rows(quick: bool) -> Iterator[Case]:
    from gated import swiglu
    from rms_norm import rms_norm_of_rows
    from rotary import rope
    from row_reductions import reduce_max, reduce_sum
    from softmax import softmax_of_rows
    from vector_add import vector_add

    count = 1 << (17 if quick else 20)
    x, y = normal(count, dtype="float32"), normal(count + 1, dtype="float32")[1:]
    yield Case(
        f"add fp32 {count}", lambda stages: vector_add(count, count // 8), [x, y, np.zeros_like(x)],
        (x + y).astype(np.float64), 0.0, 1.1, pipelined=False,
    )  # fmt: skip
    m = 1024 if quick else 8192
    x = normal(m, 1020)
    yield Case(
        f"reduce_max fp16 {m}x1020", lambda stages: reduce_max(m, 1020, stages=stages),
        [x, np.zeros(m, np.float16)], x.max(1).astype(np.float64), 0.0,
    )  # fmt: skip
    x = normal(m, m, dtype="float32")
    yield Case(
        f"reduce_sum fp32 {m}x{m}", lambda stages: reduce_sum(m, m, stages=stages),
        [x, np.zeros(m, np.float32)], x.sum(1, dtype=np.float64), 1e-4,
    )  # fmt: skip
    x, w = normal(1024, 1024), normal(1024)
    wide = x.astype(np.float64)
    yield Case(
        "softmax fp16 1024x1024", lambda stages: softmax_of_rows(1024, 1024, 64, dtype="float16"),
        [x, np.zeros_like(x)], soft(wide), 1e-3, pipelined=False,
    )  # fmt: skip
    yield Case(
        "RMSNorm fp16 1024x1024", lambda stages: rms_norm_of_rows(1024, 1024, 64, 128), [x, w, np.zeros_like(x)],
        wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * w, 2e-3, pipelined=False,
    )  # fmt: skip
    x = normal(1024, 2048)
    yield Case(
        "SwiGLU fp16 1024x1024", lambda stages: swiglu(1024, 1024), [x, np.zeros((1024, 1024), np.float16)],
        silu(x[:, :1024].astype(np.float64)) * x[:, 1024:], 2e-3, pipelined=False,
    )  # fmt: skip
    angles = np.arange(512)[:, None] * 10000.0 ** (-np.arange(64) / 64)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    x = normal(512, 8, 128)
    turned = (x[..., :64] + 1j * x[..., 64:].astype(np.float64)) * (cos + 1j * sin)[:, None]
    yield Case(
        "RoPE fp16 S512 H8 D128", lambda stages: rope(512, 8, 128, stages=stages), [x, cos, sin, np.zeros_like(x)],
        np.concatenate([turned.real, turned.imag], -1), 2e-3,
    )  # fmt: skip


def routed(quick: bool) -> Iterator[Case]:
    from routed_rows import topk_gather

    tokens, experts, dim, k = 512, 64, 256, 8
    rng = np.random.default_rng(0)
    scores = np.stack([rng.permutation(experts) for _ in range(tokens)]).astype(np.float32)
    table = normal(experts, dim)
    best = np.argsort(-scores, 1)[:, :k]
    outputs = [
        np.zeros((tokens, k), np.float32),
        np.zeros((tokens, k), np.int32),
        np.zeros((tokens, k, dim), np.float16),
    ]
    yield Case(
        f"top-{k} gather {tokens}x{experts}", lambda stages: topk_gather(tokens, experts, dim, k),
        [scores, table, *outputs], table[best].astype(np.float64), 0.0, pipelined=False,
    )  # fmt: skip
