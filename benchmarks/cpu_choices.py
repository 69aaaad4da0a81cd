"""What each choice of the cpu target's passes gains on this machine: kernels with all of them, and without one.

    python benchmarks/cpu_choices.py [--rounds 15] [--out results.json]

Each row: processor time of one thread in milliseconds (medians over alternating rounds), and its ratio to torch. A
choice that loses on a kind of processor should be made differently there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F

import tilecore
from tilecore.backends.cpu import pool
from tilecore.backends.cpu.llvm.polynomials import Poly
from tilecore.backends.cpu.target import host_name
from tilecore.cache import clear_cache
from tilecore.demo import kernels
from tilecore.lowering.loops import (
    accumulate_in_place,
    copy_in_passing,
    fold_masks,
    fold_scales,
    gemm,
    hoist_copies,
    register_tiles,
)

FIND = hoist_copies._find
TARGET = {"words": "cpu"}


def without_b(*arguments: Any) -> list[Any]:
    """The copies that are hoisted but for those of B, which the gemm of each block then makes in passing."""
    return [one for one in FIND(*arguments) if one.copy.call.src.source.name != "B"]


CHOICES: dict[str, Callable[[], Any]] = {
    "no A in place": lambda: patch.object(register_tiles, "MOST_ROWS_OF_SET", 0),
    "no copy in passing": lambda: patch.object(copy_in_passing, "read_from_tensors", lambda func, *others: func),
    "B in passing by each block": lambda: patch.object(hoist_copies, "_find", without_b),
    "nothing hoisted": lambda: patch.object(hoist_copies, "_find", lambda *others: []),
    "no folded scales": lambda: patch.object(fold_scales, "_scaled_rows", lambda *others: None),
    "no folded masks": lambda: patch.object(fold_masks, "_mask", lambda *others: None),
    "C not in place": lambda: patch.object(accumulate_in_place, "_last_copies", lambda *others: []),
    "no prefetch in K < 128": lambda: patch.object(gemm, "LEAST_STEPS", 128),
    "B twice as far ahead": lambda: patch.object(gemm, "VECTORS_AHEAD", 2 * gemm.VECTORS_AHEAD),
    "B half as far ahead": lambda: patch.object(gemm, "VECTORS_AHEAD", gemm.VECTORS_AHEAD // 2),
    "no prefetch of A": lambda: patch.object(gemm._RegisterTiles, "_prefetch_a", lambda *others: []),
    "no prefetch of panels": lambda: patch.object(gemm._RegisterTiles, "_prefetch_panel", lambda *others: []),
    "tiles of 2 vectors": lambda: patch.dict(TARGET, {"words": "cpu -tile_vectors=2"}),
    "tiles of 4 vectors": lambda: patch.dict(TARGET, {"words": "cpu -tile_vectors=4"}),
    "exp2 by rounding": lambda: patch.object(Poly, "reduces_in_one", False),
}
OF_BOTH = (
    "no A in place",
    "B twice as far ahead",
    "B half as far ahead",
    "no prefetch of A",
    "tiles of 2 vectors",
    "tiles of 4 vectors",
)
OF_PRODUCTS = (*OF_BOTH, "no prefetch of panels", "no copy in passing", "B in passing by each block", "C not in place")
OF_ATTENTION = (
    *OF_BOTH,
    "no folded scales",
    "no folded masks",
    "no prefetch in K < 128",
    "exp2 by rounding",
    "nothing hoisted",
)


def compiled(make: Callable[[], Any], choice: str | None) -> Any:
    clear_cache()
    with ExitStack() as stack:
        if choice is not None:
            stack.enter_context(CHOICES[choice]())
        return make()


def products() -> Iterator[tuple[str, dict[str, Callable[[], object]]]]:
    for sizes, tile in (
        ((512, 512, 512), (128, 256, 512)),
        ((512, 512, 512), (512, 256, 512)),
        ((512, 512, 512), (256, 256, 512)),
        ((1024, 1024, 1024), (128, 256, 1024)),
        ((1024, 1024, 1024), (256, 256, 1024)),
        ((100, 1024, 1024), (100, 256, 1024)),
        ((1024, 1024, 13), (128, 256, 13)),
    ):
        m, n, k = sizes
        a, b, c = torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)
        works: dict[str, Callable[[], object]] = {"torch": lambda a=a, b=b, c=c: torch.matmul(a, b, out=c)}
        for choice in (None, *OF_PRODUCTS):
            kernel = compiled(
                lambda s=sizes, t=tile: tilecore.jit(kernels.matmul.func, target=TARGET["words"])(*s, *t), choice
            )
            kernel(a, b, c)
            torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-3)
            works[choice or "all"] = lambda kernel=kernel, a=a, b=b, c=c: kernel(a, b, c)
        yield f"gemm {m}x{n}x{k}, blocks {'x'.join(map(str, tile))}", works


def attention() -> Iterator[tuple[str, dict[str, Callable[[], object]]]]:
    shape = (1, 8, 1024, 64)
    q, k, v = (torch.randn(shape) for _ in range(3))
    for causal, keys in ((False, 128), (True, 64)):
        o = torch.empty_like(q)

        def peer(causal: bool = causal) -> Any:
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

        works: dict[str, Callable[[], object]] = {"torch": peer}
        for choice in (None, *OF_ATTENTION):

            def make(causal: bool = causal, keys: int = keys) -> Any:
                function = tilecore.jit(kernels.flash_attention.func, target=TARGET["words"])
                return function(*shape, causal, block_M=64, block_N=keys)

            kernel = compiled(make, choice)
            kernel(q, k, v, o)
            torch.testing.assert_close(o, peer(), rtol=1e-4, atol=1e-5)
            works[choice or "all"] = lambda kernel=kernel, o=o: kernel(q, k, v, o)
        yield f"attention fp32 S1024 D64{' causal' if causal else ''}", works


def measure(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median of each, in milliseconds."""
    calls = {}
    for name, work in works.items():
        work()
        start = time.thread_time()
        work()
        calls[name] = max(1, int(0.01 / max(time.thread_time() - start, 1e-6)))
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            work()
            start = time.thread_time()
            for _ in range(calls[name]):
                work()
            times[name].append((time.thread_time() - start) / calls[name] * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out")
    options = parser.parse_args()
    # a cache of its own, which is emptied before each compilation: the choices are no part of its keys
    folder = tempfile.TemporaryDirectory()
    os.environ["TILECORE_CACHE_DIR"] = folder.name
    torch.set_num_threads(1)
    pool.set_num_threads(1)
    rows = {}
    print(host_name())
    for group in (products, attention):
        for case, works in group():
            rows[case] = measure(works, options.rounds)
            print(case)
            for name, median in rows[case].items():
                print(f"    {name:24} {median:9.4f} ms  {rows[case]['torch'] / median:5.2f} of torch", flush=True)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"machine": host_name(), "milliseconds": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
