"""How near kernels on tile-tpu's simulator come to the bounds of DMA and of the matrix unit, by its counters.

    python benchmarks/tpu.py [--out FILE] [--quick]

Cycles are estimates from public figures (plugins/tile-tpu/tile_tpu/simulate/README.md). A ratio of 1 means that the
busier of the two engines never waits.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tilecore
import tilecore.language as T

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
FAST = {"tl.enable_fast_math": True}


def matmul(size: int, block_m: int, block_n: int, block_k: int, stages: int) -> Any:
    @T.prim_func
    def matmul_kernel(
        A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"), C: T.Tensor((size, size), "float16")
    ):
        with T.Kernel(T.ceildiv(size, block_n), T.ceildiv(size, block_m), threads=128) as (bx, by):
            a, b = T.alloc_shared((block_m, block_k), "float16"), T.alloc_shared((block_k, block_n), "float16")
            c = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(size, block_k), num_stages=stages):
                T.copy(A[by * block_m, k * block_k], a)
                T.copy(B[k * block_k, bx * block_n], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block_m, bx * block_n])

    return matmul_kernel


def add(size: int, block: int) -> Any:
    @T.prim_func
    def add_kernel(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32"), C: T.Tensor((size,), "float32")):
        with T.Kernel(T.ceildiv(size, block), threads=128) as b:
            for i in T.Parallel(block):
                C[b * block + i] = A[b * block + i] + B[b * block + i]

    return add_kernel


def attention(length: int, block_m: int, block_n: int, stages: int, heads: int = 8, dim: int = 128) -> Any:
    scale = dim**-0.5
    shape = (1, heads, length, dim)

    @T.prim_func
    def attention_kernel(
        Q: T.Tensor(shape, "float16"), K: T.Tensor(shape, "float16"), V: T.Tensor(shape, "float16"),
        Out: T.Tensor(shape, "float16"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(length, block_m), heads, threads=128) as (bx, by):
            q = T.alloc_shared((block_m, dim), "float16")
            k, v = T.alloc_shared((block_n, dim), "float16"), T.alloc_shared((block_n, dim), "float16")
            scores, weights = (
                T.alloc_fragment((block_m, block_n), "float32"),
                T.alloc_fragment((block_m, block_n), "float16"),
            )
            out = T.alloc_fragment((block_m, dim), "float32")
            most, before = T.alloc_fragment((block_m,), "float32"), T.alloc_fragment((block_m,), "float32")
            rescale, total, part = (T.alloc_fragment((block_m,), "float32") for _ in range(3))
            T.copy(Q[0, by, bx * block_m : (bx + 1) * block_m, :], q)
            T.clear(out)
            T.clear(total)
            T.fill(most, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv(length, block_n), num_stages=stages):
                T.copy(K[0, by, step * block_n : (step + 1) * block_n, :], k)
                T.copy(V[0, by, step * block_n : (step + 1) * block_n, :], v)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                T.copy(most, before)
                T.reduce_max(scores, most, dim=1, clear=False)
                for i in T.Parallel(block_m):
                    rescale[i] = T.exp((before[i] - most[i]) * scale)
                for i, j in T.Parallel(block_m, block_n):
                    scores[i, j] = T.exp((scores[i, j] - most[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block_m):
                    total[i] = total[i] * rescale[i] + part[i]
                for i, j in T.Parallel(block_m, dim):
                    out[i, j] *= rescale[i]
                T.copy(scores, weights)
                T.gemm(weights, v, out)
            for i, j in T.Parallel(block_m, dim):
                out[i, j] /= total[i]
            T.copy(out, Out[0, by, bx * block_m : (bx + 1) * block_m, :])

    return attention_kernel


def soft(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def measured(
    name: str, func: Any, arrays: list[np.ndarray], wanted: np.ndarray, tolerance: float, **configs: Any
) -> dict:
    start = time.perf_counter()
    kernel = tilecore.compile(func, target="tpu", execution_backend="sim", pass_configs=configs)
    compiled = time.perf_counter() - start
    kernel(*arrays)
    error = float(np.abs(arrays[-1].astype(np.float64) - wanted).max())
    if not error <= tolerance:
        raise SystemExit(f"{name}: wrong by {error}, at most {tolerance} is right")
    (report,) = kernel.loaded.owner.reports
    bound = max(report.dma_bound, report.matrix_bound)
    row = {
        "kernel": name, "cycles": report.total_cycles, "dma_bound": report.dma_bound,
        "matrix_bound": report.matrix_bound, "tensor_bound": report.tensor_bound, "ratio": report.total_cycles / bound,
        "bank_conflicts": sum(core.bank_conflicts for core in report.cores), "compile_s": compiled, "error": error,
    }  # fmt: skip
    print(
        f"{name:44} {row['cycles']:9,.0f} cycles, DMA {row['dma_bound']:9,.0f}, matrix {row['matrix_bound']:8,.0f}, "
        f"tensor unit {row['tensor_bound']:9,.0f}: {row['ratio']:.2f} of the bound"
    )
    return row


def cases(quick: bool) -> list[Callable[[], dict]]:
    rng = np.random.default_rng(0)
    size, length = (512, 256) if quick else (1024, 512)
    a, b = (rng.standard_normal((size, size)).astype(np.float16) for _ in "ab")
    product = a.astype(np.float64) @ b.astype(np.float64)
    q, k, v = (rng.standard_normal((1, 8, length, 128)).astype(np.float16) for _ in "qkv")
    wide = [x.astype(np.float64) for x in (q, k, v)]
    attended = soft(wide[0] @ np.swapaxes(wide[1], -1, -2) / 128**0.5) @ wide[2]
    x, y = (rng.standard_normal(1 << 20).astype(np.float32) for _ in "xy")

    def multiply(stages: int) -> dict:
        func = matmul(size, size // 2, size // 4, 256, stages)
        arrays = [a, b, np.zeros((size, size), np.float16)]
        return measured(f"matmul fp16 {size}^3, {stages} stages", func, arrays, product, 0.15, **FAST)

    def attend(stages: int) -> dict:
        func = attention(length, 128, 128, stages)
        return measured(
            f"attention B1 H8 S{length} D128, {stages} stages",
            func,
            [q, k, v, np.zeros_like(q)],
            attended,
            4e-3,
            **FAST,
        )

    def plus() -> dict:
        return measured(
            "add fp32 2^20", add(1 << 20, 1 << 17), [x, y, np.zeros_like(x)], (x + y).astype(np.float64), 0.0
        )

    return [lambda: multiply(0), lambda: multiply(2), lambda: attend(0), lambda: attend(2), plus]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    options = parser.parse_args()
    rows = [case() for case in cases(options.quick)]
    if options.out:
        options.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
