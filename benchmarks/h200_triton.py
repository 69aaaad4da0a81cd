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
