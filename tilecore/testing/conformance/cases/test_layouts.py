"""Layouts that kernels ask for: no result depends on them, and where they have an effect it is the one asked for."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore.language as T
from tilecore import layout as L

from .kit import check, close, compiled, has_warps, moves, same, sample, zeros

M, N = 32, 64


def turned(tile):
    return T.Layout(tile.shape, lambda i, j: [j, i])


def with_gaps(tile):
    return T.Layout(tile.shape, lambda i, j: i * (tile.shape[1] + 8) + j)


LAYOUTS = {
    "swizzled": L.make_swizzled_layout,
    "half": L.make_half_bank_swizzled_layout,
    "linear": L.make_linear_layout,
    "turned": turned,
    "with gaps": with_gaps,
    "panels": lambda tile: T.Layout(tile.shape, lambda i, j: [j // 16, i, j % 16]),
}


def layouts_in(kernel):
    """What explain() says of buffers' layouts: {name: [texts]}."""
    layouts = {}
    for row in kernel.explain().data.get("layouts", ()):
        layouts.setdefault(row["buffer"], []).append(row["layout"])
    return layouts


@pytest.mark.parametrize("name", LAYOUTS)
def test_copies_and_loops_through_shared_memory(target, name):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float16"), B: T.Tensor((N, M), "float16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=64):
            tile, sums = T.alloc_shared((M, N), "float16"), T.alloc_fragment((M,), "float32")
            T.annotate_layout({tile: LAYOUTS[name](tile)})
            T.copy(A, tile)
            T.transpose(tile, B)
            T.reduce_sum(tile, sums, dim=1)
            for i, j in T.Parallel(M, N):
                C[i, j] = tile[i, N - 1 - j] + sums[i]

    a = sample("float16", (M, N))
    b = check(kernel, target, a, zeros("float16", (N, M)), zeros("float32", (M, N)), compare=close)[1]
    same(b, a.T)


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("name", LAYOUTS)
def test_operands_of_products(target, name, stages):
    @T.prim_func
    def kernel(A: T.Tensor((32, 96), "float16"), B: T.Tensor((96, 64), "float16"), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=64):
            a, b = T.alloc_shared((32, 32), "float16"), T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((32, 64), "float32")
            T.annotate_layout({a: LAYOUTS[name](a), b: LAYOUTS[name](b)})
            T.clear(c)
            for k in T.Pipelined(3, num_stages=stages):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    a, b = sample("float16", (32, 96)), sample("float16", (96, 64), 1)
    got = check(kernel, target, a, b, zeros("float32", (32, 64)), compare=lambda x, y, label: _near(x, y))
    _near(got[2], a.astype(np.float32) @ b.astype(np.float32))


def _near(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("elements", [1, 4, 8])
def test_padding(target, elements):
    @T.prim_func
    def kernel(A: T.Tensor((M, M), "float32"), B: T.Tensor((M, M), "float32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((M, M), "float32")
            T.annotate_padding({tile: elements})
            T.copy(A, tile)
            for i, j in T.Parallel(M, M):
                B[i, j] = tile[j, i]

    a = sample("float32", (M, M))
    same(check(kernel, target, a, zeros("float32", (M, M)))[1], a.T)
    if has_warps(target):
        built = compiled(kernel, target)
        assert layouts_in(built)["tile"] == [f"rows padded by {elements}"]
        assert re.search(rf"\b{M * (M + elements) * 4}\b", built.get_kernel_source())  # the bytes of shared memory


FRAGMENTS = {
    "rows": lambda: T.Fragment((64, 8), lambda i, j: (i, j)),
    "columns": lambda: T.Fragment((64, 8), lambda i, j: (j * 8 + i // 8, i % 8)),
    "copies": lambda: T.Fragment((64, 8), lambda i, j, copy: (i // 2 + copy * 32, i % 2 * 8 + j), replicate=2),
    "no digits": lambda: T.Fragment((64, 8), lambda i, j: ((i ^ j) % 64, j)),
}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments(target, name):
    @T.prim_func
    def kernel(A: T.Tensor((64, 8), "float32"), B: T.Tensor((64, 8), "float32"), S: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tile, sums = T.alloc_fragment((64, 8), "float32"), T.alloc_fragment((64,), "float32")
            T.annotate_layout({tile: FRAGMENTS[name]()})
            T.copy(A, tile)
            T.reduce_sum(tile, sums, dim=1)
            for i, j in T.Parallel(64, 8):
                tile[i, j] = tile[i, j] / sums[i]
            T.copy(tile, B)
            T.copy(sums, S)

    a = np.abs(sample("float32", (64, 8))) + 1
    check(kernel, target, a, zeros("float32", (64, 8)), zeros("float32", 64), compare=close)
    if has_warps(target):
        texts = layouts_in(compiled(kernel, target))["tile"]
        assert any(t.startswith("not as annotated") for t in texts) == (name == "no digits")


def test_what_explain_says(target):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float16"), B: T.Tensor((M, N), "float16")):
        with T.Kernel(1, threads=64):
            padded, transposed = T.alloc_shared((M, N), "float16"), T.alloc_shared((M, N), "float16")
            T.annotate_layout(
                {padded: with_gaps(padded), transposed: turned(transposed), A: T.Layout((M, N), lambda i, j: [j, i])}
            )
            T.copy(A, padded)
            T.copy(padded, transposed)
            T.copy(transposed, B)

    a = sample("float16", (M, N))
    same(check(kernel, target, a, zeros("float16", (M, N)))[1], a)
    if has_warps(target):
        texts = layouts_in(compiled(kernel, target))
        assert texts["padded"] == ["(i0, i1) -> (i0 * 72 + i1)"]
        assert texts["transposed"] == ["(i0, i1) -> (i1, i0)"]
        assert texts["A"] == ["not as annotated: only shared memory and fragments have layouts"]


def test_a_layout_that_is_none(target):
    """It is an error on every target, also where layouts of shared memory have no effect."""
    from tilecore.errors import LanguageError

    def run():
        @T.prim_func
        def kernel(A: T.Tensor((M, N), "float16")):
            with T.Kernel(1, threads=64):
                tile = T.alloc_shared((M, N), "float16")
                T.annotate_layout({tile: T.Layout((M, N), lambda i, j: [i, j // 2])})
                T.copy(A, tile)
                T.copy(tile, A)

        compiled(kernel, target)

    with pytest.raises(LanguageError, match=r"tile\[0, 0\] and tile\[0, 1\] both map to") as caught:
        run()
    assert caught.value.location is not None


def test_layouts_of_loops(target):
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float16"), D: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=64):
            s, f = T.alloc_shared((64, 64), "float16"), T.alloc_fragment((64, 64), "float16")
            T.copy(A, s, coalesced_width=2)
            T.copy(s, f)
            for i, j in T.Parallel(64, 64, loop_layout=T.Fragment((64, 64), lambda i, j: (i, j))):
                f[i, j] = f[i, j] + 1
            T.copy(f, C, loop_layout=T.Fragment((64, 64), lambda i, j: (j, i)))  # f is divided already
            for i, j in T.Parallel(64, 64, coalesced_width=4):
                D[i, j] = s[i, j]

    a = sample("float16", (64, 64))
    check(kernel, target, a, zeros("float16", (64, 64)), zeros("float16", (64, 64)))
    if has_warps(target):
        built = compiled(kernel, target)
        assert layouts_in(built)["f"] == ["[64, 64] over 64: x:64@1->t1 y:64@1->r1"]
        source = built.get_kernel_source()
        assert moves(source, "s", 4)  # two elements
        assert moves(source, "D", 8)  # four


def test_halves_of_a_fragment(target):
    """The rows of a fragment go through a shared tile of half as many rows, one half after the other."""

    @T.prim_func
    def kernel(X: T.Tensor((32, 64), "float32"), Y: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=64):
            rows, half = T.alloc_fragment((32, 64), "float32"), T.alloc_shared((16, 64), "float32")
            T.copy(X, rows)
            for part in range(2):
                for i, j in T.Parallel(32, 64):
                    if i < 16:
                        half[i, j] = rows[i + part * 16, j] * 2
                for i, j in T.Parallel(16, 64):
                    Y[part * 16 + i, 63 - j] = half[i, j]

    x, y = check(kernel, target, sample("float32", (32, 64)), zeros("float32", (32, 64)))
    np.testing.assert_array_equal(y, x[:, ::-1] * 2)
