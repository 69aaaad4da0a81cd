"""A matrix product in Triton, to compare with in benchmarks/h200.py: grouped block order, tuned by its autotuner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

_CONFIGS = [
    triton.Config({"BM": bm, "BN": bn, "BK": bk}, num_warps=warps, num_stages=stages)
    for bm, bn, bk, warps, stages in (
        (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 64, 8, 3), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4),
    )
]  # fmt: skip


@triton.autotune(_CONFIGS, key=["m", "n", "k"])
@triton.jit
def _product(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    group: tl.constexpr = 8
    block, down, across = tl.program_id(0), tl.cdiv(m, BM), tl.cdiv(n, BN)
    first = block // (group * across) * group
    height = tl.minimum(down - first, group)
    inside = block % (group * across)
    row, column = (first + inside % height) * BM, inside // height * BN
    rows, columns, depth = row + tl.arange(0, BM), column + tl.arange(0, BN), tl.arange(0, BK)
    at_a = a + (rows % m)[:, None] * k + depth[None, :]
    at_b = b + depth[:, None] * n + (columns % n)[None, :]
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BK)):
        left = k - step * BK
        x = tl.load(at_a, mask=depth[None, :] < left, other=0.0)
        y = tl.load(at_b, mask=depth[:, None] < left, other=0.0)
        sums = tl.dot(x, y, sums)
        at_a += BK
        at_b += BK * n
    inside_c = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], sums.to(tl.float16), mask=inside_c)


def triton_matmul(a: Any, b: Any) -> Callable[[], Any]:
    """The call for A [m, k] and B [k, n] in half precision."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)

    def run() -> None:
        _product[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)](a, b, c, m, n, k)

    return run


_LATENT_CONFIGS = [
    triton.Config({"BN": bn}, num_warps=warps, num_stages=stages)
    for bn, warps, stages in ((32, 8, 2), (64, 8, 2), (64, 8, 1))
]


@triton.autotune(_LATENT_CONFIGS, key=["heads", "length"])
@triton.jit
def _latent_attention(
    q, qr, kv, kr, out, heads, length, to_log2,
    LATENT: tl.constexpr, ROTARY: tl.constexpr, BH: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    block, b = tl.program_id(0), tl.program_id(1)
    rows, columns, rotary = block * BH + tl.arange(0, BH), tl.arange(0, LATENT), tl.arange(0, ROTARY)
    inside = (rows < heads)[:, None]
    row = (b * heads + rows)[:, None]
    x = tl.load(q + row * LATENT + columns[None, :], mask=inside, other=0.0)
    xr = tl.load(qr + row * ROTARY + rotary[None, :], mask=inside, other=0.0)
    sums = tl.zeros((BH, LATENT), dtype=tl.float32)
    largest = tl.full((BH,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((BH,), dtype=tl.float32)
    for first in range(0, length, BN):
        tokens = first + tl.arange(0, BN)
        is_token = tokens < length
        token = (b * length + tokens)[:, None]
        tile = tl.load(kv + token * LATENT + columns[None, :], mask=is_token[:, None], other=0.0)
        tile_r = tl.load(kr + token * ROTARY + rotary[None, :], mask=is_token[:, None], other=0.0)
        scores = tl.dot(xr, tl.trans(tile_r), tl.dot(x, tl.trans(tile)))
        scores = tl.where(is_token[None, :], scores * to_log2, float("-inf"))
        new = tl.maximum(largest, tl.max(scores, 1))
        weights, factor = tl.exp2(scores - new[:, None]), tl.exp2(largest - new)
        total, largest = total * factor + tl.sum(weights, 1), new
        sums = tl.dot(weights.to(tile.dtype), tile, sums * factor[:, None])
    tl.store(out + row * LATENT + columns[None, :], (sums / total[:, None]).to(out.dtype.element_ty), mask=inside)


def triton_latents(q: Any, qr: Any, kv: Any, kr: Any) -> Callable[[], Any]:
    """The call for decoding with latent attention: Q [batch, heads, latent], QR [batch, heads, rotary], and KV, KR with
    the length in place of heads. 64 heads a program, all tokens in one part."""
    (batch, heads, latent), rotary, length = q.shape, qr.shape[2], kv.shape[1]
    out, rows = torch.empty_like(q), 64
    to_log2 = 1.4426950408889634 * (latent + rotary) ** -0.5

    def run() -> Any:
        grid = (triton.cdiv(heads, rows), batch)
        _latent_attention[grid](q, qr, kv, kr, out, heads, length, to_log2, LATENT=latent, ROTARY=rotary, BH=rows)
        return out

    return run
