"""Cases of benchmarks/h200.py: one new token a sequence, over a paged cache and over a cache of latents (MLA)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from h200_measure import Case, example

import tilecore

PAGE = 64
FAST = {"pass_configs": {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}}


def paged(batch: int, heads: int, kv_heads: int, length: int, dim: int) -> Case:
    """Beside torch's attention over the same keys and values without pages, in one piece for each sequence."""
    module, pages_each = example("paged_attention"), -(-length // PAGE)
    q = torch.randn(batch, heads, dim, device="cuda").half()
    k, v = torch.randn(2, batch * pages_each, PAGE, kv_heads, dim, device="cuda").half()
    table = torch.randperm(batch * pages_each, device="cuda").view(batch, pages_each).to(torch.int32)
    lengths = torch.full((batch,), length, device="cuda", dtype=torch.int32)
    out = torch.empty_like(q)
    plain = [x[table.long()].flatten(1, 2)[:, :length].transpose(1, 2).contiguous() for x in (k, v)]

    def of_torch() -> Any:
        return F.scaled_dot_product_attention(q[:, :, None], *plain, enable_gqa=True)

    configs = [
        {"splits": splits, "block_N": tile, "stages": stages}
        for splits in (1, 2, 4, 8, 16, 32, 64)
        for tile, stages in ((64, 2), (64, 4), (128, 2))
        if 128 <= splits * kv_heads * batch <= 1024
    ]
    ours = {
        f"{c['block_N']} keys, {c['stages']} stages, {c['splits']} parts": lambda c=c: module.paged_attention(
            batch, heads, kv_heads, dim, pages_each, PAGE, **c
        )
        for c in configs
    }
    amount = 2.0 * batch * length * kv_heads * dim * 2
    expected = of_torch()[:, :, 0].float()
    name = f"paged decode B{batch} H{heads}/{kv_heads} S{length} D{dim}"
    return Case(name, "TB/s", amount, (q, k, v, table, lengths, out), ours, {"torch": of_torch}, expected, 5e-3)


def latents(batch: int, heads: int, length: int, latent: int, rotary: int) -> Case:
    """Beside torch's two products and softmax: its attention has no value that is a part of the key."""
    module = example("mla_decode")
    q, qr = (torch.randn(batch, heads, width, device="cuda").half() for width in (latent, rotary))
    kv, kr = (torch.randn(batch, length, width, device="cuda").half() for width in (latent, rotary))
    out = torch.empty_like(q)
    rows = 64 if heads > 16 else 16
    whole_q, whole_k = torch.cat((q, qr), 2), torch.cat((kv, kr), 2)

    def of_torch() -> Any:
        scores = whole_q @ whole_k.transpose(1, 2) * (latent + rotary) ** -0.5
        return scores.softmax(dim=-1) @ kv

    ours: dict[str, Callable[[], Any]] = {
        f"{tile} tokens, {stages} stages, {splits} parts": lambda c=(tile, stages, splits): module.mla_decode(
            batch, heads, length, latent, rotary, c[2], block_H=rows, block_N=c[0], stages=c[1]
        )
        for tile, stages in ((32, 2), (64, 1), (64, 2))
        for splits in (1, 2, 4, 8, 16)
        if 128 <= splits * batch * -(-heads // rows) <= 512
    }
    roles, groups = example("hopper/mla_decode"), -(-heads // 64)
    with_roles = {
        f"roles, {splits} parts" + ", pairs" * (blocks - 1): lambda c=(splits, blocks): roles.mla_decode(
            batch, heads, length, latent, rotary, c[0], blocks=c[1]
        )
        for splits in (1, 2, 4, 8, 16)
        for blocks in (1, 2)
        if groups % blocks == 0 and 100 <= splits * batch * groups <= 256
    }
    amount = 2.0 * batch * heads * length * (2 * latent + rotary)
    name = f"MLA decode B{batch} H{heads} S{length}"
    expected = of_torch().float()
    args, peers, fast = (q, qr, kv, kr, out), {"torch": of_torch}, dict.fromkeys(with_roles, FAST)
    return Case(name, "TFLOP/s", amount, args, ours | with_roles, peers, expected, 1e-2, options_of=fast)


CASES = {
    "decode": [
        (paged, (32, 32, 8, 4096, 128)),
        (paged, (8, 64, 8, 8192, 128)),
        (paged, (1, 32, 8, 32768, 128)),
        (latents, (64, 128, 4096, 512, 64)),
        (latents, (16, 16, 8192, 512, 64)),
    ]
}
