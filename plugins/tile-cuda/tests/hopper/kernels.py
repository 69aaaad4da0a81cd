"""Kernels with products of tiles, in many forms."""

from __future__ import annotations

from typing import Any

import tilecore.language as T

HALF = ("float16", "float16", "float32")


def matmul(
    m: Any, n: Any, k: Any, tile: tuple[int, int, int] = (128, 64, 64), kinds: tuple[str, str, str] = HALF,
    out: str | None = None, ta: bool = False, tb: bool = False, threads: int = 128, stages: int = 2,
    policy: Any = T.GemmWarpPolicy.Square, held: bool = False, disable_tma: bool = False,
) -> Any:  # fmt: skip
    """C [m, n] = A B: A [m, k], or [k, m] with ``ta``; B [k, n], or [n, k] with ``tb``. Sizes may be symbolic. held: A
    goes through a fragment. out: the type of C (that of the sums)."""
    rows, columns, depth = tile
    a_kind, b_kind, c_kind = kinds
    out = out or c_kind

    @T.prim_func
    def matmul_kernel(
        A: T.Tensor((k, m) if ta else (m, k), a_kind),
        B: T.Tensor((n, k) if tb else (k, n), b_kind),
        C: T.Tensor((m, n), out),
    ):
        with T.Kernel(T.ceildiv(n, columns), T.ceildiv(m, rows), threads=threads) as (bx, by):
            a = T.alloc_shared((depth, rows) if ta else (rows, depth), a_kind)
            b = T.alloc_shared((columns, depth) if tb else (depth, columns), b_kind)
            c = T.alloc_fragment((rows, columns), c_kind)
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, depth), num_stages=stages):
                if ta:
                    T.copy(A[step * depth, by * rows], a, disable_tma=disable_tma)
                else:
                    T.copy(A[by * rows, step * depth], a, disable_tma=disable_tma)
                if tb:
                    T.copy(B[bx * columns, step * depth], b)
                else:
                    T.copy(B[step * depth, bx * columns], b)
                if held:
                    a_held = T.alloc_fragment((depth, rows) if ta else (rows, depth), a_kind)
                    T.copy(a, a_held)
                    T.gemm(a_held, b, c, transpose_A=ta, transpose_B=tb, policy=policy)
                else:
                    T.gemm(a, b, c, transpose_A=ta, transpose_B=tb, policy=policy)
            T.copy(c, C[by * rows, bx * columns])

    return matmul_kernel
