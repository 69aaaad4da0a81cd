"""T.gemm_sp: products of a matrix that holds two of each four neighbours, with the places of those."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError

from .kit import check, element, lacking, needs_type, zeros


def compressed(dense: np.ndarray, group: int, word: str) -> tuple[np.ndarray, np.ndarray]:
    """The elements that are kept of each group, and their places as words of this type; by hand, group by group."""
    rows, columns = dense.shape
    kept = np.zeros((rows, columns // 2), dense.dtype)
    per_word = DType(word).bits // 4
    words = np.zeros((rows, columns // group // per_word), np.uint64)
    for row in range(rows):
        for index in range(columns // group):
            part = dense[row, index * group : (index + 1) * group]
            places = list(np.flatnonzero(part.astype(np.float32)))
            places = sorted((places + [p for p in range(group) if p not in places])[: group // 2])
            kept[row, index * (group // 2) : (index + 1) * (group // 2)] = part[places]
            field = places[0] | places[1] << 2 if group == 4 else (0b0100, 0b1110)[places[0]]
            words[row, index // per_word] |= np.uint64(field << 4 * (index % per_word))
    return kept, words.astype(f"uint{DType(word).bits}").view(word)


def sparse(rows: int, columns: int, group: int, dtype: str) -> np.ndarray:
    """Small whole numbers; at most half of each group are not zero, in some groups fewer."""
    rng = np.random.default_rng(0)
    order = rng.random((rows, columns // group, group)).argsort(axis=2)
    present = (order < group // 2) & (rng.random(order.shape) < 0.9)
    return (rng.integers(1, 5, order.shape) * present).reshape(rows, columns).astype(element(dtype))


@pytest.mark.parametrize(
    ("dtype", "word", "total", "transposed"),
    [
        ("float16", "int16", "float32", False),
        ("float16", "uint8", "float32", True),
        ("int8", "int32", "int32", False),
        ("float32", "int16", "float32", False),
    ],
)
def test_products(target, dtype, word, total, transposed):
    needs_type(target, dtype)
    group = 2 if dtype == "float32" else 4
    per_word = DType(word).bits // 4 * group

    def shape(rows: int, columns: int) -> tuple[int, int]:
        return (columns, rows) if transposed else (rows, columns)

    @T.prim_func
    def kernel(
        A: T.Tensor(shape(64, 64), dtype),
        E: T.Tensor(shape(64, 128 // per_word), word),
        B: T.Tensor((32, 128), dtype),
        C: T.Tensor((64, 32), total),
    ):
        with T.Kernel(1, threads=128):
            a, e = T.alloc_shared(shape(64, 32), dtype), T.alloc_shared(shape(64, 64 // per_word), word)
            b, c = T.alloc_shared((32, 64), dtype), T.alloc_fragment((64, 32), total)
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                if transposed:
                    T.copy(A[k * 32, 0], a)
                    T.copy(E[k * (64 // per_word), 0], e)
                else:
                    T.copy(A[0, k * 32], a)
                    T.copy(E[0, k * (64 // per_word)], e)
                T.copy(B[0, k * 64], b)
                T.gemm_sp(a, e, b, c, transpose_A=transposed, transpose_E=transposed, transpose_B=True)
            T.copy(c, C)

    lacking(kernel, target)
    dense = sparse(64, 128, group, dtype)
    kept, places = compressed(dense, group, word)
    if transposed:
        kept, places = kept.T.copy(), places.T.copy()
    b = np.random.default_rng(1).integers(-3, 4, (32, 128)).astype(element(dtype))
    c = check(kernel, target, kept, places, b, zeros(total, (64, 32)))[3]
    np.testing.assert_array_equal(c, (dense.astype(np.float64) @ b.astype(np.float64).T).astype(c.dtype))


def test_places_that_do_not_fit_are_refused():
    with pytest.raises(LanguageError, match="E has not the places of A_sparse"):

        @T.prim_func
        def kernel(A: T.Tensor((64, 64), "float16"), E: T.Tensor((64, 16), "int16"), C: T.Tensor((64, 64), "float32")):
            with T.Kernel(1):
                T.gemm_sp(A, E, A, C)
