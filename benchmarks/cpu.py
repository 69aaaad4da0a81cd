"""Kernels on the host against torch: the same work, side by side in one run.

    python benchmarks/cpu.py [--threads 1,2] [--only gemm,softmax] [--rounds 15] [--out results.json]

Each row: milliseconds of ours and of torch (medians over alternating rounds), and torch / ours, of medians and of
minima. The bars are those of the kind of processor: of Intel's with tile registers, or of others. The machine should be
otherwise idle; trust the ratios, not the times.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F

import tilecore
import tilecore.language as T
from tilecore.backends.cpu import pool
from tilecore.backends.cpu.target import TILE_FEATURES, host_features, host_name
from tilecore.demo import kernels

HAS_TILES = TILE_FEATURES.issubset(host_features())


@dataclass
class Row:
    name: str
    threads: int
    ours_ms: float
    torch_ms: float
    ratio: float
    ratio_of_minima: float
    bar: float


@dataclass
class Case:
    """One comparison: ``ours`` and ``torch`` do the same work; ``check`` raises when the results differ."""

    name: str
    bar: float
    ours: Callable[[], object]
    peer: Callable[[], object]
    check: Callable[[], None]


# -- kernels -------------------------------------------------------------------------------------------------


@tilecore.jit(target="cpu")
def matmul_int8(M, N, K, block_M=256, block_N=256, block_K=256):
    @T.prim_func
    def matmul_int8_kernel(A: T.Tensor((M, K), "int8"), B: T.Tensor((K, N), "int8"), C: T.Tensor((M, N), "int32")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), "int8")
            B_shared = T.alloc_shared((block_K, block_N), "int8")
            C_local = T.alloc_fragment((block_M, block_N), "int32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return matmul_int8_kernel


@tilecore.jit(target="cpu")
def add(N, block=16384, dtype="float32"):
    @T.prim_func
    def add_kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block), threads=128) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return add_kernel


@tilecore.jit(target="cpu")
def gelu(N, block=16384, dtype="float32"):
    @T.prim_func
    def gelu_kernel(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block), threads=128) as bx:
            for i in T.Parallel(block):
                x = T.cast(X[bx * block + i], "float32")
                Y[bx * block + i] = T.cast(0.5 * x * (1.0 + T.erf(x * 0.7071067811865476)), dtype)

    return gelu_kernel


# -- cases ---------------------------------------------------------------------------------------------------


def close(actual: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float) -> None:
    torch.testing.assert_close(actual.float(), expected.float(), rtol=rtol, atol=atol)


def on_host(kernel):
    """The demo's kernel, for the host also where there is a device."""
    return tilecore.jit(kernel.func, target="cpu")


def tiles(m: int, n: int, k: int, dtype: str) -> tuple[int, int, int]:
    """Rows, columns and depth of a block.

    Few rows: B is read as it lies, some of its rows at a time. Tile registers: all of K, and so many columns that their
    part of B takes half of the second-level cache (of 2 MiB). Else blocks whose operands share that cache.
    """
    if dtype == "float32":
        return (m, min(n, 1024), min(k, 32)) if m <= 28 else (min(m, 128), min(n, 256), min(k, 1024))
    if not HAS_TILES:
        return min(m, 128), min(n, 256), min(k, 1024)
    if m <= 28:
        return m, min(n, 512), min(k, 64)
    element = 2 if dtype == "bfloat16" else 1
    columns = min(n, max(32, (1 << 20) // (element * k) // 32 * 32), 512)
    return min(m, 256 if dtype == "bfloat16" and k > 512 else 128), columns, min(k, 2048)


def gemm() -> Iterator[Case]:
    for size in (512, 1024, 2048):
        yield product(f"gemm fp32 {size}", size, size, size, "float32", 0.99 if HAS_TILES else 1.8)


def gemm_bf16() -> Iterator[Case]:
    for size in (512, 1024, 2048):
        yield product(f"gemm bf16 {size}", size, size, size, "bfloat16", 0.97 if HAS_TILES else 0.9)


def skinny() -> Iterator[Case]:
    for dtype in ("float32", "bfloat16"):
        for m, n, k in ((1, 1024, 1024), (16, 1024, 1024), (17, 1024, 1024), (100, 1024, 1024), (1024, 1024, 13)):
            if k >= 32 or dtype == "float32":
                yield product(f"gemm {dtype} {m}x{n}x{k}", m, n, k, dtype, 1.0)


def product(name: str, m: int, n: int, k: int, dtype: str, bar: float) -> Case:
    kind = getattr(torch, dtype)
    a, b, c = torch.randn(m, k).to(kind), torch.randn(k, n).to(kind), torch.empty(m, n, dtype=kind)
    kernel = on_host(kernels.matmul)(m, n, k, *tiles(m, n, k, dtype), dtype=dtype)
    rtol, atol = (1e-4, 1e-3) if dtype == "float32" else (2e-2, 1.0)
    return Case(
        name, bar, lambda: kernel(a, b, c), lambda: torch.matmul(a, b, out=c), lambda: close(c, a @ b, rtol, atol)
    )


def gemm_int8() -> Iterator[Case]:
    for size in (512, 1024, 2048):
        a, b = (torch.randint(-128, 128, (size, size), dtype=torch.int8) for _ in range(2))
        c = torch.empty(size, size, dtype=torch.int32)
        kernel = matmul_int8(size, size, size, *tiles(size, size, size, "int8"))
        yield Case(
            f"gemm int8 {size}", 1.4 if HAS_TILES else 0.9, lambda k=kernel, x=(a, b, c): k(*x),
            lambda a=a, b=b: torch._int_mm(a, b), lambda c=c, a=a, b=b: close(c, torch._int_mm(a, b), 0, 0),
        )  # fmt: skip


def softmax() -> Iterator[Case]:
    x = torch.randn(4096, 1024) * 4
    y = torch.empty_like(x)
    kernel = on_host(kernels.softmax)(4096, 1024)
    yield Case(
        "softmax fp32 4096x1024", 1.4, lambda: kernel(x, y), lambda: torch.softmax(x, -1),
        lambda: close(y, torch.softmax(x, -1), 1e-5, 1e-7),
    )  # fmt: skip


def attention_bar(causal: bool) -> float:
    return (1.4 if causal else 1.1) if HAS_TILES else 1.0


def attention() -> Iterator[Case]:
    q, k, v = (torch.randn(1, 8, 1024, 64) for _ in range(3))
    for causal in (False, True):
        o = torch.empty_like(q)
        kernel = on_host(kernels.flash_attention)(1, 8, 1024, 64, causal, block_M=64, block_N=64)
        yield Case(
            f"attention fp32 B1 H8 S1024 D64{' causal' if causal else ''}", attention_bar(causal),
            lambda kernel=kernel, o=o: kernel(q, k, v, o),
            lambda causal=causal: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
            lambda o=o, causal=causal: close(o, F.scaled_dot_product_attention(q, k, v, is_causal=causal), 1e-4, 1e-5),
        )  # fmt: skip


def rms_norm() -> Iterator[Case]:
    for dtype, name in ((torch.float32, "float32"), (torch.float16, "float16")):
        x, w = torch.randn(4096, 1024).to(dtype), torch.randn(1024).to(dtype)
        y = torch.empty_like(x)
        kernel = on_host(kernels.rms_norm)(4096, 1024, dtype=name)
        yield Case(
            f"rms_norm {name} 4096x1024", 5.0 if HAS_TILES else 1.5, lambda k=kernel, a=(x, w, y): k(*a),
            lambda x=x, w=w: F.rms_norm(x, (1024,), w, 1e-6),
            lambda x=x, w=w, y=y: close(y, F.rms_norm(x, (1024,), w, 1e-6), 2e-3, 2e-3),
        )  # fmt: skip


def elementwise() -> Iterator[Case]:
    size = 1 << 22
    for dtype, name in ((torch.float32, "float32"), (torch.float16, "float16")):
        a, b = torch.randn(size).to(dtype), torch.randn(size).to(dtype)
        c = torch.empty_like(a)
        plus, curve = add(size, dtype=name), gelu(size, dtype=name)
        yield Case(
            f"add {name} 2^22", 1.0, lambda k=plus, x=(a, b, c): k(*x), lambda a=a, b=b, c=c: torch.add(a, b, out=c),
            lambda a=a, b=b, c=c: close(c, a + b, 1e-3, 1e-3),
        )  # fmt: skip
        yield Case(
            f"gelu {name} 2^22", 1.25 if HAS_TILES else 1.5, lambda k=curve, x=(a, c): k(*x), lambda a=a: F.gelu(a),
            lambda a=a, c=c: close(c, F.gelu(a), 2e-3, 2e-3),
        )  # fmt: skip


GROUPS = {
    "gemm": gemm,
    "gemm_bf16": gemm_bf16,
    "gemm_int8": gemm_int8,
    "skinny": skinny,
    "softmax": softmax,
    "attention": attention,
    "rms_norm": rms_norm,
    "elementwise": elementwise,
}


# -- measuring -----------------------------------------------------------------------------------------------


def measure(case: Case, threads: int, rounds: int) -> Row:
    """Alternate the two, several calls a round for short ones; medians over rounds.

    A pause and an untimed call come before each turn: the other's idle threads look for work for some milliseconds
    before they sleep, and would take half of a processor meanwhile.
    """
    case.ours()
    case.check()
    case.peer()
    start = time.perf_counter()
    case.peer()
    calls = max(1, int(0.02 / max(time.perf_counter() - start, 1e-6)))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, into in ((case.ours, times[0]), (case.peer, times[1])):
            time.sleep(0.03)
            work()
            start = time.perf_counter()
            for _ in range(calls):
                work()
            into.append((time.perf_counter() - start) / calls * 1e3)
    ours, peer = (statistics.median(t) for t in times)
    return Row(case.name, threads, ours, peer, peer / ours, min(times[1]) / min(times[0]), case.bar)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default=",".join(GROUPS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out")
    options = parser.parse_args()
    rows = []
    print(f"{'case':42} threads    ours ms   torch ms  ratio  of minima   bar")
    for threads in map(int, options.threads.split(",")):
        torch.set_num_threads(threads)
        pool.set_num_threads(threads)
        for group in options.only.split(","):
            for case in GROUPS[group]():
                row = measure(case, threads, options.rounds)
                rows.append(row)
                mark = "" if row.ratio >= row.bar else "  below"
                print(
                    f"{row.name:42} {threads:7} {row.ours_ms:10.3f} {row.torch_ms:10.3f} {row.ratio:6.2f} "
                    f"{row.ratio_of_minima:10.2f} {row.bar:5.1f}{mark}",
                    flush=True,
                )
    facts = {"python": platform.python_version(), "torch": torch.__version__, "machine": host_name()}
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"facts": facts, "rows": [asdict(row) for row in rows]}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
