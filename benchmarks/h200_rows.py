"""Cases of benchmarks/h200.py that are limited by memory bandwidth: softmax, RMSNorm, addition.

Beside them run torch, torch.compile, a copy, and the kernels of quack-kernels (PyPI) where it is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from h200_measure import Case, example
from h200_peers import quack_rows

import tilecore

ROWS = ((16384, 4096), (8192, 8192), (4096, 32768), (20000, 5120), (65536, 1000))
CLOCKS = {"cold": 1, "do_bench": 1}
FAST = {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}
AHEAD = {"without prefetch": 0, "2 MiB ahead": 2 << 20, "8 MiB ahead": 8 << 20}


def by_prefetch(make: Callable[[], Any], configs: Mapping[str, Any]) -> dict[str, Any]:
    """A kernel as it is compiled by default, and with other distances of prefetches: arguments of Case."""
    options = {
        name: {"pass_configs": {**configs, tilecore.PassConfigKey.TL_BLOCK_PREFETCH: n}} for name, n in AHEAD.items()
    }
    ours = dict.fromkeys(("as the example", *options), make)
    return {"ours": ours, "options": {"pass_configs": configs}, "options_of": options}


def softmax(m: int, n: int) -> Case:
    module, fused = example("softmax"), torch.compile(lambda x: torch.softmax(x, -1))
    x = torch.randn(m, n, device="cuda").half()
    y = torch.empty_like(x)
    peers = {"torch": lambda: torch.softmax(x, -1), "inductor": lambda: fused(x), "torch copy": lambda: y.copy_(x)}
    return Case(
        f"softmax fp16 {m}x{n}",
        "TB/s",
        2.0 * x.nbytes,
        (x, y),
        peers=peers | quack_rows("softmax", x),
        want=torch.softmax(x.float(), -1),
        tolerance=2e-3,
        clocks=CLOCKS,
        **by_prefetch(lambda: module.softmax(m, n, "float16", clusters=True), FAST),
    )


def rms_norm(m: int, n: int) -> Case:
    module, fused = example("rms_norm"), torch.compile(lambda x, w: F.rms_norm(x, (x.shape[-1],), w, 1e-6))
    x, w = torch.randn(m, n, device="cuda").half(), torch.randn(n, device="cuda").half()
    y = torch.empty_like(x)
    peers = {
        "torch": lambda: F.rms_norm(x, (n,), w, 1e-6),
        "inductor": lambda: fused(x, w),
        "torch copy": lambda: y.copy_(x),
    }
    return Case(
        f"rms_norm fp16 {m}x{n}",
        "TB/s",
        2.0 * x.nbytes,
        (x, w, y),
        peers=peers | quack_rows("rmsnorm", x, w, eps=1e-6),
        want=F.rms_norm(x.float(), (n,), w.float(), 1e-6),
        tolerance=2e-3,
        clocks=CLOCKS,
        **by_prefetch(lambda: module.rms_norm(m, n, clusters=True), {}),
    )


def add(n: int) -> Case:
    module = example("vector_add")
    a, b = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    c = torch.empty_like(a)
    ours = {
        f"block {s}, {t} threads": lambda s=s, t=t: module.vector_add(n, s, t)
        for s, t in ((1024, 256), (2048, 256), (2048, 512), (4096, 256))
    }
    peers = {"torch": lambda: torch.add(a, b, out=c)}
    return Case(f"add fp32 {n}", "TB/s", 3.0 * a.nbytes, (a, b, c), ours, peers, a + b, 0.0)


CASES = {
    "softmax": [(softmax, shape) for shape in ROWS],
    "rms_norm": [(rms_norm, shape) for shape in ROWS],
    "add": [(add, (1 << 28,))],
}
