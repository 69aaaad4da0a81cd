"""Cases of benchmarks/h200.py that are limited by memory bandwidth: softmax, RMSNorm, addition."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from h200_measure import Case, example

ROWS = ((16384, 4096), (8192, 8192), (4096, 32768))


def threads_for(columns: int) -> list[int]:
    return [t for t in (128, 256, 512, 1024) if 16 <= columns // t <= 64]


def softmax(m: int, n: int) -> Case:
    module, fused = example("softmax"), torch.compile(lambda x: torch.softmax(x, -1))
    x = torch.randn(m, n, device="cuda").half()
    y = torch.empty_like(x)
    ours = {
        f"rows in registers, {t} threads": lambda t=t: module.softmax(m, n, 1, t, "float16") for t in threads_for(n)
    }
    if n > 8192:
        long = module.softmax_of_long_rows
        ours |= {f"rows in shared memory, {t} threads": lambda t=t: long(m, n, t, "float16") for t in (256, 512)}
    peers = {"torch": lambda: torch.softmax(x, -1), "inductor": lambda: fused(x), "torch copy": lambda: y.copy_(x)}
    expected = torch.softmax(x.float(), -1)
    return Case(f"softmax fp16 {m}x{n}", "TB/s", 2.0 * x.nbytes, (x, y), ours, peers, expected, 2e-3)


def rms_norm(m: int, n: int) -> Case:
    module, fused = example("rms_norm"), torch.compile(lambda x, w: F.rms_norm(x, (x.shape[-1],), w, 1e-6))
    x, w = torch.randn(m, n, device="cuda").half(), torch.randn(n, device="cuda").half()
    y = torch.empty_like(x)
    ours = {f"rows in registers, {t} threads": lambda t=t: module.rms_norm(m, n, 1, t) for t in threads_for(n)}
    peers = {
        "torch": lambda: F.rms_norm(x, (n,), w, 1e-6),
        "inductor": lambda: fused(x, w),
        "torch copy": lambda: y.copy_(x),
    }
    expected = F.rms_norm(x.float(), (n,), w.float(), 1e-6)
    return Case(f"rms_norm fp16 {m}x{n}", "TB/s", 2.0 * x.nbytes, (x, w, y), ours, peers, expected, 2e-3)


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
