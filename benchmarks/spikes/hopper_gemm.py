"""How near is a hand-written fp16 GEMM to torch's on sm_90a, through tilecore's toolchain and launcher?

    python benchmarks/spikes/hopper_gemm.py [--check] [--compile] [--rounds 20] [--out hopper_gemm.json]

``hopper_gemm.cu`` is in the style of the emitted source: tensor copies by three tensor maps that the launcher makes,
products of warpgroups, a producer warp. --compile: only compile, which needs no GPU. --check: only compare with torch.
The timings run in turns in one process, in random order, ten launches (five for large ones) between two events;
medians.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugins" / "tile-cuda"
SOURCE = Path(__file__).with_suffix(".cu")
# one step of k, ragged rows, fewer tiles than blocks, more tiles than blocks, all slots in use
CHECKED = (
    (128, 256, 64), (64, 64, 64), (200, 320, 128), (4096, 256, 512), (1000, 1088, 72), (2048, 4096, 1024),
    (4096, 4096, 4096),
)  # fmt: skip
TIMED = ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 4096, 4096))
SHARED_BYTES = 4 * (128 * 64 + 64 * 256) * 2 + 8 * 2 * 16 * 64 * 2 + 64


def prepare() -> None:
    """tilecore and tile-cuda on the path, their extensions built."""
    for folder in (PLUGIN, ROOT):
        if os.fspath(folder) not in sys.path:
            sys.path.insert(0, os.fspath(folder))
    for folder, extension in (
        (ROOT, "tilecore/runtime/_launcher"),
        (ROOT, "tilecore/runtime/_device_launch"),
        (PLUGIN, "tile_cuda/launch/_native"),
    ):
        if not list(folder.glob(f"{extension}*.so")):
            command = [sys.executable, "setup.py", "build_ext", "--inplace"]
            subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)


def maps() -> list[dict[str, Any]]:
    """The tensor maps of A, B and C. B is seen as columns of 64, so that one copy fills a slot's four blocks of it."""
    from tile_cuda.launch.tensor_maps import TensorMap

    from tilecore.artifact.dims import DimExpr

    m, n, k = DimExpr("m"), DimExpr("n"), DimExpr("k")
    row_of_a, row_of_b, blocks = DimExpr(("*", "k", 2)), DimExpr(("*", "n", 2)), DimExpr(("//", "n", 64))
    common: dict[str, Any] = {"swizzle": "128B", "promotion": "256B"}
    tensor_maps = (
        TensorMap(0, "float16", (k, m), (row_of_a,), (64, 128), name="A", **common),
        TensorMap(1, "float16", (64, k, blocks), (row_of_b, 128), (64, 64, 4), name="B", **common),
        TensorMap(2, "float16", (n, m), (row_of_b,), (64, 16), name="C", **common),
    )
    return [tensor_map.to_json() for tensor_map in tensor_maps]


def artifact(binary: bytes, blocks: int) -> Any:
    from tilecore.artifact.dims import DimExpr
    from tilecore.artifact.records import Artifact, Entry, Symbol, TensorParam

    m, n, k = DimExpr("m"), DimExpr("n"), DimExpr("k")
    params = (
        TensorParam("A", "float16", (m, k), access="r", align=16),
        TensorParam("B", "float16", (k, n), access="r", align=16),
        TensorParam("C", "float16", (m, n), access="w", align=16),
    )
    symbols = (Symbol("m", ("shape", 0, 0)), Symbol("n", ("shape", 1, 1)), Symbol("k", ("shape", 0, 1)))
    entry = Entry("gemm_kernel", (blocks, 1, 1), (288, 1, 1), SHARED_BYTES, attributes={"tensor_maps": maps()})
    return Artifact(
        name="gemm", target="cuda -arch=sm_90a", backend="tile-cuda", adapter="cython", params=params, symbols=symbols,
        workspaces=(), entries=(entry,), out_idx=(), source=SOURCE.read_text(), source_format="cu", binary=binary,
        binary_format="cubin",
    )  # fmt: skip


def compiled() -> tuple[bytes, float]:
    """(the cubin, milliseconds)."""
    from tile_cuda import toolchain
    from tile_cuda.target import resolve

    from tilecore.contract.records import BuildRequest
    from tilecore.target import Target

    target = resolve(Target("cuda", {"arch": "sm_90a"}))
    start = time.perf_counter()
    binary, _ = toolchain.build(BuildRequest("gemm", SOURCE.read_text(), ("gemm_kernel",), target))
    return binary, round((time.perf_counter() - start) * 1e3, 1)


def loaded(binary: bytes) -> Callable[..., Any]:
    import torch
    from tile_cuda.adapter import DriverAdapter

    from tilecore.runtime.launcher import Launcher

    blocks = torch.cuda.get_device_properties(0).multi_processor_count
    kernel, adapter = artifact(binary, blocks), DriverAdapter()
    return Launcher(kernel, adapter.load(kernel), adapter, 2)


def checked(kernel: Callable[..., Any]) -> dict[str, str]:
    """Relative error of the kernel and of torch.mm against the product in float32, per shape."""
    import torch

    times = {}
    for m, n, k in CHECKED:
        a, b = (torch.randn(s, device="cuda").half() for s in ((m, k), (k, n)))
        c = torch.full((m + 1, n), 7.0, device="cuda", dtype=torch.float16)
        kernel(a, b, c[:m])
        expected = a.float() @ b.float()
        errors = [((got.float() - expected).norm() / expected.norm()).item() for got in (c[:m], torch.mm(a, b))]
        right = errors[0] < 1.1 * errors[1] + 1e-6 and bool((c[m] == 7).all())
        times[f"{m}x{n}x{k}"] = f"{'right' if right else 'WRONG'} {errors[0]:.2e} (torch {errors[1]:.2e})"
    return times


def timed(kernel: Callable[..., Any], rounds: int) -> dict[str, Any]:
    """TFLOP/s back to back, and microseconds of a call on the host."""
    import torch

    results: dict[str, Any] = {}
    for m, n, k in TIMED:
        a, b = (torch.randn(s, device="cuda").half() for s in ((m, k), (k, n)))
        c, d = (torch.empty(m, n, device="cuda", dtype=torch.float16) for _ in range(2))
        runs: dict[str, Callable[[], Any]] = {
            "tilecore": lambda a=a, b=b, c=c: kernel(a, b, c),
            "torch": lambda a=a, b=b, d=d: torch.mm(a, b, out=d),
        }
        samples: dict[str, list[float]] = {name: [] for name in runs}
        launches = 10 if m * n * k <= 4096**3 else 5
        for _ in range(rounds):
            for name in random.sample(sorted(runs), len(runs)):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                runs[name]()
                start.record()
                for _ in range(launches):
                    runs[name]()
                end.record()
                end.synchronize()
                samples[name].append(start.elapsed_time(end) / launches)
        flops = {name: round(2e-9 * m * n * k / statistics.median(times), 1) for name, times in samples.items()}
        results[f"{m}x{n}x{k}"] = {**flops, "ratio": round(flops["tilecore"] / flops["torch"], 3)}
    return results


def call_us(kernel: Callable[..., Any]) -> float:
    """Microseconds of one call on the host, with three tensor maps that are kept."""
    import torch

    a, b, c = (torch.zeros(s, device="cuda", dtype=torch.float16) for s in ((128, 64), (64, 256), (128, 256)))
    times = []
    for _ in range(200):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(50):
            kernel(a, b, c)
        times.append((time.perf_counter_ns() - start) / 50e3)
    return round(statistics.median(times), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    prepare()
    binary, milliseconds = compiled()
    result: dict[str, Any] = {"compile_ms": milliseconds, "cubin_bytes": len(binary)}
    if not options.compile:
        import torch

        if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
            raise SystemExit("this needs a GPU of compute capability 9.0; --compile needs none")
        kernel = loaded(binary)
        result |= {"device": torch.cuda.get_device_name(0), "torch": torch.__version__, "checked": checked(kernel)}
        if not options.check:
            result |= {"tflops": timed(kernel, options.rounds), "call_us": call_us(kernel)}
    text = json.dumps(result, indent=2)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
