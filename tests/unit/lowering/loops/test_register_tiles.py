"""The sizes of gemm's register tiles: how the target's registers are divided, and that all of a matrix is covered."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilecore
import tilecore.language as T
from tilecore.lowering.loops.register_tiles import TileShape, balanced, balanced_pieces, most_rows
from tilecore.plugins import manager

from .cpu_kit import whole_numbers


@pytest.mark.parametrize(
    ("registers", "vectors", "rows"), [(32, 1, 14), (32, 2, 14), (32, 3, 9), (32, 4, 6), (16, 2, 6)]
)
def test_accumulators_a_row_of_b_and_elements_of_a_fit_the_registers(registers, vectors, rows):
    assert most_rows(registers, vectors) == rows
    assert rows * vectors + vectors + 1 <= registers


def test_a_narrower_tile_has_more_rows():
    shape = TileShape(6, 4, 16, 32)
    assert [shape.rows_of(columns) for columns in (64, 49, 48, 33, 32, 16, 8)] == [6, 6, 9, 9, 14, 14, 14]
    assert TileShape(14, 2, 16, 32).rows_of(8) == 14


@given(st.integers(1, 3000), st.integers(1, 32))
def test_pieces_cover_all_rows_in_as_few_tiles_as_possible(size, most):
    pieces = balanced_pieces(size, most)
    ends = [piece.start + piece.count * piece.width for piece in pieces]
    assert [piece.start for piece in pieces] == [0, *ends[:-1]]
    assert ends[-1] == size
    assert sum(piece.count for piece in pieces) == -(-size // most)
    assert all(pieces[0].width <= 2 * piece.width <= 2 * most for piece in pieces)
    assert pieces[0].width in (balanced(size, most), balanced(size, most) - 1)


def matmul(M, N, K, bm, bn, bk, kind="float32"):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), kind), B: T.Tensor((K, N), kind), C: T.Tensor((M, N), kind)):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm)) as (bx, by):
            a, b = T.alloc_shared((bm, bk), kind), T.alloc_shared((bk, bn), kind)
            c = T.alloc_fragment((bm, bn), kind)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=2):
                T.copy(A[by * bm, k * bk], a)
                T.copy(B[k * bk, bx * bn], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * bm, bx * bn])

    return kernel


@pytest.mark.parametrize(("sizes", "kind"), [
    ((64, 64, 64, 64, 64, 64), "float32"),  # 10 tiles of 6 rows and one of 4
    ((62, 144, 80, 62, 144, 80), "float32"),  # 9 tiles of 6 rows and 2 of 5; columns of one vector remain
    ((100, 200, 96, 50, 100, 96), "float32"),
    ((56, 40, 128, 28, 40, 64), "float64"),
    ((33, 48, 30, 33, 48, 30), "int32"),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("vectors", [2, 4])
def test_products_are_right(sizes, kind, vectors):
    rng = np.random.default_rng(0)
    m, n, k = sizes[:3]
    a, b, c = whole_numbers(rng, (m, k), kind), whole_numbers(rng, (k, n), kind), np.full((m, n), 7, kind)
    tilecore.compile(matmul(*sizes, kind), target=f"cpu -tile_vectors={vectors}")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize(("processor", "vectors"), [
    ("sapphirerapids", 4), ("graniterapids", 4), ("znver4", 2), ("znver5", 2), ("haswell", 2), ("generic", 2),
])  # fmt: skip
def test_the_processor_decides(processor, vectors):
    assert manager.resolve(f"cpu -march={processor}")[1].get("tile_vectors") == vectors


@pytest.mark.parametrize(("model", "vectors"), [("GenuineIntel-6-207", 4), ("AuthenticAMD-26-2", 2)])
def test_the_maker_decides_where_the_processor_is_this_machine(model, vectors):
    features = "avx2,avx512bw,avx512dq,avx512f,avx512vl,fma"
    assert manager.resolve(f"cpu -model={model} -features={features}")[1].get("tile_vectors") == vectors
    assert manager.resolve(f"cpu -model={model} -features=avx2,fma")[1].get("tile_vectors") == 2, "16 registers"
