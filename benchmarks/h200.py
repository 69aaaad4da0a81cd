"""Kernels on one GPU against torch: the same work, side by side in one run.

    python benchmarks/h200.py [--only softmax,rms_norm,add,gemm,launch] [--out results.json]

Each row: a configuration of ours, its time and torch's (medians of many, by device events), TB/s or TFLOP/s, and the
largest error against torch in float32.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

import tilecore
import tilecore.language as T
from tilecore.demo import kernels


@tilecore.jit
def add(N, block=4096, threads=256, dtype="float32"):
    @T.prim_func
    def add_kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block), threads=threads) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return add_kernel


@tilecore.jit
def matmul(M, N, K, block_M=128, block_N=128, block_K=32, stages=3, threads=128, dtype="float16"):
    @T.prim_func
    def matmul_kernel(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return matmul_kernel


def milliseconds(work: Callable[[], object], rounds: int = 30) -> float:
    """Median time of one call on the device."""
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


class Case:
    """One comparison. make: (configuration, kernel) pairs; amount: bytes moved or operations done."""

    def __init__(
        self, name: str, unit: str, amount: float, make: Any, run: Any, peer: Any, out: Any, want: Any
    ) -> None:
        self.name, self.unit, self.amount, self.make = name, unit, amount, make
        self.run, self.peer, self.out, self.want = run, peer, out, want


def rows_of(shape: tuple[int, int]) -> list[tuple[int, int]]:
    """(rows of a block, threads) to try."""
    return [(1, 128), (1, 256), (1, 512), (2, 256)] if shape[1] <= 8192 else [(1, 512), (1, 1024), (1, 256)]


SHAPES = ((16384, 4096), (8192, 8192), (4096, 32768))


def softmax() -> Iterator[Case]:
    for m, n in SHAPES:
        x = torch.randn(m, n, device="cuda").half()
        y = torch.empty_like(x)
        make = [
            (f"rows {r} threads {t}", lambda r=r, t=t, m=m, n=n: kernels.softmax(m, n, r, dtype="float16", threads=t))
            for r, t in rows_of((m, n))
        ]
        yield Case(
            f"softmax fp16 {m}x{n}", "TB/s", 2 * x.nbytes, make, lambda k, x=x, y=y: k(x, y),
            lambda x=x: torch.softmax(x, -1), y, lambda x=x: torch.softmax(x.float(), -1),
        )  # fmt: skip


def rms_norm() -> Iterator[Case]:
    for m, n in SHAPES:
        x, w = torch.randn(m, n, device="cuda").half(), torch.randn(n, device="cuda").half()
        y = torch.empty_like(x)
        make = [
            (f"rows {r} threads {t}", lambda r=r, t=t, m=m, n=n: kernels.rms_norm(m, n, r, dtype="float16", threads=t))
            for r, t in rows_of((m, n))
        ]
        yield Case(
            f"rms_norm fp16 {m}x{n}", "TB/s", 2 * x.nbytes, make, lambda k, x=x, w=w, y=y: k(x, w, y),
            lambda x=x, w=w: F.rms_norm(x, (x.shape[1],), w, 1e-6), y,
            lambda x=x, w=w: F.rms_norm(x.float(), (x.shape[1],), w.float(), 1e-6),
        )  # fmt: skip


def addition() -> Iterator[Case]:
    n = 1 << 28
    a, b = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    c = torch.empty_like(a)
    make = [
        (f"block {s} threads {t}", lambda s=s, t=t: add(n, s, t))
        for s, t in ((1024, 256), (2048, 256), (4096, 256), (4096, 512))
    ]
    yield Case(
        "add fp32 2^28",
        "TB/s",
        3 * a.nbytes,
        make,
        lambda k: k(a, b, c),
        lambda: torch.add(a, b, out=c),
        c,
        lambda: a + b,
    )


def gemm() -> Iterator[Case]:
    for size in (4096, 8192):
        a, b = (torch.randn(size, size, device="cuda").half() for _ in range(2))
        c = torch.empty_like(a)
        tiles = [(128, 128, 32, 3, 128), (128, 128, 32, 4, 128), (128, 128, 64, 3, 128), (128, 256, 32, 3, 256)]
        tiles += [(128, 256, 64, 3, 256), (128, 128, 64, 3, 256), (128, 128, 64, 4, 128), (256, 128, 64, 3, 256)]
        make = [(str(t), lambda t=t, s=size: matmul(s, s, s, *t)) for t in tiles]
        yield Case(
            f"gemm fp16 {size}", "TFLOP/s", 2.0 * size**3, make, lambda k, a=a, b=b, c=c: k(a, b, c),
            lambda a=a, b=b, c=c: torch.matmul(a, b, out=c), c, lambda a=a, b=b: a.float() @ b.float(),
        )  # fmt: skip


def launch() -> dict[str, float]:
    """Host microseconds of a call with three tensors of 256 elements, asynchronous."""
    a, b = torch.randn(256, device="cuda"), torch.randn(256, device="cuda")
    c = torch.empty_like(a)
    kernel = add(256, 256, 128)
    found = {}
    for name, work in (("ours", lambda: kernel(a, b, c)), ("torch.add(out=)", lambda: torch.add(a, b, out=c))):
        work()
        best = []
        for _ in range(50):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(100):
                work()
            best.append((time.perf_counter() - start) / 100 * 1e6)
            torch.cuda.synchronize()
        found[name] = statistics.median(best)
    return found


GROUPS = {"softmax": softmax, "rms_norm": rms_norm, "add": addition, "gemm": gemm}


def measure(case: Case) -> Iterator[dict[str, Any]]:
    scale = case.amount / 1e9  # of milliseconds: bytes to TB/s, operations to TFLOP/s
    peer = milliseconds(case.peer)
    want = case.want()
    for configuration, make in case.make:
        try:
            start = time.perf_counter()
            kernel = make()
            compiled = (time.perf_counter() - start) * 1e3
            case.out.fill_(float("nan"))
            case.run(kernel)
            error = (case.out.float() - want).abs().max().item()
            ours = milliseconds(lambda kernel=kernel: case.run(kernel))
            yield {
                "case": case.name, "configuration": configuration, "compile_ms": compiled, "ms": ours, "torch_ms": peer,
                case.unit: scale / ours, "torch": scale / peer, "error": error,
            }  # fmt: skip
        except Exception as error:
            traceback.print_exc(limit=2)
            yield {
                "case": case.name,
                "configuration": configuration,
                "failed": f"{type(error).__name__}: {error}"[:400],
            }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join([*GROUPS, "launch"]))
    parser.add_argument("--out")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for group in options.only.split(","):
        if group == "launch":
            rows.append({"case": "launch, host microseconds", **launch()})
            print(rows[-1], flush=True)
            continue
        for case in GROUPS[group]():
            for row in measure(case):
                rows.append(row)
                print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    facts = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"facts": facts, "rows": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
