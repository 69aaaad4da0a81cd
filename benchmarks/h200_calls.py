"""Cases of benchmarks/h200.py: the time of a call on the host, and of a compilation."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from typing import Any

import torch
from h200_measure import example

import tilecore


def launch() -> list[dict[str, Any]]:
    """Each sample has a hundred calls one after the other, which is short enough that no queue fills up."""
    a, b = torch.randn(256, device="cuda"), torch.randn(256, device="cuda")
    c = torch.empty_like(a)
    kernel, plus = tilecore.compile(example("vector_add").vector_add(256, 256, 128), target="cuda"), torch.add

    def ours() -> None:
        for _ in range(100):
            kernel(a, b, c)

    def into() -> None:
        for _ in range(100):
            plus(a, b, out=c)

    def fresh() -> None:
        for _ in range(100):
            plus(a, b)

    works = {"tilecore": ours, "torch.add(out=)": into, "torch.add": fresh}
    samples: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(200):
        for name in random.sample(list(works), len(works)):
            torch.cuda.synchronize()
            start = time.perf_counter()
            works[name]()
            samples[name].append((time.perf_counter() - start) * 1e4)
    rows = [{"case": "launch", "who": name, "us": statistics.median(times)} for name, times in samples.items()]
    for row in rows:
        print(f"{'launch, 3 tensors, host':26} {row['who']:44} {row['us']:8.3f} us", flush=True)
    return rows


def compile_gemm() -> list[dict[str, Any]]:
    module, milliseconds = example("gemm"), []
    for number in range(5):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TILECORE_CACHE_DIR"] = folder
            start = time.perf_counter()
            size = 4096 + 128 * number
            kernel = tilecore.compile(
                module.gemm(size, size, size, block_M=128, block_N=256, stages=4, threads=256), target="cuda"
            )
            milliseconds.append((time.perf_counter() - start) * 1e3)
            assert kernel is not None
    print(f"{'compile, GEMM, no cache':26} {'tilecore':44} {statistics.median(milliseconds):8.1f} ms", flush=True)
    return [{"case": "compile", "who": "tilecore", "ms": statistics.median(milliseconds), "all_ms": milliseconds}]
