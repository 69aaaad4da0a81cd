"""Kernels of benchmarks in files: compiled in as many processes as there are processors, called where right."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any


def build_all(build: Callable[[Any], str], jobs: Sequence[tuple[str, Any]]) -> int:
    """The number of kernels that do not compile. build: compiles a job's into its file; returns why it does not, or "".
    jobs: each with the text that names the kernel where it fails."""
    failures, begun = 0, time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for (label, _), failure in zip(jobs, pool.map(build, [job for _, job in jobs]), strict=True):
            if failure:
                failures += 1
                print(f"{label}: {failure[:300]}", flush=True)
    print(f"{len(jobs)} kernels in {time.perf_counter() - begun:.1f} s, {failures} failed", flush=True)
    return failures


def right_calls(
    case: str, files: Mapping[str, Path], inputs: tuple[Any, ...], expected: Any, tolerance: float
) -> dict[str, Callable[[], Any]]:
    """The calls of the variants whose results are right; what is wrong is printed. files: by the variants' names; one
    that is missing is left out. tolerance: of the largest expected value."""
    import tilecore

    works: dict[str, Callable[[], Any]] = {}
    largest = expected.abs().max().item()
    for name, path in files.items():
        if not path.exists():
            continue
        try:
            kernel = tilecore.load_kernel(path)
            error = (kernel(*inputs).float() - expected).abs().max().item() / largest
        except Exception as failure:
            print(f"{case}, {name}: {str(failure)[:300]}", flush=True)
            continue
        if not error <= tolerance:
            print(f"{case}, {name}: WRONG, error {error:.2e}", flush=True)
            continue
        works[name] = lambda kernel=kernel: kernel(*inputs)
    return works
