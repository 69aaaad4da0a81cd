"""Kernels on the host against torch: the same work, side by side in one run.

    python benchmarks/cpu.py [--threads 1,2] [--only gemm,softmax] [--rounds 11] [--variants] [--out results.json]

Each row: milliseconds of ours and of torch (medians over alternating rounds), and torch / ours, of medians and of
minima. One thread: the thread's processor time, which other processes disturb less; more: the time that passes. The
bars are those of the kind of processor: of Intel's, or of others. --variants also measures other block sizes of each
kernel, in the same rounds. Trust the ratios, not the times.
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
from typing import Any

import torch
import torch.nn.functional as F

import tilecore
import tilecore.language as T
from tilecore import heuristics
from tilecore.backends.cpu import pool
from tilecore.backends.cpu.extensions import TILE_FEATURES
from tilecore.backends.cpu.target import host_features, host_model, host_name
from tilecore.demo import kernels

HAS_TILES = TILE_FEATURES.issubset(host_features())
IS_INTEL = host_model().startswith("GenuineIntel")
BARS = {  # least ratios to torch, on Intel's processors and on others
    "gemm float32": (0.99, 1.8),
    "gemm bfloat16": (0.97, 0.9),
    "gemm int8": (1.4 if HAS_TILES else 1.0, 0.9),
    "softmax": (1.4, 1.4),
    "attention": (1.1, 1.0),
    "causal attention": (1.4, 1.0),
    "rms_norm": (5.0, 1.5),
    "gelu": (1.25, 1.5),
}


@dataclass
class Row:
    name: str
    threads: int
    ours_ms: float
    torch_ms: float
    ratio: float
    ratio_of_minima: float
    bar: float
    variant: str = ""


@dataclass
class Case:
    """One comparison: each of ``ours``, by the name of its block sizes, and ``peer`` do the same work; ``check`` raises
    when the results differ. The first of ``ours`` is the one that the bar is for."""

    name: str
    bar: float
    ours: dict[str, Callable[[], object]]
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


def bar(name: str) -> float:
    return BARS[name][0 if IS_INTEL else 1]


def close(actual: torch.Tensor, expected: torch.Tensor, rtol: float, atol: float) -> None:
    torch.testing.assert_close(actual.float(), expected.float(), rtol=rtol, atol=atol)


def on_host(kernel):
    """The demo's kernel, for the host also where there is a device."""
    return tilecore.jit(kernel.func, target="cpu")


Tile = tuple[int, ...]


def tiles(m: int, n: int, k: int, dtype: str) -> Tile:
    """Rows, columns and depth of a block: the best of heuristics for this number of threads, untuned."""
    out = "int32" if dtype == "int8" else dtype
    config = heuristics.gemm(m, n, k, dtype, out, target="cpu", count=1)[0].config
    return config["block_M"], config["block_N"], config["block_K"]


def other_tiles(m: int, n: int, k: int, dtype: str) -> list[Tile]:
    """Further block sizes to measure, in the order of :func:`tiles`."""
    if m <= 128:
        sizes = [(m, 256, 1024), (m, 512, 256), (m, 1024, 32)]
    elif dtype == "float32":
        sizes = [(128, 256, 1024), (256, 256, 1024), (512, 256, 1024), (256, 512, 512)]
    else:
        sizes = [(64, 512, 1024), (128, 512, 2048), (256, 256, 2048)]
    return [(min(m, rows), min(n, columns), min(k, deep)) for rows, columns, deep in sizes]


def kernels_of(make: Callable[..., Any], first: Tile, others: list[Tile], variants: bool) -> dict[str, Any]:
    """The kernel for the first block sizes, and for the others where they are asked for, by name."""
    chosen = [first, *(tile for tile in others if tile != first)] if variants else [first]
    return {"x".join(map(str, tile)): make(*tile) for tile in chosen}


def calls_of(named: dict[str, Any], *arguments: torch.Tensor) -> dict[str, Callable[[], object]]:
    return {name: lambda kernel=kernel: kernel(*arguments) for name, kernel in named.items()}


def gemm(threads: int, variants: bool) -> Iterator[Case]:
    for size in (512, 1024, 2048):
        yield product(f"gemm fp32 {size}", (size, size, size), "float32", bar("gemm float32"), variants)


def gemm_bf16(threads: int, variants: bool) -> Iterator[Case]:
    for size in (512, 1024, 2048):
        yield product(f"gemm bf16 {size}", (size, size, size), "bfloat16", bar("gemm bfloat16"), variants)


def skinny(threads: int, variants: bool) -> Iterator[Case]:
    for dtype in ("float32", "bfloat16"):
        for m, n, k in ((1, 1024, 1024), (16, 1024, 1024), (17, 1024, 1024), (100, 1024, 1024), (1024, 1024, 13)):
            if k >= 32 or dtype == "float32":
                yield product(f"gemm {dtype} {m}x{n}x{k}", (m, n, k), dtype, 1.0, variants)
    yield product("gemm float32 1000x1000x1000", (1000, 1000, 1000), "float32", 1.0, variants)


def product(name: str, sizes: Tile, dtype: str, bar: float, variants: bool) -> Case:
    m, n, k = sizes
    kind = getattr(torch, dtype)
    a, b, c = torch.randn(m, k).to(kind), torch.randn(k, n).to(kind), torch.empty(m, n, dtype=kind)

    def make(*tile: int) -> Any:
        return on_host(kernels.matmul)(m, n, k, *tile, dtype=dtype)

    ours = kernels_of(make, tiles(m, n, k, dtype), other_tiles(m, n, k, dtype), variants)
    rtol, atol = (1e-4, 1e-3) if dtype == "float32" else (2e-2, 1.0)
    return Case(
        name, bar, calls_of(ours, a, b, c), lambda: torch.matmul(a, b, out=c), lambda: close(c, a @ b, rtol, atol)
    )


def gemm_int8(threads: int, variants: bool) -> Iterator[Case]:
    for size in (512, 1024, 2048):
        a, b = (torch.randint(-128, 128, (size, size), dtype=torch.int8) for _ in range(2))
        c = torch.empty(size, size, dtype=torch.int32)
        first, others = tiles(size, size, size, "int8"), other_tiles(size, size, size, "int8")
        ours = kernels_of(lambda *tile, size=size: matmul_int8(size, size, size, *tile), first, others, variants)
        yield Case(
            f"gemm int8 {size}", bar("gemm int8"), calls_of(ours, a, b, c),
            lambda a=a, b=b: torch._int_mm(a, b), lambda c=c, a=a, b=b: close(c, torch._int_mm(a, b), 0, 0),
        )  # fmt: skip


def softmax(threads: int, variants: bool) -> Iterator[Case]:
    x = torch.randn(4096, 1024) * 4
    y = torch.empty_like(x)
    ours = kernels_of(lambda rows: on_host(kernels.softmax)(4096, 1024, block_M=rows), (4,), [(1,), (16,)], variants)
    yield Case(
        "softmax fp32 4096x1024", bar("softmax"), calls_of(ours, x, y), lambda: torch.softmax(x, -1),
        lambda: close(y, torch.softmax(x, -1), 1e-5, 1e-7),
    )  # fmt: skip


def attention(threads: int, variants: bool) -> Iterator[Case]:
    for heads, length, dim in ((8, 512, 64), (8, 1024, 64), (4, 2048, 64), (8, 1024, 128)):
        shape = (1, heads, length, dim)
        q, k, v = (torch.randn(shape) for _ in range(3))
        for causal in (False, True):
            o = torch.empty_like(q)

            def make(rows: int, keys: int, shape: Tile = shape, causal: bool = causal) -> Any:
                return on_host(kernels.flash_attention)(*shape, causal, block_M=rows, block_N=keys)

            (best,) = heuristics.attention(
                1, heads, heads, length, length, dim, is_causal=causal, dtype="float32", target="cpu", count=1
            )
            first = best.config["block_M"], best.config["block_N"]
            ours = kernels_of(make, first, [(64, 64), (32, 64), (128, 128)], variants)

            def peer(q: torch.Tensor = q, k: torch.Tensor = k, v: torch.Tensor = v, causal: bool = causal) -> Any:
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

            least = bar("causal attention" if causal else "attention")
            yield Case(
                f"attention fp32 S{length} D{dim}{' causal' if causal else ''}", least,
                calls_of(ours, q, k, v, o), peer, lambda o=o, peer=peer: close(o, peer(), 1e-4, 1e-5),
            )  # fmt: skip


def rms_norm(threads: int, variants: bool) -> Iterator[Case]:
    for dtype, name in ((torch.float32, "float32"), (torch.float16, "float16")):
        x, w = torch.randn(4096, 1024).to(dtype), torch.randn(1024).to(dtype)
        y = torch.empty_like(x)
        ours = {"4": on_host(kernels.rms_norm)(4096, 1024, dtype=name)}
        yield Case(
            f"rms_norm {name} 4096x1024", bar("rms_norm"), calls_of(ours, x, w, y),
            lambda x=x, w=w: F.rms_norm(x, (1024,), w, 1e-6),
            lambda x=x, w=w, y=y: close(y, F.rms_norm(x, (1024,), w, 1e-6), 2e-3, 2e-3),
        )  # fmt: skip


def elementwise(threads: int, variants: bool) -> Iterator[Case]:
    size = 1 << 22
    for dtype, name in ((torch.float32, "float32"), (torch.float16, "float16")):
        a, b = torch.randn(size).to(dtype), torch.randn(size).to(dtype)
        c = torch.empty_like(a)
        plus = kernels_of(lambda block, name=name: add(size, block, name), (16384,), [(2048,)], variants)
        curve = kernels_of(lambda block, name=name: gelu(size, block, name), (16384,), [(2048,)], variants)
        yield Case(
            f"add {name} 2^22", 1.0, calls_of(plus, a, b, c), lambda a=a, b=b, c=c: torch.add(a, b, out=c),
            lambda a=a, b=b, c=c: close(c, a + b, 1e-3, 1e-3),
        )  # fmt: skip
        yield Case(
            f"gelu {name} 2^22", bar("gelu"), calls_of(curve, a, c), lambda a=a: F.gelu(a),
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


LEAST_SECONDS = 0.01  # of one turn
MOST_SECONDS = 1.0  # of one candidate in all its rounds, but for a few rounds that each has


def measure(case: Case, threads: int, rounds: int) -> list[Row]:
    """Alternate all candidates, several calls a round for short ones; medians over rounds.

    With several threads a pause and an untimed call come before each turn: the other's idle threads look for work for
    some milliseconds before they sleep, and would take half of a processor meanwhile.
    """
    clock = time.thread_time if threads == 1 else time.perf_counter
    for work in case.ours.values():
        work()
        case.check()
    works = [*case.ours.values(), case.peer]
    calls = []
    for work in works:
        work()
        start = time.perf_counter()
        work()
        once = max(time.perf_counter() - start, 1e-6)
        calls.append(max(1, int(LEAST_SECONDS / once)))
        rounds = max(min(rounds, 5), min(rounds, int(MOST_SECONDS / once)))
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, count, into in zip(works, calls, times, strict=True):
            time.sleep(0 if threads == 1 else 0.012)
            work()
            start = clock()
            for _ in range(count):
                work()
            into.append((clock() - start) / count * 1e3)
    peer = statistics.median(times[-1])
    rows = []
    for name, ours in zip(case.ours, times[:-1], strict=True):
        median = statistics.median(ours)
        rows.append(Row(case.name, threads, median, peer, peer / median, min(times[-1]) / min(ours), case.bar, name))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default=",".join(GROUPS), help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--variants", action="store_true", help="other block sizes too")
    parser.add_argument("--out")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(GROUPS)
    if unknown:
        parser.error(f"--only names {', '.join(sorted(unknown))}; the groups are {', '.join(GROUPS)}")
    start, rows = time.perf_counter(), []
    print(f"{host_name()}, {', '.join(host_features())}")
    print(f"{'case':34} {'block':14} threads    ours ms   torch ms  ratio  of minima   bar")
    for threads in map(int, options.threads.split(",")):
        torch.set_num_threads(threads)
        pool.set_num_threads(threads)
        for group in options.only.split(","):
            for case in GROUPS[group](threads, options.variants):
                measured = measure(case, threads, options.rounds)
                rows += measured
                show(measured)
    facts = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": host_name(),
        "model": host_model(),
    }
    print(f"{time.perf_counter() - start:.0f} s")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"facts": facts, "rows": [asdict(row) for row in rows]}, file, indent=1)
    return 0


def show(rows: list[Row]) -> None:
    """One line each; the best of several is marked, and the first where it is below its bar."""
    best = max(rows, key=lambda row: row.ratio)
    for row in rows:
        mark = "  below" if row is rows[0] and row.ratio < row.bar else ""
        mark += "  best" if row is best and len(rows) > 1 else ""
        print(
            f"{row.name:34} {row.variant:14} {row.threads:7} {row.ours_ms:10.3f} {row.torch_ms:10.3f} {row.ratio:6.2f} "
            f"{row.ratio_of_minima:10.2f} {row.bar:5.2f}{mark}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
