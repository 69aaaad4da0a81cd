"""The kernels of examples/ on one GPU beside torch, torch.compile and Triton: the same work in one run.

    python benchmarks/h200.py [--only softmax,rms_norm,add,gemm,launch,compile] [--rounds 25] [--out results.json]

Every configuration is checked against torch in float32. Then rounds go over configurations and peers in random order;
before each launch the second-level cache is filled with something else, as triton.testing.do_bench does; times are the
device's, between two events, medians over the rounds. A line: TB/s or TFLOP/s, and the ratio to torch in this run.
launch: microseconds of one call on the host, three tensors. compile: milliseconds of a GEMM kernel from the decorated
function to a kernel that can be called, nothing cached, TVM imported.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import tilecore
from tilecore.errors import TilecoreError

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ROWS = ((16384, 4096), (8192, 8192), (4096, 32768))
FLUSHED = 256 << 20  # bytes written between launches


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Case:
    """One piece of work. amount: bytes moved, or operations. ours: factories of a T.prim_func by configuration;
    args: of the kernel, its output last. peers: calls by name; want: the right output."""

    name: str
    unit: str
    amount: float
    args: tuple[Any, ...]
    ours: dict[str, Callable[[], Any]]
    peers: dict[str, Callable[[], Any]]
    want: Any
    tolerance: float

    @property
    def out(self) -> Any:
        return self.args[-1]

    def kernels(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        for name, make in self.ours.items():
            try:
                kernel = tilecore.compile(make(), target="cuda")
                self.out.fill_(float("nan"))
                kernel(*self.args)
                error = ((self.out.float() - self.want).abs().max() / self.want.abs().max()).item()
            except TilecoreError as failure:
                print(f"{self.name}, {name}: {failure}", flush=True)
                continue
            if not error <= self.tolerance:
                print(f"{self.name}, {name}: WRONG, error {error:.2e}", flush=True)
                continue
            yield name, lambda kernel=kernel: kernel(*self.args)

    def measure(self, rounds: int) -> list[dict[str, Any]]:
        works = {f"tilecore: {name}": work for name, work in self.kernels()} | self.peers
        times = interleaved(works, rounds)
        scale = self.amount / 1e9  # of milliseconds
        reached = {name: scale / statistics.median(found) for name, found in times.items()}
        rows = []
        for name in sorted(reached, key=lambda n: -reached[n]):
            ratio = reached[name] / reached["torch"]
            rows.append({"case": self.name, "who": name, self.unit: reached[name], "of torch": ratio})
            print(f"{self.name:26} {name:44} {reached[name]:8.3f} {self.unit}  {ratio:.3f}", flush=True)
        return rows


def interleaved(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds on the device of single launches, by name."""
    cache = torch.empty(FLUSHED, dtype=torch.uint8, device="cuda")
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(rounds):
        events = {}
        for name in random.sample(list(works), len(works)):
            cache.zero_()
            events[name] = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            events[name][0].record()
            works[name]()
            events[name][1].record()
        torch.cuda.synchronize()
        for name, (start, end) in events.items():
            times[name].append(start.elapsed_time(end))
    return times


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
    want = torch.softmax(x.float(), -1)
    return Case(f"softmax fp16 {m}x{n}", "TB/s", 2.0 * x.nbytes, (x, y), ours, peers, want, 2e-3)


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
    want = F.rms_norm(x.float(), (n,), w.float(), 1e-6)
    return Case(f"rms_norm fp16 {m}x{n}", "TB/s", 2.0 * x.nbytes, (x, w, y), ours, peers, want, 2e-3)


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


def gemm(size: int) -> Case:
    module = example("matmul")
    policies = module.T.GemmWarpPolicy
    configs = {
        "128x128x64, 3 stages, 4 warps": (128, 128, 64, 3, 128, policies.Square),
        "128x128x64, 3 stages, 4 warps in a row": (128, 128, 64, 3, 128, policies.FullCol),
        "128x128x32, 4 stages, 4 warps": (128, 128, 32, 4, 128, policies.Square),
        "256x128x32, 3 stages, 8 warps": (256, 128, 32, 3, 256, policies.Square),
        "128x256x32, 4 stages, 8 warps": (128, 256, 32, 4, 256, policies.Square),
    }
    a, b = (torch.randn(size, size, device="cuda").half() for _ in range(2))
    c = torch.empty_like(a)
    ours = {name: lambda v=v: module.matmul(size, size, size, *v, "float16") for name, v in configs.items()}
    peers = {"torch": lambda: torch.matmul(a, b, out=c)}
    want = a.float() @ b.float()
    return Case(f"gemm fp16 {size}^3, mma.sync", "TFLOP/s", 2.0 * size**3, (a, b, c), ours, peers, want, 2e-3)


def launch() -> list[dict[str, Any]]:
    """Each turn a hundred calls one after the other, short enough that no queue fills up."""
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
    found: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(200):
        for name in random.sample(list(works), len(works)):
            torch.cuda.synchronize()
            start = time.perf_counter()
            works[name]()
            found[name].append((time.perf_counter() - start) * 1e4)
    rows = [{"case": "launch", "who": name, "us": statistics.median(times)} for name, times in found.items()]
    for row in rows:
        print(f"{'launch, 3 tensors, host':26} {row['who']:44} {row['us']:8.3f} us", flush=True)
    return rows


def compile_gemm() -> list[dict[str, Any]]:
    module, found = example("matmul"), []
    for number in range(5):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TILECORE_CACHE_DIR"] = folder
            start = time.perf_counter()
            size = 4096 + 128 * number
            kernel = tilecore.compile(
                module.matmul(size, size, size, 128, 128, 64, 3, 128, dtype="float16"), target="cuda"
            )
            found.append((time.perf_counter() - start) * 1e3)
            assert kernel is not None
    print(f"{'compile, GEMM, no cache':26} {'tilecore':44} {statistics.median(found):8.1f} ms", flush=True)
    return [{"case": "compile", "who": "tilecore", "ms": statistics.median(found), "all_ms": found}]


CASES = {
    "softmax": [(softmax, shape) for shape in ROWS],
    "rms_norm": [(rms_norm, shape) for shape in ROWS],
    "add": [(add, (1 << 28,))],
    "gemm": [(gemm, (size,)) for size in (4096, 8192)],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join([*CASES, "launch", "compile"]))
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--out")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.only.split(","):
        if name in CASES:
            for make, sizes in CASES[name]:
                rows += make(*sizes).measure(options.rounds)
        elif name in ("launch", "compile"):
            rows += launch() if name == "launch" else compile_gemm()
        else:
            parser.error(f"--only: {name!r} is none of {', '.join([*CASES, 'launch', 'compile'])}")
    facts = {
        "date": str(date.today()),
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "tilecore": tilecore.__version__,
        "command": " ".join(["python", "benchmarks/h200.py", *sys.argv[1:]]),
    }
    if options.out:
        Path(options.out).write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
