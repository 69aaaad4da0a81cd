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
    assert in_place(product(N=32, K=32)) == [], "A is as large as C: a call may pass one tensor for both"
    assert in_place(product(K=64)) == ["C"], "such a call has no defined result: two blocks read all of A"


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


def test_blocks_that_write_one_tile():
    """All compute the same values; sums in the tensor itself would mix."""

    def kernel_of(tile_of):
        @T.prim_func
        def kernel(
            A: T.Tensor((64, 256), "float32"), B: T.Tensor((256, 32), "float32"), C: T.Tensor((64, 32), "float32")
        ):
            with T.Kernel(8) as by:
                a, b = T.alloc_shared((32, 64), "float32"), T.alloc_shared((64, 32), "float32")
                c = T.alloc_fragment((32, 32), "float32")
                T.clear(c)
                for k in T.serial(4):
                    T.copy(A[tile_of(by) * 32, k * 64], a)
                    T.copy(B[k * 64, 0], b)
                    T.gemm(a, b, c)
                T.copy(c, C[tile_of(by) * 32, 0])

        return kernel

    for tile_of in (lambda by: by // 4, lambda by: by % 2):
        assert in_place(kernel_of(tile_of)) == []


@pytest.mark.parametrize("jump", ["continue", "break"])
def test_a_copy_that_a_jump_skips(jump):
    @T.prim_func
    def kernel(
        A: T.Tensor((96, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((96, 64), "float32"),
        P: T.Tensor((3,), "int32"),
    ):  # fmt: skip
        with T.Kernel(1):
            a, b = T.alloc_shared((32, 64), "float32"), T.alloc_shared((64, 64), "float32")
            c = T.alloc_fragment((32, 64), "float32")
            T.copy(B, b)
            for i in T.serial(3):
                T.copy(A[i * 32, 0], a)
                T.clear(c)
                T.gemm(a, b, c)
                if P[i] == 0:
                    if jump == "continue":
                        continue
                    else:
                        break
                T.copy(c, C[i * 32, 0])

    rng = np.random.default_rng(3)
    a, b = whole_numbers(rng, (96, 64), "float32"), whole_numbers(rng, (64, 64), "float32")
    c, expected = np.full((96, 64), 7, np.float32), a @ b
    expected[32:64] = 7
    if jump == "break":
        expected[64:] = 7
    tilecore.compile(kernel, target="cpu")(a, b, c, np.array([1, 0, 1], np.int32))
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("turned", [False, True])
def test_a_row_of_the_tile_that_is_a_column_of_the_tensor(turned):
    """A copy leaves out axes of one element: c (1, 32) goes to C[32 rows, 1 column]."""
    shape = (4, 64, 1) if turned else (64, 4)

    @T.prim_func
    def kernel(A: T.Tensor((4, 32), "float32"), B: T.Tensor((32, 64), "float32"), C: T.Tensor(shape, "float32")):
        with T.Kernel(2, 4) as (bx, by):
            a, b = T.alloc_shared((1, 32), "float32"), T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((1, 32), "float32")
            T.copy(A[by, 0], a)
            T.copy(B[0, bx * 32], b)
            T.gemm(a, b, c, clear_accum=True)
            if turned:
                T.copy(c, C[by, bx * 32 : bx * 32 + 32, 0:1])
            else:
                T.copy(c, C[bx * 32 : bx * 32 + 32, by : by + 1])

    rng = np.random.default_rng(4)
    a, b = whole_numbers(rng, (4, 32), "float32"), whole_numbers(rng, (32, 64), "float32")
    c = np.zeros(shape, np.float32)
    tilecore.compile(kernel, target="cpu")(a, b, c)
    np.testing.assert_array_equal(c[:, :, 0] if turned else c.T, a @ b)
