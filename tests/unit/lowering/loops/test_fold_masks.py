"""The pass fold_masks: masks of accumulators that are left out where they keep all, and that results stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore
import tilecore.language as T
from tilecore.ir.nodes import IfThenElse
from tilecore.ir.visit import collect
from tilecore.lowering.loops.fold_masks import fold_masks
from tilecore.lowering.normalize.inline_binds import inline_binds

CONDITIONS = {
    "causal": lambda row, column, size: row >= column,
    "strictly causal": lambda row, column, size: row > column,
    "turned": lambda row, column, size: column < row,
    "window": lambda row, column, size: T.all_of(row >= column, row - column < 20),
    "keys": lambda row, column, size: column < size,
    "steps of two": lambda row, column, size: 2 * row - 3 * column >= -7,
    "one key": lambda row, column, size: column != 5,
    "from a tensor": lambda row, column, size: row % 3 >= column % 2,
}
ON_NUMPY = {
    "window": lambda row, column, size: (row >= column) & (row - column < 20),
}


def masked_product(condition, M, N, bm, bn, case=""):
    """C = A @ B where the condition holds on the position, else -1 plus the product."""
    keeps = CONDITIONS[condition]

    @T.prim_func
    def kernel(
        A: T.Tensor((M, 8), "float32"), B: T.Tensor((8, N), "float32"), C: T.Tensor((M, N), "float32"), S: T.int32
    ):
        with T.Kernel(M // bm) as by:
            a, b = T.alloc_shared((bm, 8), "float32"), T.alloc_shared((8, bn), "float32")
            c = T.alloc_fragment((bm, bn), "float32")
            T.copy(A[by * bm, 0], a)
            for k in T.serial(N // bn):
                T.copy(B[0, k * bn], b)
                for i, j in T.Parallel(bm, bn):
                    kept = keeps(by * bm + i, k * bn + j, S)
                    c[i, j] = T.if_then_else(kept, -1, 0) if case == "turned round" else T.if_then_else(kept, 0, -1)
                if case == "read between":
                    C[0, 0] = c[0, 0]
                T.gemm(a, b, c)
                if case != "read between":
                    T.copy(c, C[by * bm, k * bn])

    return kernel


def branches(func):
    """How many masks became conditional."""
    return len(collect(func.body, IfThenElse))


def folded(*args, **kwargs):
    func = inline_binds(masked_product(*args, **kwargs).ir, None)
    return branches(fold_masks(func, None)) - branches(func)


def test_masks_that_are_tested_for_a_whole_nest():
    for condition in ("causal", "strictly causal", "turned", "window", "keys", "steps of two"):
        assert folded(condition, 64, 64, 16, 16) == 1, condition
    assert folded("causal", 64, 64, 16, 64) == 1
    for condition in ("one key", "from a tensor"):
        assert folded(condition, 64, 64, 16, 16) == 0, condition
    assert folded("causal", 64, 64, 16, 16, case="turned round") == 0, "it keeps none where the condition holds"
    assert folded("causal", 64, 64, 16, 16, case="read between") == 0
    assert folded("causal", 16, 64, 16, 16) == 1


@pytest.mark.parametrize("case", ["", "turned round"])
@pytest.mark.parametrize("condition", sorted(CONDITIONS))
def test_masked_products_are_right(condition, case):
    check(condition, 64, 96, 16, 32, 50, case)


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from(sorted(CONDITIONS)), st.integers(1, 3), st.integers(1, 3), st.integers(1, 17), st.integers(1, 17),
    st.integers(-5, 60),
)  # fmt: skip
def test_masked_products_of_any_shape_are_right(condition, rows, columns, bm, bn, size):
    check(condition, rows * bm, columns * bn, bm, bn, size)


def check(condition, M, N, bm, bn, size, case=""):
    rng = np.random.default_rng(M)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((M, 8), (8, N)))
    c = np.full((M, N), 7, np.float32)
    tilecore.compile(masked_product(condition, M, N, bm, bn, case), target="cpu")(a, b, c, size)
    keeps = ON_NUMPY.get(condition, CONDITIONS[condition])(np.arange(M)[:, None], np.arange(N)[None, :], size)
    np.testing.assert_array_equal(c, a @ b - (keeps if case else ~np.broadcast_to(keeps, c.shape)))
