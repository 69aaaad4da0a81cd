"""Variants of attention beside cuDNN, forward and backward, on one H200.

    python benchmarks/h200_attention_variants.py [--rounds 9] [--match TEXT] [--kernels FOLDER] [--out results.json]
    python benchmarks/h200_attention_variants.py --compile FOLDER [--match TEXT]     (anywhere, with NVRTC or nvcc)

Each variant is compiled (in as many processes as there are processors, unless --kernels has them), checked against
cuDNN's result and measured in rounds of random order: clock "row" of h200_measure.py over CUDA graphs, medians. The
line of a shape gives the bar, cuDNN's time, and each variant's ratio to it, the best first. Variants:

usual      what examples/attention.py does without further arguments
even       plain, for 132 blocks: the last tiles by keys
ahead N    TL_PRODUCT_AHEAD: the next scores in a second accumulator, N eighths of the exponentials beside products
192x64     three warpgroups with 64 queries each; other sizes of tiles likewise
panels of N  blocks of N heads run side by side; shared Q: queries stay in shared memory
alone      one block for each tile of queries, as the device schedules them (TL_DISABLE_PERSISTENT_BLOCKS)
late       backward with TL_LATE_RELEASES; spread: blocks begin at different queries
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from h200_measure import example, graphed, interleaved

import tilecore

TARGET, CORES = "cuda -arch=sm_90a", 132
KEYS = tilecore.PassConfigKey
FAST = {KEYS.TL_ENABLE_FAST_MATH: True}
LATE = {KEYS.TL_LATE_RELEASES: True}
MOST_WRONG = {"forward": 4e-3, "backward": 1e-2}  # of the largest value


@dataclass(frozen=True)
class Shape:
    """bar: the ratio to cuDNN that is asked for."""

    direction: str
    batch: int
    heads: int
    kv_heads: int
    length: int
    dim: int
    causal: bool
    bar: float
    dtype: str = "float16"

    def __str__(self) -> str:
        heads = f"{self.heads}" if self.heads == self.kv_heads else f"{self.heads}/{self.kv_heads}"
        kind = " causal" if self.causal else ""
        return f"{self.direction} B{self.batch} H{heads} S{self.length} D{self.dim}{kind}"

    @property
    def operations(self) -> float:
        products = 4 if self.direction == "forward" else 10
        half = 0.5 if self.causal else 1
        return products * self.batch * self.heads * self.length**2 * self.dim * half


@dataclass(frozen=True)
class Variant:
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    passes: dict[Any, Any] = field(default_factory=dict)


def forward(*sizes: Any) -> Shape:
    return Shape("forward", *sizes)


def backward(*sizes: Any) -> Shape:
    return Shape("backward", *sizes, 1.0)


SHAPES = (
    forward(4, 32, 32, 4096, 128, False, 1.12), forward(2, 32, 32, 8192, 128, False, 1.12),
    forward(1, 32, 32, 16384, 128, False, 1.12), forward(4, 32, 32, 4096, 128, True, 1.17),
    forward(2, 32, 32, 8192, 128, True, 1.17), forward(1, 32, 32, 16384, 128, True, 1.17),
    forward(2, 16, 16, 4000, 128, True, 1.17), forward(1, 64, 8, 1000, 128, True, 1.05),
    forward(8, 32, 32, 2048, 64, False, 1.12), forward(4, 32, 32, 4096, 64, False, 1.12),
    forward(8, 32, 32, 2048, 64, True, 1.17), forward(4, 32, 32, 4096, 64, True, 1.17),
    forward(2, 16, 16, 4096, 256, False, 1.08), forward(4, 16, 16, 4096, 256, False, 1.08),
    forward(1, 16, 4, 8192, 256, True, 1.08), forward(4, 8, 8, 1024, 256, True, 1.08),
    forward(16, 16, 16, 512, 64, False, 1.05), forward(16, 16, 16, 512, 64, True, 1.05),
    forward(16, 16, 16, 512, 128, False, 1.05), forward(16, 16, 16, 512, 128, True, 1.05),
    backward(4, 32, 32, 4096, 128, False), backward(4, 32, 32, 4096, 128, True),
    backward(8, 32, 32, 2048, 64, False), backward(8, 32, 32, 2048, 64, True),
    backward(2, 32, 8, 4096, 128, True),
)  # fmt: skip


def variants(s: Shape) -> list[Variant]:
    """``cores`` says nothing for causal attention, whose order is the compiler's."""
    return [variant for variant in _all_variants(s) if not s.causal or "cores" not in variant.arguments]


def _all_variants(s: Shape) -> list[Variant]:
    if s.direction == "backward":
        return backward_variants(s)
    if s.dim == 256:
        return wide_variants()
    even, three = {"cores": CORES}, {"block_M": 192, "block_N": 64, "threads": 384}
    found = [Variant("usual"), Variant("even", even)]
    if s.causal:
        found.append(Variant("alone", {}, {KEYS.TL_DISABLE_PERSISTENT_BLOCKS: True}))
    found += [Variant("late", {}, LATE), Variant("even, late", even, LATE)]
    found += [Variant(f"panels of {n}", {"panel": n}) for n in (1, 2, 8, 16) if (n == 16) <= (not s.causal)]
    if s.dim == 128:
        if s.causal:
            return found
        narrow = {"block_N": 64}
        both = {**narrow, **even}
        return [*found, Variant("128x64 ahead 5", narrow, ahead(5)), Variant("128x64 ahead 5, even", both, ahead(5))]
    keys = (
        {"block_N": 64} if s.length <= 512 and not s.causal else {}
    )  # ptxas serializes the products of four unrolled iterations
    found += [Variant(f"ahead {n}", keys, ahead(n)) for n in (3, 5, 7)]
    shared = {**three, "q_in_registers": False}
    sizes = [(64, 3), (96, 3), (128, 2), (128, 3)] if s.causal else [(96, 2), (96, 3), (112, 2), (128, 2), (80, 3)]
    found += [Variant(f"192x{n}, {k} stages, shared Q", {**shared, "block_N": n, "stages": k}) for n, k in sizes]
    if s.causal:
        found += [Variant(f"128x128, {k} stages, shared Q", {"q_in_registers": False, "stages": k}) for k in (2, 3)]
    else:
        found.append(Variant("128x192", {"block_N": 192}))
    found += [Variant("ahead 5, even", {**keys, **even}, ahead(5)), Variant("192x128", {**three, "block_N": 128})]
    if not s.causal:
        found += [Variant("192x64 ahead 5", three, ahead(5)), Variant("192x64 ahead 7", three, ahead(7))]
        found += [Variant("192x64 ahead 5, even", {**three, **even}, ahead(5))]
    if s.length <= 512:
        found += [Variant("64x128, 128 threads", {"block_M": 64, "threads": 128, "stages": 2})]
        found += [Variant("64x64, 128 threads ahead 5", {"block_M": 64, "block_N": 64, "threads": 128}, ahead(5))]
    return found


def wide_variants() -> list[Variant]:
    """Of heads of 256."""
    shared = {"q_in_registers": False, "stages": 2}
    found = [Variant(f"128x{n}", {**shared, "block_N": n}) for n in (64, 80)]
    found += [Variant(f"128x{n}, even", {**shared, "block_N": n, "cores": CORES}) for n in (64, 80)]
    return [*found, Variant("128x48 ahead 5", {**shared, "block_N": 48}, ahead(5))]


def backward_variants(s: Shape) -> list[Variant]:
    late = LATE
    found = [Variant("late", {}, late), Variant("usual"), Variant("late, rounded", {"rounded_weights": True}, late)]
    if not s.causal:
        found.append(Variant("late, spread", {"spread": True}, late))
    if s.dim == 64:
        found.append(Variant("late, 64 queries", {"block_M": 64}, late))
    return found


def ahead(eighths: int) -> dict[Any, Any]:
    return {KEYS.TL_PRODUCT_AHEAD: eighths}


def prim_func(s: Shape, v: Variant) -> Any:
    sizes = s.batch, s.heads, s.kv_heads, s.length, s.dim, s.causal
    if s.direction == "forward":
        return example("attention").attention(*sizes, dtype=s.dtype, **v.arguments)
    return example("attention_backward").attention_backward(*sizes, dtype=s.dtype, **v.arguments)


def file_of(s: Shape, v: Variant) -> str:
    return hashlib.sha256(f"{s} {s.dtype} {v.name}".encode()).hexdigest()[:16] + ".tck"


def build(job: tuple[Shape, Variant, str, str]) -> str:
    """Compile a variant into a file, unless it is there; returns why it does not compile, or nothing."""
    s, v, path, backend = job
    if Path(path).exists():
        return ""
    outputs = -1 if s.direction == "forward" else [6, 7, 8]
    options = {"target": TARGET, "execution_backend": backend, "out_idx": outputs, "pass_configs": FAST | v.passes}
    try:
        tilecore.compile(prim_func(s, v), **options).export(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def build_all(shapes: list[Shape], folder: Path, backend: str) -> None:
    jobs = [(s, v, str(folder / file_of(s, v)), backend) for s in shapes for v in variants(s)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for job, failure in zip(jobs, pool.map(build, jobs, chunksize=1), strict=True):
            if failure:
                print(f"{job[0]}, {job[1].name}: {failure[:300]}", flush=True)


def of_torch(s: Shape) -> tuple[tuple[Any, ...], Callable[[], Any], list[Any]]:
    """The kernel's inputs, cuDNN's call, and its results in the layout of ours."""
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    kind = getattr(torch, s.dtype)
    q = torch.randn(s.batch, s.length, s.heads, s.dim, device="cuda", dtype=kind)
    k, v = torch.randn(2, s.batch, s.length, s.kv_heads, s.dim, device="cuda", dtype=kind)
    heads_first = [x.transpose(1, 2).requires_grad_(s.direction == "backward") for x in (q, k, v)]

    def run() -> Any:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(*heads_first, is_causal=s.causal, enable_gqa=s.heads != s.kv_heads)

    out = run()
    if s.direction == "forward":
        return (q, k, v), run, [out.transpose(1, 2)]
    do = torch.randn(s.batch, s.length, s.heads, s.dim, device="cuda", dtype=kind)

    def gradients() -> Any:
        return torch.autograd.grad(out, heads_first, do.transpose(1, 2), retain_graph=True)

    lse = logarithms(q, k, s)
    inputs = (q, k, v, out.detach().transpose(1, 2).contiguous(), do, lse)
    return inputs, gradients, [x.transpose(1, 2) for x in gradients()]


def logarithms(q: Any, k: Any, s: Shape) -> Any:
    """log(sum(exp(scores))) of each query, [batch, heads, length], one head at a time."""
    import torch

    lse = torch.empty(s.batch, s.heads, s.length, device="cuda")
    hidden = torch.ones(s.length, s.length, dtype=torch.bool, device="cuda").triu(1) if s.causal else None
    for b in range(s.batch):
        for h in range(s.heads):
            scores = (q[b, :, h] @ k[b, :, h * s.kv_heads // s.heads].T).float() * s.dim**-0.5
            lse[b, h] = (scores if hidden is None else scores.masked_fill_(hidden, -torch.inf)).logsumexp(-1)
    return lse


def measured(s: Shape, folder: Path, rounds: int) -> dict[str, Any]:
    inputs, peer, expected = of_torch(s)
    works: dict[str, Callable[[], Any]] = {"cudnn": peer}
    wrong: dict[str, Any] = {}
    for v in variants(s):
        path = folder / file_of(s, v)
        if not path.exists():
            continue
        try:
            kernel = tilecore.load_kernel(path)
            results = kernel(*inputs)
            results = results if isinstance(results, (list, tuple)) else [results]
            errors = [
                ((mine.float() - right.float()).abs().max() / right.float().abs().max()).item()
                for mine, right in zip(results, expected, strict=True)
            ]
        except Exception as error:
            wrong[v.name] = f"{type(error).__name__}: {error}"[:300]
            print(f"{s}, {v.name}: {wrong[v.name]}", flush=True)
            continue
        if not max(errors) <= MOST_WRONG[s.direction]:
            wrong[v.name] = errors
            print(f"{s}, {v.name}: WRONG, errors {errors}", flush=True)
            continue
        works[v.name] = lambda kernel=kernel: kernel(*inputs)
    launches = 2 if s.operations > 2e11 else 8
    times = interleaved({name: graphed(work) or work for name, work in works.items()}, rounds, "row", launches)
    us = {name: statistics.median(samples) * 1e3 for name, samples in times.items()}
    ratios = {name: us["cudnn"] / us[name] for name in sorted(us, key=lambda n: us[n]) if name != "cudnn"}
    reached = max(ratios.values(), default=0.0)
    mark, rate = "reached" if reached >= s.bar else "missed", s.operations / us["cudnn"] / 1e6
    print(f"{s!s:36} bar {s.bar:.2f} {mark:7} cudnn {us['cudnn']:8.1f} us, {rate:.0f} TFLOP/s: ", end="")
    print(", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items()), flush=True)
    return {"shape": str(s), "bar": s.bar, "best": reached, "us": us, "of cudnn": ratios, "wrong": wrong}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--match", default="", help="only shapes that have this in their name, such as 'D64'")
    parser.add_argument("--kernels", type=Path, help="a folder of kernels that --compile wrote")
    parser.add_argument("--compile", type=Path, help="only compile, into this folder")
    parser.add_argument("--backend", default="nvrtc", help="that compiles: nvrtc or nvcc")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    shapes = [s for s in SHAPES if options.match in str(s)]
    if options.compile:
        options.compile.mkdir(parents=True, exist_ok=True)
        build_all(shapes, options.compile, options.backend)
        return 0
    import torch

    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder, began = options.kernels or Path(temporary), time.monotonic()
        if options.kernels is None:
            build_all(shapes, folder, options.backend)
        print(f"compiled in {time.monotonic() - began:.0f} s", flush=True)
        for s in shapes:
            try:
                rows.append(measured(s, folder, options.rounds))
            except Exception as error:  # such as a shape that cuDNN refuses
                print(f"{s}: {type(error).__name__}: {str(error)[:300]}", flush=True)
                rows.append({"shape": str(s), "bar": s.bar, "failed": str(error)[:300], "wrong": {}})
            torch.cuda.empty_cache()
            facts = {
                "date": str(date.today()), "device": torch.cuda.get_device_name(), "torch": torch.__version__,
                "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "tilecore": tilecore.__version__,
                "rounds": options.rounds,
            }  # fmt: skip
            if options.out:
                options.out.write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
    return 1 if any(row["wrong"] or "failed" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
