"""The cases of benchmarks/as_written.py: sizes, usual configurations, operands and right results."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import as_written_kernels

GEMM_KEYS = ("block_M", "block_N", "block_K", "stages", "threads", "c_shared", "swizzle")
ATTENTION_KEYS = ("block_M", "block_N", "stages", "threads")
_LARGE = (
    (128, 128, 64, 3, 128, True, 10), (128, 128, 64, 4, 128, True, 10), (128, 128, 64, 3, 256, True, 0),
    (128, 256, 64, 3, 256, True, 10), (128, 256, 64, 4, 256, True, 10), (128, 256, 64, 3, 256, False, 10),
    (128, 256, 64, 4, 256, False, 0),
)  # fmt: skip
_SKINNY = (
    (64, 64, 128, 3, 128, True, 0), (64, 128, 64, 4, 128, True, 0), (64, 128, 128, 3, 128, True, 0),
    (64, 128, 128, 3, 128, False, 0), (128, 128, 64, 4, 128, True, 0),
)  # fmt: skip
_BYTES = tuple((m, n, 128, stages, *rest) for m, n, _, stages, *rest in _LARGE)


@dataclass(frozen=True)
class Case:
    """One piece of work. sizes: of the kernel's function. amount: its operations. configs: values of ``keys``."""

    name: str
    kind: str
    sizes: Mapping[str, Any]
    configs: tuple[tuple[Any, ...], ...]
    amount: float

    @property
    def keys(self) -> tuple[str, ...]:
        return GEMM_KEYS if self.kind == "gemm" else ATTENTION_KEYS

    def text(self, config: tuple[Any, ...]) -> str:
        return " ".join(f"{key}={value}" for key, value in zip(self.keys, config, strict=True))

    def function(self, module: Any, config: tuple[Any, ...]) -> Any:
        make: Callable[..., Any] = getattr(as_written_kernels, self.kind)
        return make(module, **self.sizes, **dict(zip(self.keys, config, strict=True)))

    def compiled(self, module: Any, config: tuple[Any, ...], **options: Any) -> Any:
        """The kernel, for the device's target, or that of ``options``; attention with fast mathematics.

        The variable AS_WRITTEN_PASS_CONFIGS is a JSON object of further pass configurations for tilecore's kernels.
        """
        options.setdefault("target", "cuda")
        key = importlib.import_module(module.__name__).PassConfigKey.TL_ENABLE_FAST_MATH
        configs = {key: True} if self.kind == "attention" else {}
        if module.__name__ == "tilecore":
            configs |= json.loads(os.environ.get("AS_WRITTEN_PASS_CONFIGS") or "{}")
        return module.compile(self.function(module, config), pass_configs=configs, **options)


def _gemm(name: str, M: int, N: int, K: int, configs: Any = _LARGE, **more: Any) -> Case:
    return Case(name, "gemm", {"M": M, "N": N, "K": K, **more}, tuple(configs), 2.0 * M * N * K)


def _attention(name: str, batch: int, heads: int, length: int, dim: int, is_causal: bool, configs: Any, **more: Any):
    sizes = {"batch": batch, "heads": heads, "length": length, "dim": dim, "is_causal": is_causal, **more}
    amount = 4.0 * batch * heads * length * length * dim / (2 if is_causal else 1)
    return Case(name, "attention", sizes, tuple(configs), amount)


_HEADS_128 = ((128, 128, 1, 256), (128, 128, 2, 256), (192, 128, 2, 384), (64, 64, 2, 128))
_HEADS_256 = ((64, 64, 1, 128), (64, 64, 2, 128), (128, 64, 1, 256), (128, 64, 2, 256), (128, 128, 1, 256))
CASES = (
    _gemm("gemm fp16 4096", 4096, 4096, 4096),
    _gemm("gemm fp16 8192", 8192, 8192, 8192),
    _gemm("gemm fp16 2048", 2048, 2048, 2048),
    _gemm("gemm fp16 5120x13824x5120", 5120, 13824, 5120),
    _gemm("gemm fp16 3000x4096x4096", 3000, 4096, 4096),
    _gemm("gemm fp16 16x8192x8192", 16, 8192, 8192, _SKINNY),
    _gemm("gemm fp16 256x7168x2048", 256, 7168, 2048, (*_SKINNY, *_LARGE[:3])),
    _gemm("gemm bf16 NT 8192x3584x18944", 8192, 3584, 18944, layout="NT", dtype="bfloat16"),
    _gemm("gemm fp8 NT 8192", 8192, 8192, 8192, _BYTES, layout="NT", dtype="float8_e4m3fn", out_dtype="float16"),
    _attention("attention D128", 4, 32, 4096, 128, False, _HEADS_128),
    _attention("attention D128 causal", 4, 32, 4096, 128, True, _HEADS_128),
    _attention("attention D64 causal", 8, 32, 2048, 64, True, _HEADS_128),
    _attention("attention D256", 4, 16, 4096, 256, False, _HEADS_256),
    _attention("attention GQA D128 causal", 4, 32, 4096, 128, True, _HEADS_128, groups=4),
)


class Operands:
    """The tensors of a case on the device, and what its kernels must compute."""

    def __init__(self, case: Case) -> None:
        import torch

        self.torch, self.case = torch, case
        torch.manual_seed(0)
        self.args = self._gemm() if case.kind == "gemm" else self._attention()

    @property
    def out(self) -> Any:
        return self.args[-1]

    def error(self) -> float:
        """The largest error of the output over the largest value."""
        return float((self.out.float() - self.expected).abs().max() / self.expected.abs().max())

    def _gemm(self) -> list[Any]:
        torch, sizes = self.torch, self.case.sizes
        M, N, K = (sizes[name] for name in "MNK")
        dtype = getattr(torch, sizes.get("dtype", "float16"))
        out_dtype = getattr(torch, sizes.get("out_dtype", sizes.get("dtype", "float16")))
        is_transposed = sizes.get("layout") == "NT"
        a = torch.randn(M, K, device="cuda").to(dtype)
        b = torch.randn(*((N, K) if is_transposed else (K, N)), device="cuda").to(dtype)
        right = b.T if is_transposed else b
        self.expected = a.float() @ right.float()
        out = torch.empty(M, N, device="cuda", dtype=out_dtype)
        self.peer = (lambda: torch.matmul(a, right, out=out)) if dtype.itemsize > 1 else None
        return [a, b, out]

    def _attention(self) -> list[Any]:
        torch, sizes = self.torch, self.case.sizes
        batch, heads, length, dim = (sizes[name] for name in ("batch", "heads", "length", "dim"))
        groups = sizes.get("groups", 1)
        q = torch.randn(batch, length, heads, dim, device="cuda", dtype=torch.float16)
        k, v = torch.randn(2, batch, length, heads // groups, dim, device="cuda", dtype=torch.float16)
        by_head = [x.transpose(1, 2) for x in (q, k, v)]
        attend = torch.nn.functional.scaled_dot_product_attention
        self.peer = lambda: attend(*by_head, is_causal=sizes["is_causal"], enable_gqa=groups > 1)
        self.expected = self.peer().transpose(1, 2).float()
        return [q, k, v, torch.empty_like(q)]
