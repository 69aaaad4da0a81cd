"""Sweeps tiles, stages and warps of a GEMM on one GPU and compares each configuration with torch in the same run.

    python benchmarks/h200_gemm_sweep.py [--sizes 4096,8192] [--dtype float16] [--accum float32] [--only 128x256x64]
        [--configs list.json] [--rounds 15] [--out results.json]

C[M, N] = A[M, K] @ B[K, N], all row-major. All kernels are compiled in parallel, each is checked against torch in
float32, then rounds go over kernels and torch in random order, several launches back to back between two device
events. A row: the configuration, its median time and TFLOP/s, those of torch, their ratio, registers and spilled bytes
where the kernel reports them, the largest error relative to the largest value.

--configs: a JSON list of objects with the keys of ``Config``. --only: configurations whose text contains one of these
words, separated by commas.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import torch

import tilecore
import tilecore.language as T

POLICIES = {"square": 0, "rows": 1, "columns": 2}


@dataclass(frozen=True)
class Config:
    """A configuration. swizzle: panel of T.use_swizzle, 0 for none; policy: a key of POLICIES."""

    block_M: int
    block_N: int
    block_K: int
    stages: int
    threads: int
    policy: str = "square"
    swizzle: int = 0

    def __str__(self) -> str:
        words = [f"{self.block_M}x{self.block_N}x{self.block_K}", f"{self.stages} stages", f"{self.threads} threads"]
        words += [self.policy] if self.policy != "square" else []
        return " ".join(words + ([f"swizzle {self.swizzle}"] if self.swizzle else []))


def default_configs(dtype: str) -> list[Config]:
    """Four and eight warps, 32 and 64 along K, as many stages as shared memory holds, with and without panels.

    float32, which is multiplied without matrix instructions: 8 x 8 and 8 x 16 elements of C a thread.
    """
    if dtype == "float32":
        tiles = ((128, 128, 256), (128, 64, 128), (128, 256, 256))
        return [Config(m, n, k, stages, t) for m, n, t in tiles for k in (8, 16, 32) for stages in (2, 3)]
    configs = []
    for m, n, threads, kinds in (
        (128, 128, 128, ((32, 3), (32, 4), (32, 5), (64, 2), (64, 3))),
        (128, 128, 256, ((32, 3), (32, 4), (64, 3), (64, 4))),
        (128, 256, 256, ((32, 3), (32, 4), (32, 5), (64, 2), (64, 3), (64, 4))),
        (256, 128, 256, ((32, 3), (32, 4), (32, 5), (64, 2), (64, 3), (64, 4))),
    ):
        for k, stages in kinds:
            configs += [Config(m, n, k, stages, threads, swizzle=panel) for panel in (0, 8)]
    configs += [Config(128, 128, 64, 3, 128, policy) for policy in ("rows", "columns")]
    return configs


@tilecore.jit
def matmul(
    M, N, K, block_M=128, block_N=128, block_K=32, stages=3, threads=128, policy=0, swizzle=0, dtype="float16",
    accum="float32",
):  # fmt: skip
    @T.prim_func
    def matmul_kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), accum)
            if swizzle:
                T.use_swizzle(swizzle)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local, policy=T.GemmWarpPolicy(policy))
            T.copy(C_local, C[by * block_M, bx * block_N])

    return matmul_kernel


def compiled(configs: list[Config], size: int, dtype: str, accum: str, workers: int | None) -> list[Any]:
    """The kernels, None for one that does not compile."""
    calls = [
        {
            "M": size, "N": size, "K": size, "block_M": c.block_M, "block_N": c.block_N, "block_K": c.block_K,
            "stages": c.stages, "threads": c.threads, "policy": POLICIES[c.policy], "swizzle": c.swizzle,
            "dtype": dtype, "accum": accum,
        }
        for c in configs
    ]  # fmt: skip
    return list(matmul.par_compile(calls, num_workers=workers, ignore_error=True))


def launches(work: Any, count: int) -> float:
    """Milliseconds of one of ``count`` launches back to back."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(count):
        work()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / count


def facts_of(kernel: Any) -> dict[str, Any]:
    """The registers and other resources of the kernel, where it reports them."""
    resources = getattr(kernel, "resources", None)
    resources = resources() if callable(resources) else resources
    return dict(resources) if isinstance(resources, dict) else {}


def measured(size: int, configs: list[Config], options: argparse.Namespace) -> list[dict[str, Any]]:
    kind = getattr(torch, options.dtype)
    a, b = (torch.randn(size, size, device="cuda").to(kind) for _ in range(2))
    c = torch.empty(size, size, device="cuda", dtype=kind)
    expected = a.float() @ b.float()
    largest = expected.abs().max().item()
    begun = time.perf_counter()
    kernels = compiled(configs, size, options.dtype, options.accum, options.workers)
    print(f"{size}: {len(configs)} kernels compiled in {time.perf_counter() - begun:.1f} s", flush=True)
    rows: list[dict[str, Any]] = []
    entries: dict[str, Any] = {"torch": lambda: torch.matmul(a, b, out=c)}
    for config, kernel in zip(configs, kernels, strict=True):
        row = {"size": size, "configuration": str(config), **asdict(config)}
        rows.append(row)
        if kernel is None:
            row["failed"] = "it does not compile"
            continue
        try:
            c.fill_(float("nan"))
            kernel(a, b, c)
            row["error"] = (c.float() - expected).abs().max().item() / largest
        except Exception as error:
            row["failed"] = f"{type(error).__name__}: {error}"[:400]
            continue
        row |= facts_of(kernel)
        if not row["error"] < options.tolerance:
            row["failed"] = "wrong values"
            continue
        entries[str(config)] = lambda kernel=kernel: kernel(a, b, c)
    times: dict[str, list[float]] = {name: [] for name in entries}
    count = max(3, int(2e13 / (2.0 * size**3)))
    for round_number in range(options.rounds + 1):
        for name in random.sample(sorted(entries), len(entries)):
            spent = launches(entries[name], count)
            if round_number:  # the first warms up
                times[name].append(spent)
    scale = 2.0 * size**3 / 1e9
    peer = statistics.median(times["torch"])
    for row in rows:
        if "failed" not in row:
            ours = statistics.median(times[row["configuration"]])
            row |= {"ms": ours, "TFLOP/s": scale / ours, "torch": scale / peer, "ratio": peer / ours}
    return sorted(rows, key=lambda row: row.get("ms", float("inf")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="4096,8192")
    parser.add_argument("--dtype", default="float16")
    parser.add_argument("--accum", default="float32")
    parser.add_argument("--only", default="")
    parser.add_argument("--configs")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tolerance", type=float, default=5e-3)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out")
    options = parser.parse_args()
    configs = default_configs(options.dtype)
    if options.configs:
        with open(options.configs, encoding="utf-8") as file:
            configs = [Config(**entry) for entry in json.load(file)]
    words = [w for w in options.only.split(",") if w]
    configs = [c for c in configs if not words or any(w in str(c) for w in words)]
    rows: list[dict[str, Any]] = []
    for size in map(int, options.sizes.split(",")):
        for row in measured(size, configs, options):
            rows.append(row)
            outcome = (
                row.get("failed") or f"{row['ms']:.3f} ms {row['TFLOP/s']:.0f} TFLOP/s, {row['ratio']:.3f} of torch"
            )
            print(f"{size} {row['configuration']}: {outcome}", flush=True)
    facts = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"facts": facts, "dtype": options.dtype, "accum": options.accum, "rows": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
