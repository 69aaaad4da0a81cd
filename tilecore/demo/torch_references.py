"""What the demo's kernels are compared with, in torch; the same functions as in numpy_references.py."""

from __future__ import annotations

import torch


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=1)


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.rms_norm(x, (x.shape[1],), weight, 1e-6)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def dequant_matmul(a: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Unpack two weights a byte (the even column in the low bits), scale them, multiply."""
    weights = torch.stack([packed & 15, packed >> 4], dim=-1).flatten(1).float() - 8
    return a @ (weights * scale.repeat_interleave(len(weights) // len(scale), dim=0))


def column_sum(x: torch.Tensor) -> torch.Tensor:
    return x.sum(dim=0)
