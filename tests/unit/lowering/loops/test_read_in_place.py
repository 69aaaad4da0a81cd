"""The pass read_in_place: copies that a gemm needs not, and those that must stay."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T

from .cpu_kit import copies, whole_numbers


def in_place(func, target="cpu"):
    return copies(func, "read in place", target)


def strip(M=8, N=64, K=64, bn=64, bk=32, case="", kind="float32", total="float32"):
    """A product of few rows, which reads B as it lies."""

    @T.prim_func
    def kernel(A: T.Tensor((M, K), kind), B: T.Tensor((K, N), kind), C: T.Tensor((M, N), total)):
        with T.Kernel(T.ceildiv(N, bn)) as bx:
            a, b = T.alloc_shared((M, bk), kind), T.alloc_shared((bk, bn), kind)
            c = T.alloc_fragment((M, bn), total)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=2):
                T.copy(A[0, k * bk], a)
                T.copy(B[k * bk, bx * bn], b)
                if case == "written":
                    B[k * bk, bx * bn] = 5
                T.gemm(a, b, c)
                if case == "written after":
                    B[k * bk, bx * bn] = 5
            T.copy(c, C[0, bx * bn])

    return kernel


def test_few_rows_read_b_as_it_lies():
    assert in_place(strip()) == ["A", "B"]
    assert in_place(strip(M=64)) == ["A"], "of many rows a copy of B in panels pays"
    assert in_place(strip(N=100)) == ["A"], "tiles that cross the edge are copied, and filled with zeros"
    assert in_place(strip(K=40)) == []
    assert in_place(strip(case="written")) == ["A"], "the gemm multiplies what was copied before"
    assert in_place(strip(case="written after")) == ["A", "B"]


@pytest.mark.parametrize(("columns", "kind", "of_14_rows", "of_6_rows"), [
    (512, "float32", True, True), (1024, "float32", False, True), (1000, "float32", True, True),
    (3072, "float32", False, True), (256, "float64", True, True), (512, "float64", False, True),
    (64, "float16", False, False), (100, "int32", True, True), (100, "int8", False, False),
])  # fmt: skip
def test_rows_of_a_that_share_sets_of_the_cache_are_copied(columns, kind, of_14_rows, of_6_rows):
    """14 rows at a distance of 4 KiB would lie in one set, 6 may. Elements that the gemm would convert are copied."""
    total = kind if kind in ("float32", "float64", "int32") else ("float32" if kind == "float16" else "int32")
    func = strip(56, 64, columns, bk=columns, kind=kind, total=total)
    for vectors, expected in ((2, of_14_rows), (4, of_6_rows)):
        assert ("A" in in_place(func, f"cpu -march=x86-64-v4 -tile_vectors={vectors}")) is expected


def test_a_whose_rows_lie_at_a_distance_that_the_call_gives_is_copied():
    K = T.dynamic("K")

    @T.prim_func
    def kernel(A: T.Tensor((32, K), "float32"), B: T.Tensor((K, 64), "float32"), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((32, 16), "float32"), T.alloc_shared((16, 64), "float32")
            c = T.alloc_fragment((32, 64), "float32")
            T.clear(c)
            for k in T.serial(T.ceildiv(K, 16)):
                T.copy(A[0, k * 16], a)
                T.copy(B[k * 16, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    assert in_place(kernel) == []
    rng = np.random.default_rng(6)
    for depth in (16, 40):
        a, b = whole_numbers(rng, (32, depth), "float32"), whole_numbers(rng, (depth, 64), "float32")
        c = np.zeros((32, 64), np.float32)
        tilecore.compile(kernel, target="cpu")(a, b, c)
        np.testing.assert_array_equal(c, a @ b)


def test_a_turned_tile_of_a_is_copied():
    @T.prim_func
    def kernel(A: T.Tensor((64, 56), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((56, 64), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((64, 56), "float32"), T.alloc_shared((64, 64), "float32")
            c = T.alloc_fragment((56, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, transpose_A=True, clear_accum=True)
            T.copy(c, C)

    assert in_place(kernel) == []


def test_a_that_a_call_may_pass_for_the_result():
    """A is read after elements of C are written: the sums must not accumulate in C itself."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((64, 64), "float32"), T.alloc_shared((64, 64), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    rng = np.random.default_rng(5)
    a, b = whole_numbers(rng, (64, 64), "float32"), whole_numbers(rng, (64, 64), "float32")
    expected = a @ b
    compiled = tilecore.compile(kernel, target="cpu")
    also, right = a.copy(), b.copy()
    compiled(also, b, also)
    np.testing.assert_array_equal(also, expected)
    compiled(a, right, right)
    np.testing.assert_array_equal(right, expected)


@pytest.mark.parametrize("kinds", [("float32", "float32"), ("float64", "float64"), ("float16", "float32")], ids=str)
@pytest.mark.parametrize("rows", [1, 2, 7, 14, 15, 16, 17, 28, 29])
@pytest.mark.parametrize(("columns", "depth"), [(64, 64), (32, 13), (80, 32), (16, 64)])
@pytest.mark.parametrize("target", ["cpu", "cpu -march=generic"])
def test_products_of_few_rows_are_right(rows, columns, depth, kinds, target):
    kind, total = kinds
    rng = np.random.default_rng(0)
    a, b = whole_numbers(rng, (rows, depth), kind), whole_numbers(rng, (depth, columns), kind)
    c = np.full((rows, columns), 7, total)
    func = strip(rows, columns, depth, 32 if columns == 64 else columns, min(depth, 32), kind=kind, total=total)
    tilecore.compile(func, target=target)(a, b, c)
    np.testing.assert_array_equal(c, a.astype(total) @ b.astype(total))


@pytest.mark.parametrize("case", ["written", "written after"])
def test_what_is_multiplied_is_what_was_copied(case):
    rng = np.random.default_rng(1)
    a, b = whole_numbers(rng, (8, 64), "float32"), whole_numbers(rng, (64, 64), "float32")
    c, expected = np.zeros((8, 64), np.float32), a @ b
    tilecore.compile(strip(case=case), target="cpu")(a, b, c)
    np.testing.assert_array_equal(c, expected)
    assert b[0, 0] == b[32, 0] == 5


def test_a_tensor_that_a_call_may_pass_for_the_result_is_copied():
    """The result is as large as B; a gemm in place would read what it has written."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32"), B: T.Tensor((8, 64), "float32"), C: T.Tensor((8, 64), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((8, 8), "float32"), T.alloc_shared((8, 64), "float32")
            c = T.alloc_fragment((8, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    rng = np.random.default_rng(2)
    a, b = whole_numbers(rng, (8, 8), "float32"), whole_numbers(rng, (8, 64), "float32")
    expected = a @ b
    tilecore.compile(kernel, target="cpu")(a, b, b)
    np.testing.assert_array_equal(b, expected)


def test_rows_that_lie_apart():
    """A strided tensor: the distance of its rows is no part of its shape."""

    @T.prim_func
    def kernel(
        A: T.Tensor((4, 32), "float32"),
        B: T.StridedTensor((32, 64), (100, 1), "float32"),
        C: T.Tensor((4, 64), "float32"),
    ):
        with T.Kernel(1):
            a, b = T.alloc_shared((4, 32), "float32"), T.alloc_shared((32, 64), "float32")
            c = T.alloc_fragment((4, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    rng = np.random.default_rng(3)
    a, wide = whole_numbers(rng, (4, 32), "float32"), whole_numbers(rng, (32, 100), "float32")
    c = np.zeros((4, 64), np.float32)
    tilecore.compile(kernel, target="cpu")(a, wide[:, :64], c)
    np.testing.assert_array_equal(c, a @ wide[:, :64])


@pytest.mark.parametrize("turned", [False, True])
def test_a_row_of_b_that_is_a_column_of_the_tensor(turned):
    """A copy leaves out axes of one element: b (1, 32) comes from B[32 rows, 1 column]."""
    shape = (8, 64, 1) if turned else (64, 8)

    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "float32"), B: T.Tensor(shape, "float32"), C: T.Tensor((4, 64), "float32")):
        with T.Kernel(2) as bx:
            a, b = T.alloc_shared((4, 1), "float32"), T.alloc_shared((1, 32), "float32")
            c = T.alloc_fragment((4, 32), "float32")
            T.clear(c)
            for k in T.serial(8):
                T.copy(A[0:4, k : k + 1], a)
                if turned:
                    T.copy(B[k, bx * 32 : bx * 32 + 32, 0:1], b)
                else:
                    T.copy(B[bx * 32 : bx * 32 + 32, k : k + 1], b)
                T.gemm(a, b, c)
            T.copy(c, C[0, bx * 32])

    rng = np.random.default_rng(4)
    a, b = whole_numbers(rng, (4, 8), "float32"), whole_numbers(rng, shape, "float32")
    c = np.zeros((4, 64), np.float32)
    tilecore.compile(kernel, target="cpu")(a, b, c)
    np.testing.assert_array_equal(c, a @ (b[:, :, 0] if turned else b.T))
