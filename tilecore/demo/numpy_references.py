"""What the demo's kernels are compared with where there is no torch."""

from __future__ import annotations

import numpy as np


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b


def softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def rms_norm(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + np.float32(1e-6)) * weight


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, is_causal: bool) -> np.ndarray:
    scores = q @ k.swapaxes(-1, -2) / np.float32(np.sqrt(q.shape[-1]))
    if is_causal:
        scores = np.where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), scores, np.float32(-np.inf))
    return softmax(scores) @ v


def dequant_matmul(a: np.ndarray, packed: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Unpack two weights a byte (the even column in the low bits), scale them, multiply."""
    weights = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1).astype(np.float32) - 8
    return a @ (weights * scale.repeat(len(weights) // len(scale), axis=0))


def column_sum(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=0)
