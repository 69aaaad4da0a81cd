"""Products in Triton to compare with: float8 with a scale for each block, and grouped by expert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"BM": bm}, num_warps=w, num_stages=s) for bm, w in ((64, 4), (128, 8), (128, 4)) for s in (3, 4)],
    key=["m", "n", "k"],
)
@triton.jit
def _scaled(a, b, sa, sb, c, m, n, k, BM: tl.constexpr):
    block: tl.constexpr = 128
    group: tl.constexpr = 8
    place, down, across = tl.program_id(0), tl.cdiv(m, BM), tl.cdiv(n, block)
    first = place // (group * across) * group
    height = tl.minimum(down - first, group)
    inside = place % (group * across)
    row, tile = (first + inside % height) * BM, inside // height
    rows, columns, depth = row + tl.arange(0, BM), tile * block + tl.arange(0, block), tl.arange(0, block)
    at_a = a + (rows % m)[:, None] * k + depth[None, :]
    at_b = b + (columns % n)[None, :] * k + depth[:, None]
    total = tl.zeros((BM, block), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, block)):
        left = k - step * block
        x = tl.load(at_a, mask=depth[None, :] < left, other=0.0)
        y = tl.load(at_b, mask=depth[:, None] < left, other=0.0)
        scale = tl.load(sa + step * m + rows % m) * tl.load(sb + tile * tl.cdiv(k, block) + step)
        total += tl.dot(x, y) * scale[:, None]
        at_a += block
        at_b += block
    inside_c = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.bfloat16), mask=inside_c)


def triton_scaled(a: Any, b: Any, sa: Any, sb: Any) -> Callable[[], Any]:
    """The call for A [m, k], B [n, k] of float8, SA [k / 128, m], SB [n / 128, k / 128]."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty(m, n, device=a.device, dtype=torch.bfloat16)

    def run() -> Any:
        _scaled[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, 128),)](a, b, sa, sb, c, m, n, k)
        return c

    return run


@triton.autotune(
    [
        triton.Config({"BM": bm, "BN": bn, "BK": 64}, num_warps=w, num_stages=s)
        for bm, bn, w in ((64, 128, 4), (128, 128, 8), (128, 256, 8), (128, 128, 4))
        for s in (3, 4)
    ],
    key=["n", "k", "tokens"],
)
@triton.jit
def _grouped(x, w, starts, y, n, k, tokens, E: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    place, column = tl.program_id(1), tl.program_id(0) * BN
    before, expert, row, end = 0, 0, 0, 0
    for e in range(E):
        a, b = tl.load(starts + e), tl.load(starts + e + 1)
        tiles = tl.cdiv(b - a, BM)
        if (place >= before) & (place < before + tiles):
            expert, row, end = e, a + (place - before) * BM, b
        before += tiles
    if end > 0:
        rows, columns, depth = row + tl.arange(0, BM), column + tl.arange(0, BN), tl.arange(0, BK)
        at_x = x + (rows % tokens)[:, None] * k + depth[None, :]
        at_w = w + expert.to(tl.int64) * k * n + depth[:, None] * n + (columns % n)[None, :]
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for _ in range(0, tl.cdiv(k, BK)):  # k is a multiple of BK
            total = tl.dot(tl.load(at_x), tl.load(at_w), total)
            at_x += BK
            at_w += BK * n
        inside = (rows[:, None] < end) & (columns[None, :] < n)
        tl.store(y + rows[:, None] * n + columns[None, :], total.to(y.dtype.element_ty), mask=inside)


def triton_grouped(x: Any, w: Any, starts: Any) -> Callable[[], Any]:
    """The call for X [tokens, k], W [experts, k, n], starts [experts + 1] of int32."""
    (tokens, k), (experts, _, n) = x.shape, w.shape
    y = torch.empty(tokens, n, device=x.device, dtype=x.dtype)

    def run() -> Any:
        def grid(meta: Any) -> tuple[int, int]:
            return triton.cdiv(n, meta["BN"]), triton.cdiv(tokens, meta["BM"]) + experts

        _grouped[grid](x, w, starts, y, n, k, tokens, experts)
        return y

    return run
