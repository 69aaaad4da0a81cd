"""Kernels with T.gemm, in many forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tilecore.language as T

from .kit import CONFIGS, Kinds, built, element, small, wide

HALF = ("float16", "float16", "float32")
TF32 = {CONFIGS.TL_ALLOW_TF32: True}

# of products whose K is divided among blocks: (M, N, K), a block's tile, its threads, the parts of K
IN_PARTS = [
    ((64, 64, 128), (64, 64), 128, 2),
    ((128, 128, 512), (128, 128), 256, 4),  # a warpgroup for each half of the rows
    ((64, 128, 256), (64, 128), 256, 2),  # and of the columns
    ((100, 72, 200), (64, 64), 128, 3),  # edges of every kind
    ((1, 8, 64), (64, 16), 128, 1),
    ((256, 192, 192), (64, 96), 128, 3),  # persistent blocks
]


def matmul(
    m: Any, n: Any, k: Any, tile: tuple[int, int, int] = (128, 64, 64), kinds: Kinds = HALF, out: str | None = None,
    ta: bool = False, tb: bool = False, threads: int = 128, stages: int = 2, policy: Any = T.GemmWarpPolicy.Square,
    a_in_registers: bool = False, disable_tma: bool = False, cleared: bool = True,
) -> Any:  # fmt: skip
    """C [m, n] = A B: A [m, k], or [k, m] with ``ta``; B [k, n], or [n, k] with ``tb``. Sizes may be symbolic.

    out: the type of C (by default that of the accumulator). a_in_registers: A goes through a fragment. cleared: T.clear
    in front of the loop clears the accumulator, rather than the first T.gemm.
    """
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
            left = T.alloc_fragment((depth, rows) if ta else (rows, depth), a_kind) if a_in_registers else a
            c = T.alloc_fragment((rows, columns), c_kind)
            if cleared:
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
                if a_in_registers:
                    T.copy(a, left)
                clears = False if cleared else step == 0
                T.gemm(left, b, c, transpose_A=ta, transpose_B=tb, policy=policy, clear_accum=clears)
            T.copy(c, C[by * rows, bx * columns])

    return matmul_kernel


def operands(sizes: Sequence[int], kinds: Kinds, ta: bool = False, tb: bool = False, most: int = 2) -> list[np.ndarray]:
    m, n, k = sizes
    a, b = ((k, m) if ta else (m, k)), ((n, k) if tb else (k, n))
    return [small(kinds[0], a, 1, most), small(kinds[1], b, 2, most)]


def product(a: np.ndarray, b: np.ndarray, ta: bool = False, tb: bool = False) -> np.ndarray:
    """A B in float64."""
    return wide(a.T if ta else a) @ wide(b.T if tb else b)


def multiplied(sizes: Sequence[int], *off: CONFIGS, symbolic: Sequence[Any] | None = None, **options: Any) -> Any:
    """The compiled kernel of ``matmul`` for these sizes, after its result has been checked."""
    kinds, ta, tb = (options.get(name, usual) for name, usual in (("kinds", HALF), ("ta", False), ("tb", False)))
    kernel = built(matmul(*(symbolic or sizes), **options), *off, configs=TF32)
    out = element(options.get("out") or kinds[2])
    a, b = operands(sizes, kinds, ta, tb, most=1 if out.itemsize < 4 else 2)
    c = np.zeros(sizes[:2], out)
    kernel(a, b, c)
    np.testing.assert_array_equal(wide(c), wide(product(a, b, ta, tb).astype(out)))
    return kernel
