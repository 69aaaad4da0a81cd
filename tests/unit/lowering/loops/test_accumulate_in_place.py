"""The pass accumulate_in_place: which accumulators are the tensor itself, and that results stay."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T

from .cpu_kit import copies, whole_numbers


def in_place(func):
    return copies(func, "accumulated in place")


def product(case="", M=32, N=64, K=128, bm=32, bn=32, bk=32):
    kind = "float16" if case == "other type" else "float32"

    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "float32"),
        B: T.Tensor((K, N), "float32"),
        C: T.Tensor((M, N), kind),
        S: T.Tensor((9,), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm)) as (bx, by):
            a, b = T.alloc_shared((bm, bk), "float32"), T.alloc_shared((bk, bn), "float32")
            c = T.alloc_fragment((bm, bn), "float32")
            if case != "not cleared":
                T.clear(c)
            else:
                T.fill(c, 1)
            for k in T.serial(T.ceildiv(K, bk)):
                T.copy(A[by * bm, k * bk], a)
                T.copy(B[k * bk, bx * bn], b)
                T.gemm(a, b, c)
                if case == "read in the loop":
                    S[k] = c[0, 0]
            if case == "scaled":
                for i, j in T.Parallel(bm, bn):
                    c[i, j] = c[i, j] * 2
            if case == "added to":
                for i, j in T.Parallel(bm, bn):
                    C[by * bm + i, bx * bn + j] = C[by * bm + i, bx * bn + j] + c[i, j]
            elif case == "copied twice":
                T.copy(c, C[by * bm, bx * bn])
                T.copy(c, C[by * bm, bx * bn])
            elif case == "conditional":
                if bx > 0:
                    T.copy(c, C[by * bm, bx * bn])
            else:
                T.copy(c, C[by * bm, bx * bn])

    return kernel


CASES = ["other type", "read in the loop", "scaled", "added to", "copied twice", "conditional", "not cleared"]


def test_accumulators_that_are_only_copied_at_the_end():
    assert in_place(product()) == ["C"]
    assert in_place(product(N=60)) == [], "the last tile crosses the edge"
    assert in_place(product(K=64)) == [], "A is as large as C: a call may pass one tensor for both"


@pytest.mark.parametrize("case", CASES)
def test_others_stay(case):
    assert in_place(product(case)) == []


@pytest.mark.parametrize("case", ["", *CASES])
@pytest.mark.parametrize("sizes", [(32, 64, 64), (32, 60, 40), (64, 32, 32)], ids=str)
def test_results_stay(case, sizes):
    rng = np.random.default_rng(0)
    m, n, k = sizes
    a, b = whole_numbers(rng, (m, k), "float32"), whole_numbers(rng, (k, n), "float32")
    c = np.ones((m, n), np.float16 if case == "other type" else np.float32)
    expected = a @ b
    if case == "scaled":
        expected = expected * 2
    if case in ("added to", "not cleared"):
        expected = expected + 1
    if case == "conditional":
        expected[:, :32] = 1
    tilecore.compile(product(case, *sizes), target="cpu")(a, b, c, np.zeros(9, np.float32))
    np.testing.assert_array_equal(c, expected)


def test_a_tensor_that_a_call_may_pass_for_an_operand():
    """B is read tile by tile while C would be written: they may be one tensor."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((64, 32), "float32"), T.alloc_shared((32, 64), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.serial(2):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    assert in_place(kernel) == []
    rng = np.random.default_rng(1)
    a, b = whole_numbers(rng, (64, 64), "float32"), whole_numbers(rng, (64, 64), "float32")
    expected = a @ b
    tilecore.compile(kernel, target="cpu")(a, b, b)
    np.testing.assert_array_equal(b, expected)


def test_blocks_that_take_several_tiles():
    """A persistent block clears its accumulator for every tile; one that does not, goes on from the tile before."""

    def kernel_of(cleared):
        @T.prim_func
        def kernel(
            A: T.Tensor((64, 32), "float32"), B: T.Tensor((32, 96), "float32"), C: T.Tensor((64, 96), "float32")
        ):
            with T.Kernel(2) as by:
                a, b = T.alloc_shared((32, 32), "float32"), T.alloc_shared((32, 32), "float32")
                c = T.alloc_fragment((32, 32), "float32")
                T.copy(A[by * 32, 0], a)
                if not cleared:
                    T.clear(c)
                for bx in T.serial(3):
                    T.copy(B[0, bx * 32], b)
                    if cleared:
                        T.clear(c)
                    T.gemm(a, b, c)
                    T.copy(c, C[by * 32, bx * 32])

        return kernel

    rng = np.random.default_rng(2)
    a, b = whole_numbers(rng, (64, 32), "float32"), whole_numbers(rng, (32, 96), "float32")
    parts = np.stack(np.split(a @ b, 3, axis=1))
    for cleared, expected in ((True, parts), (False, parts.cumsum(axis=0))):
        c = np.zeros((64, 96), np.float32)
        tilecore.compile(kernel_of(cleared), target="cpu")(a, b, c)
        np.testing.assert_array_equal(c, np.concatenate(list(expected), axis=1))
    assert in_place(kernel_of(True)) == ["C"]
    assert in_place(kernel_of(False)) == []
