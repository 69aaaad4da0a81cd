"""Kernels of other packages that benchmarks/h200.py measures where they are installed: quack-kernels, flash-attn-4."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from h200_measure import graphed


def of_package(name: str, module: str, function: str, *args: Any, **options: Any) -> dict[str, Callable[[], Any]]:
    """A call of a package's function, by the name; nothing if the package is not installed or cannot do it. The first
    call, which compiles the package's kernel, is made here."""
    try:
        call = getattr(importlib.import_module(module), function)
        call(*args, **options)
    except Exception as problem:  # whatever a package that is still to compile its kernel meets
        print(f"without {module}.{function}: {problem!r}"[:200], flush=True)
        return {}
    return {name: lambda: call(*args, **options)}


def quack_rows(function: str, *args: Any, **options: Any) -> dict[str, Callable[[], Any]]:
    """quack.softmax or quack.rmsnorm, in a CUDA graph: the host takes longer for such a call than the device."""
    calls = of_package("quack", "quack", function, *args, **options)
    return {name: graphed(call) or call for name, call in calls.items()}


def quack_gemm(a: Any, b: Any, out: Any) -> dict[str, Callable[[], Any]]:
    """The product by quack in the configuration that it has for all sizes: its tuner compiles for minutes."""
    return of_package("quack", "quack.gemm_interface", "gemm", a, b, out=out, tuned=False)


def flash_attention(q: Any, k: Any, v: Any, causal: bool) -> dict[str, Callable[[], Any]]:
    """FlashAttention's CuTe kernels (flash-attn-4) on tensors [batch, length, heads, dim]."""
    return of_package("flash-attn-4", "flash_attn.cute", "flash_attn_func", q, k, v, causal=causal)
