"""The pass copy_in_passing: which copies a gemm makes itself, and that results stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore
import tilecore.language as T

from .cpu_kit import copies, whole_numbers


def product(M, N, K, bn, bk, kind="float32", total="float32", case="", turned=False):
    """A product whose blocks have all rows, so that none repeats the copies of B of another."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), kind), B: T.Tensor((N, K) if turned else (K, N), kind), C: T.Tensor((M, N), total)):
        with T.Kernel(T.ceildiv(N, bn)) as bx:
            a, b = T.alloc_shared((M, bk), kind), T.alloc_shared((bn, bk) if turned else (bk, bn), kind)
            c = T.alloc_fragment((M, bn), total)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=2):
                T.copy(A[0, k * bk], a)
                if turned:
                    T.copy(B[bx * bn, k * bk], b)
                else:
                    T.copy(B[k * bk, bx * bn], b)
                if case == "written":
                    B[k * bk, bx * bn] = 5
                T.gemm(a, b, c, transpose_B=turned)
                if case == "read twice":
                    T.gemm(a, b, c, transpose_B=turned)
            T.copy(c, C[0, bx * bn])

    return kernel


def in_passing(func, target="cpu"):
    return copies(func, "copied in passing", target)


def test_a_tile_that_one_block_needs_is_copied_by_its_gemm():
    assert in_passing(product(64, 128, 64, 64, 32)) == ["B"]
    assert in_passing(product(64, 128, 64, 64, 32), "cpu -march=generic") == ["B"]
    assert in_passing(product(14, 128, 64, 64, 32)) == [], "one tile of rows reads B once, in place"
    assert in_passing(product(64, 100, 64, 64, 32)) == [], "tiles that cross the edge are copied, and filled with zeros"
    assert in_passing(product(64, 128, 64, 64, 32, case="written")) == [], "the gemm multiplies what was copied before"
    assert in_passing(product(64, 128, 64, 64, 32, case="read twice")) == ["B"]
    assert in_passing(product(64, 128, 64, 64, 32, turned=True)) == []
    assert in_passing(product(64, 128, 64, 64, 32, kind="float16")) == [], "its copy is widened"
    assert in_passing(product(64, 128, 64, 64, 32, kind="int8", total="int32")) == []


def test_a_tile_that_several_blocks_need_is_copied_once():
    @T.prim_func
    def kernel(
        A: T.Tensor((128, 256), "float32"), B: T.Tensor((256, 64), "float32"), C: T.Tensor((128, 64), "float32")
    ):
        with T.Kernel(2) as by:
            a, b = T.alloc_shared((64, 256), "float32"), T.alloc_shared((256, 64), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A[by * 64, 0], a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[by * 64, 0])

    assert in_passing(kernel) == []
    assert copies(kernel, "hoisted") == ["B"]


@pytest.mark.parametrize("target", ["cpu", "cpu -march=haswell", "cpu -march=generic"])
@pytest.mark.parametrize("kinds", [(kind, kind) for kind in ("float32", "float64", "int32")], ids=lambda k: k[0])
@pytest.mark.parametrize(("rows", "columns", "depth", "tile"), [
    (29, 64, 64, (64, 64)), (57, 100, 13, (50, 13)), (100, 96, 130, (48, 65)), (31, 33, 200, (33, 100)),
    (43, 7, 16, (7, 16)), (30, 1, 3, (1, 3)), (200, 32, 1, (32, 1)),
])  # fmt: skip
def test_products_are_right(rows, columns, depth, tile, kinds, target):
    check(rows, columns, depth, tile, kinds, target)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(15, 90), st.integers(1, 3), st.integers(1, 70), st.integers(1, 3), st.integers(1, 90),
    st.sampled_from([("float32", "float32"), ("float64", "float64"), ("bfloat16", "float32"), ("int16", "int32")]),
)  # fmt: skip
def test_products_of_any_shape_are_right(rows, blocks, columns, steps, depth, kinds):
    check(rows, blocks * columns, steps * depth, (columns, depth), kinds, "cpu")


def check(rows, columns, depth, tile, kinds, target):
    kind, total = kinds
    rng = np.random.default_rng(rows)
    a, b = whole_numbers(rng, (rows, depth), kind), whole_numbers(rng, (depth, columns), kind)
    c = np.full((rows, columns), 7, total)
    tilecore.compile(product(rows, columns, depth, *tile, kind, total), target=target)(a, b, c)
    np.testing.assert_array_equal(c, a.astype(total) @ b.astype(total))
