"""Results that a kernel stages in a shared tile: where tensor maps store them, the tile is not allocated."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import CONFIGS, built, chosen, element, rows, small, wide


def staged(m, n, k, kind="plain", tile=(64, 64, 32), out="float16", shared_out=None, threads=128, stages=2):
    """C = A B through a shared tile. kind: what else the kernel does with the tile or the fragment."""
    rows_, columns, depth = tile

    @T.prim_func
    def staged_kernel(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), out)):
        with T.Kernel(T.ceildiv(n, columns), T.ceildiv(m, rows_), threads=threads) as (bx, by):
            a = T.alloc_shared((rows_, depth), "float16")
            b = T.alloc_shared((depth, columns), "float16")
            c = T.alloc_fragment((rows_, columns), "float32")
            c_shared = T.alloc_shared((rows_, columns), shared_out or out)
            T.use_swizzle(3)
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, depth), num_stages=stages):
                T.copy(A[by * rows_, step * depth], a)
                T.copy(B[step * depth, bx * columns], b)
                T.gemm(a, b, c)
            T.copy(c, c_shared)
            if kind == "changed":
                for i, j in T.Parallel(rows_, columns):
                    c_shared[i, j] = c_shared[i, j] + T.cast(1, out)
            elif kind == "later":
                T.clear(c)
            T.copy(c_shared, C[by * rows_, bx * columns], disable_tma=kind == "disabled")

    return staged_kernel


def right(kernel, m, n, k, out="float16", added=0):
    a, b = small("float16", (m, k), 1, 1), small("float16", (k, n), 2, 1)
    c = np.zeros((m, n), element(out))
    kernel(a, b, c)
    np.testing.assert_array_equal(wide(c), (wide(a) @ wide(b)).astype(element(out)).astype(np.float64) + added)


def notes_on_tile(kernel):
    return [row["text"] for row in rows(kernel, "notes") if "c_shared" in row["text"]]


@pytest.mark.parametrize(("m", "n", "tile"), [(128, 192, (64, 64, 32)), (100, 136, (128, 64, 64))])
def test_the_tile_is_not_allocated(m, n, tile):
    """Whole tiles, and tiles that reach over the edges of the matrix."""
    kernel = built(staged(m, n, 96, tile=tile))
    right(kernel, m, n, 96)
    assert chosen(kernel, "copy")[-1] == "tensor store"
    assert "c_shared" not in kernel.get_kernel_source()
    assert notes_on_tile(kernel) == ["c_shared is not allocated: each warp stores its part of c by tensor maps"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("changed", "c_shared has other uses"),
        ("later", "c changes before the tile is copied"),
        ("disabled", "disable_tma=True"),
    ],
)
def test_the_tile_stays_where_the_copies_cannot_be_one(kind, reason):
    kernel = built(staged(64, 64, 64, kind))
    right(kernel, 64, 64, 64, added=int(kind == "changed"))
    assert "tensor store" not in chosen(kernel, "copy")
    assert notes_on_tile(kernel) == [f"c_shared: threads copy the result through this shared tile, because {reason}"]


def test_float32_is_staged_in_pairs():
    kernel = built(staged(100, 136, 96, tile=(64, 64, 32), out="float32"))
    right(kernel, 100, 136, 96, "float32")
    assert chosen(kernel, "copy")[-1] == "tensor store"
    assert "c_shared" not in kernel.get_kernel_source()


def test_the_tile_stays_where_it_rounds_and_where_tensor_stores_are_off():
    """Numbers are rounded to the type of the tile, which is narrower than that of C."""
    kernel = built(staged(64, 64, 64, out="float32", shared_out="float16"))
    right(kernel, 64, 64, 64, out="float32")
    assert "C has another element type than c_shared" in notes_on_tile(kernel)[0]
    kernel = built(staged(64, 64, 64), CONFIGS.TL_DISABLE_TMA_LOWER)
    right(kernel, 64, 64, 64)
    assert "is set" in notes_on_tile(kernel)[0]
