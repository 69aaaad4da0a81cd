"""The demo's cases: which kernel, at which size, on which inputs, and what it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilecore.demo import kernels


@dataclass(frozen=True)
class Case:
    """One kernel at one size.

    kernel: the ``@tilecore.jit`` factory; values: its arguments. smaller_tiles: more of them, for devices on which the
    tiles by default exceed a limit, such as that of shared memory: 24 KiB are enough for these.
    inputs: (shape, kind) of each input, where kind is "normal" (float32), "positive" (float32 in (0.005, 0.015), like
    quantisation scales) or "bytes" (uint8).
    output: shape of the float32 result. reference: a function of the reference modules; options: its keywords.
    tolerance: largest accepted error, relative to the largest magnitude of the reference.
    """

    name: str
    kernel: Any
    values: Mapping[str, Any]
    inputs: tuple[tuple[tuple[int, ...], str], ...]
    output: tuple[int, ...]
    reference: str
    options: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-5
    smaller_tiles: Mapping[str, int] = field(default_factory=dict)

    @property
    def size(self) -> str:
        """The sizes for people: ``1024x1024x1024``."""
        return "x".join(str(v) for v in self.values.values() if not isinstance(v, bool))

    def make_inputs(self) -> list[np.ndarray]:
        """The same random inputs every time."""
        generator = np.random.default_rng(7)
        return [_MAKERS[kind](generator, shape) for shape, kind in self.inputs]


_MAKERS = {
    "normal": lambda generator, shape: generator.standard_normal(shape, dtype=np.float32),
    "positive": lambda generator, shape: generator.uniform(0.005, 0.015, shape).astype(np.float32),
    "bytes": lambda generator, shape: generator.integers(0, 256, shape, dtype=np.uint8),
}


def cases(quick: bool = False) -> list[Case]:
    """All cases; ``quick``: at small sizes, for slow machines, simulators and tests."""
    return [
        _matmul(128, 192, 160) if quick else _matmul(1024, 1024, 1024),
        _softmax(64, 200) if quick else _softmax(4096, 1024),
        _rms_norm(64, 200) if quick else _rms_norm(4096, 1024),
        _flash_attention(1, 2, 128, 32, False) if quick else _flash_attention(1, 8, 1024, 64, False),
        _flash_attention(1, 2, 128, 32, True) if quick else _flash_attention(1, 8, 1024, 64, True),
        _dequant_matmul(32, 128, 128) if quick else _dequant_matmul(256, 2048, 2048),
        _column_sum(128, 512) if quick else _column_sum(4096, 4096),
    ]


def _matmul(M: int, N: int, K: int) -> Case:
    inputs = (((M, K), "normal"), ((K, N), "normal"))
    return Case("matmul", kernels.matmul, {"M": M, "N": N, "K": K}, inputs, (M, N), "matmul")


def _softmax(M: int, N: int) -> Case:
    return Case("softmax", kernels.softmax, {"M": M, "N": N}, (((M, N), "normal"),), (M, N), "softmax")


def _rms_norm(M: int, N: int) -> Case:
    inputs = (((M, N), "normal"), ((N,), "normal"))
    return Case("rms_norm", kernels.rms_norm, {"M": M, "N": N}, inputs, (M, N), "rms_norm")


def _flash_attention(batch: int, heads: int, seq_len: int, dim: int, is_causal: bool) -> Case:
    shape = (batch, heads, seq_len, dim)
    values = {"batch": batch, "heads": heads, "seq_len": seq_len, "dim": dim, "is_causal": is_causal}
    name = "flash causal" if is_causal else "flash_attention"
    inputs = ((shape, "normal"),) * 3
    return Case(name, kernels.flash_attention, values, inputs, shape, "attention", {"is_causal": is_causal})


def _dequant_matmul(M: int, N: int, K: int, group: int = 32) -> Case:
    inputs = (((M, K), "normal"), ((K, N // 2), "bytes"), ((K // group, N), "positive"))
    values = {"M": M, "N": N, "K": K}
    tiles = {"block_K": 32}
    return Case("int4_matmul", kernels.dequant_matmul, values, inputs, (M, N), "dequant_matmul", smaller_tiles=tiles)


def _column_sum(M: int, N: int) -> Case:
    inputs = (((M, N), "normal"),)
    tiles = {"block_M": 32, "block_N": 128}
    return Case("column_sum", kernels.column_sum, {"M": M, "N": N}, inputs, (N,), "column_sum", smaller_tiles=tiles)
