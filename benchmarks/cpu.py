"""Kernels on the host against torch: the same work, side by side in one run.

    python benchmarks/cpu.py [--threads 1,2] [--only gemm,softmax] [--rounds 15] [--out results.json]

Each row: milliseconds of ours and of torch (medians over alternating rounds), and torch / ours, of medians and of
minima. The machine should be otherwise idle; trust the ratios, not the times.
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
from tilecore.demo import kernels


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


@tilecore.jit
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


@tilecore.jit
def add(N, block=16384, dtype="float32"):
    @T.prim_func
    def add_kernel(A: T.Tensor((N,), dtype), B: T.Tensor((N,), dtype), C: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, block), threads=128) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return add_kernel


@tilecore.jit
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


def gemm() -> Iterator[Case]:
    for size, tile in ((512, (128, 128, 128)), (1024, (256, 256, 256)), (2048, (256, 256, 256))):
        a, b, c = torch.randn(size, size), torch.randn(size, size), torch.empty(size, size)
        kernel = kernels.matmul(size, size, size, *tile)
        yield Case(
            f"gemm fp32 {size}", 1.8,
            lambda k=kernel, x=(a, b, c): k(*x), lambda x=(a, b, c): torch.matmul(x[0], x[1], out=x[2]),
            lambda c=c, a=a, b=b: close(c, a @ b, 1e-4, 1e-3),
        )  # fmt: skip


def gemm_bf16() -> Iterator[Case]:
    for size in (1024, 2048):
        a, b = torch.randn(size, size).bfloat16(), torch.randn(size, size).bfloat16()
        c = torch.empty(size, size, dtype=torch.bfloat16)
        kernel = kernels.matmul(size, size, size, 256, 256, 512, dtype="bfloat16")
        yield Case(
            f"gemm bf16 {size}", 0.9, lambda k=kernel, x=(a, b, c): k(*x),
            lambda x=(a, b, c): torch.matmul(x[0], x[1], out=x[2]), lambda c=c, a=a, b=b: close(c, a @ b, 2e-2, 1.0),
        )  # fmt: skip


def gemm_int8() -> Iterator[Case]:
    for size in (1024, 2048):
        a, b = (torch.randint(-128, 128, (size, size), dtype=torch.int8) for _ in range(2))
        c = torch.empty(size, size, dtype=torch.int32)
        kernel = matmul_int8(size, size, size)
        yield Case(
            f"gemm int8 {size}", 0.9, lambda k=kernel, x=(a, b, c): k(*x), lambda a=a, b=b: torch._int_mm(a, b),
            lambda c=c, a=a, b=b: close(c, torch._int_mm(a, b), 0, 0),
        )  # fmt: skip


def softmax() -> Iterator[Case]:
    x = torch.randn(4096, 1024) * 4
    y = torch.empty_like(x)
    kernel = kernels.softmax(4096, 1024)
    yield Case(
        "softmax fp32 4096x1024", 1.4, lambda: kernel(x, y), lambda: torch.softmax(x, -1),
        lambda: close(y, torch.softmax(x, -1), 1e-5, 1e-7),
    )  # fmt: skip


def attention() -> Iterator[Case]:
    q, k, v = (torch.randn(1, 8, 1024, 64) for _ in range(3))
    for causal in (False, True):
        o = torch.empty_like(q)
        kernel = kernels.flash_attention(1, 8, 1024, 64, causal)
        yield Case(
            f"attention fp32 B1 H8 S1024 D64{' causal' if causal else ''}", 1.0,
            lambda kernel=kernel, o=o: kernel(q, k, v, o),
            lambda causal=causal: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
            lambda o=o, causal=causal: close(o, F.scaled_dot_product_attention(q, k, v, is_causal=causal), 1e-4, 1e-5),
        )  # fmt: skip


def rms_norm() -> Iterator[Case]:
    for dtype, name in ((torch.float32, "float32"), (torch.float16, "float16")):
        x, w = torch.randn(4096, 1024).to(dtype), torch.randn(1024).to(dtype)
        y = torch.empty_like(x)
        kernel = kernels.rms_norm(4096, 1024, dtype=name)
        yield Case(
            f"rms_norm {name} 4096x1024", 1.5, lambda k=kernel, a=(x, w, y): k(*a),
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
            f"gelu {name} 2^22", 1.5, lambda k=curve, x=(a, c): k(*x), lambda a=a: F.gelu(a),
            lambda a=a, c=c: close(c, F.gelu(a), 2e-3, 2e-3),
        )  # fmt: skip


GROUPS = {
    "gemm": gemm,
    "gemm_bf16": gemm_bf16,
    "gemm_int8": gemm_int8,
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
    facts = {"python": platform.python_version(), "torch": torch.__version__, "machine": platform.processor()}
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"facts": facts, "rows": [asdict(row) for row in rows]}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
