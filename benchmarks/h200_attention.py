"""Cases of benchmarks/h200.py: attention forward, beside cuDNN, torch's flash attention and flash-attn-4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from h200_measure import Case, example
from h200_peers import flash_attention
from torch.nn.attention import SDPBackend, sdpa_kernel

import tilecore
from tilecore import heuristics


def of_torch(backend: SDPBackend, q: Any, k: Any, v: Any, causal: bool) -> Callable[[], Any]:
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))

    def run() -> Any:
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return run


def attention(batch: int, heads: int, length: int, dim: int, causal: bool) -> Case:
    module = example("attention")
    q, k, v = torch.randn(3, batch, length, heads, dim, device="cuda", dtype=torch.float16)
    out = torch.empty_like(q)
    peers = {
        "cudnn": of_torch(SDPBackend.CUDNN_ATTENTION, q, k, v, causal),
        "torch flash": of_torch(SDPBackend.FLASH_ATTENTION, q, k, v, causal),
    }
    expected = peers["cudnn"]().transpose(1, 2).float()
    proposal = heuristics.attention(batch, heads, heads, length, length, dim, None, causal, "float16", count=1)[
        0
    ].config
    by_config = {"as the example": {}, "proposed": {n: value for n, value in proposal.items() if n != "pass_configs"}}
    ours = {
        name: lambda config=config: module.attention(batch, heads, heads, length, dim, is_causal=causal, **config)
        for name, config in by_config.items()
    }
    amount = 4.0 * batch * heads * length * length * dim * (0.5 if causal else 1)
    name = f"attention B{batch} H{heads} S{length} D{dim}{' causal' if causal else ''}"
    options = {"pass_configs": {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}}
    passes = {"pass_configs": options["pass_configs"] | proposal.get("pass_configs", {})}
    clocks = {"graph": 2 if amount > 1e11 else 10}
    peers |= flash_attention(q, k, v, causal)
    args, options_of = (q, k, v, out), {"proposed": passes}
    return Case(name, "TFLOP/s", amount, args, ours, peers, expected, 4e-3, "cudnn", clocks, options, options_of)


SHAPES = (
    (4, 32, 4096, 128, False),
    (4, 32, 4096, 128, True),
    (2, 32, 8192, 128, False),
    (2, 32, 8192, 128, True),
    (1, 32, 16384, 128, False),
    (1, 32, 16384, 128, True),
    (4, 32, 4096, 64, False),
    (8, 32, 2048, 64, True),
    (2, 16, 4096, 256, False),
    (16, 16, 512, 128, False),
    (16, 16, 512, 128, True),
    (16, 16, 512, 64, False),
    (16, 16, 512, 64, True),
    (2, 16, 4000, 128, False),  # the last tile of queries and of keys is no whole one
    (2, 16, 4000, 128, True),
)
CASES = {"attention": [(attention, shape) for shape in SHAPES]}
