"""gemm against numpy, for shapes, transposes, element types and accumulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import LanguageError, UninitialisedReadError
from tilecore.interpreter import interpret
from tilecore.ir.nodes import BufferRegion, Range
from tilecore.ir.tile_ops import tile_statement

from .kit import buffer, function, launch, rounded, sample, wide


def gemm_kernel(m, n, k, a_type, b_type, c_type, ta=False, tb=False, clear=False):
    @T.prim_func
    def kernel(
        A: T.Tensor((k, m) if ta else (m, k), a_type),
        B: T.Tensor((n, k) if tb else (k, n), b_type),
        C: T.Tensor((m, n), c_type),
    ):
        with T.Kernel(1):
            a, b = T.alloc_shared(A.shape, a_type), T.alloc_shared(B.shape, b_type)
            c = T.alloc_fragment((m, n), c_type)
            T.copy(A, a)
            T.copy(B, b)
            T.copy(C, c)
            T.gemm(a, b, c, transpose_A=ta, transpose_B=tb, clear_accum=clear)
            T.copy(c, C)

    return kernel


TYPES = [
    ("float16", "float16", "float32"),
    ("bfloat16", "bfloat16", "float32"),
    ("float8_e4m3fn", "float8_e5m2", "float32"),
    ("float32", "float32", "float32"),
    ("float64", "float64", "float64"),
    ("float16", "float16", "float16"),
    ("bfloat16", "bfloat16", "bfloat16"),
    ("int8", "int8", "int32"),
    ("uint8", "int8", "int32"),
    ("int4", "int4", "int32"),
    ("int32", "int32", "int32"),
    ("int8", "int8", "float32"),
]


@pytest.mark.parametrize("types", TYPES, ids=lambda t: "-".join(t))
@settings(max_examples=8, deadline=None)
@given(
    m=st.integers(1, 40),
    n=st.integers(1, 40),
    k=st.integers(1, 70),
    ta=st.booleans(),
    tb=st.booleans(),
    clear=st.booleans(),
)
def test_gemm(types, m, n, k, ta, tb, clear):
    a_type, b_type, c_type = types
    a, b = sample(a_type, (k, m) if ta else (m, k), 1), sample(b_type, (n, k) if tb else (k, n), 2)
    c = sample(c_type, (m, n), 3)
    before = np.zeros_like(wide(c)) if clear else wide(c)
    expected = before + (wide(a).T if ta else wide(a)) @ (wide(b).T if tb else wide(b))
    interpret(gemm_kernel(m, n, k, *types, ta, tb, clear), a, b, c)
    if c_type == "float64":
        np.testing.assert_allclose(c, expected, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(wide(c), wide(rounded(expected, c_type)))


def test_integers_wrap_in_the_accumulator():
    kernel = gemm_kernel(1, 1, 4, "int32", "int32", "int32")
    a, b = np.full((1, 4), 2**30, np.int32), np.full((4, 1), 3, np.int32)
    c = np.array([[5]], np.int32)
    interpret(kernel, a, b, c)
    assert c[0, 0] == np.int64(5 + 12 * 2**30).astype(np.int32)


def test_large_integer_products_are_exact():
    kernel = gemm_kernel(1, 1, 2, "int64", "int64", "int64")
    a, b, c = np.array([[2**40, 3]]), np.array([[2**15 + 1], [7]]), np.array([[1]])
    interpret(kernel, a, b, c)
    assert c[0, 0] == 2**40 * (2**15 + 1) + 21 + 1


def test_sums_do_not_lose_small_terms():
    kernel = gemm_kernel(1, 1, 3, "float32", "float32", "float32")
    a, b = np.float32([[1e8, 1.0, -1e8]]), np.ones((3, 1), np.float32)
    c = np.zeros((1, 1), np.float32)
    interpret(kernel, a, b, c)
    assert c[0, 0] == 1.0


def test_clear_accum_may_be_known_only_in_the_kernel():
    @T.prim_func
    def kernel(A: T.Tensor((3, 8, 8), "float16"), C: T.Tensor((8, 8), "float32")):
        with T.Kernel(1):
            a, c = T.alloc_shared((8, 8), "float16"), T.alloc_fragment((8, 8), "float32")
            for k in T.serial(3):
                T.copy(A[k, 0, 0], a)
                T.gemm(a, a, c, clear_accum=k == 0)
            T.copy(c, C)

    a, c = sample("float16", (3, 8, 8)), np.zeros((8, 8), np.float32)
    interpret(kernel, a, c)
    np.testing.assert_allclose(c, sum(wide(x) @ wide(x) for x in a), rtol=1e-5, atol=1e-5)


def test_leading_axes_of_extent_one_are_left_out():
    @T.prim_func
    def kernel(A: T.Tensor((2, 8, 4), "float16"), C: T.Tensor((8, 8), "float32")):
        with T.Kernel(1):
            a, c = T.alloc_shared((2, 8, 4), "float16"), T.alloc_fragment((8, 8), "float32")
            T.copy(A, a)
            T.clear(c)
            T.gemm(a[1, :, :], a[0, :, :], c, transpose_B=True)
            T.copy(c, C)

    a, c = sample("float16", (2, 8, 4)), np.zeros((8, 8), np.float32)
    interpret(kernel, a, c)
    np.testing.assert_allclose(c, wide(a[1]) @ wide(a[0]).T, rtol=1e-6)


def test_an_unwritten_accumulator_is_an_error():
    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float16")):
        with T.Kernel(1):
            a, c = T.alloc_shared((8, 8), "float16"), T.alloc_fragment((8, 8), "float32")
            T.copy(A, a)
            T.gemm(a, a, c)

    with pytest.raises(UninitialisedReadError, match=r"c\[0, 0\]"):
        interpret(kernel, sample("float16", (8, 8)))


def raw_gemm(a_shape, b_shape, c_shape, a_type="float32", c_type="float32"):
    bufs = [buffer("A", a_shape, a_type), buffer("B", b_shape, a_type), buffer("C", c_shape, c_type)]
    regions = [BufferRegion(b, [Range.from_min_extent(0, extent) for extent in b.shape]) for b in bufs]
    return function(bufs, launch(tile_statement("gemm", [*regions, 0, 0, 0, 0]), 1))


@pytest.mark.parametrize("shapes", [((4, 5), (6, 4), (4, 4)), ((4, 5), (5, 4), (5, 4)), ((4,), (4, 4), (4, 4))])
def test_shapes_that_do_not_fit_are_refused(shapes):
    with pytest.raises(LanguageError, match=r"gemm.*(fit|matrix)"):
        interpret(raw_gemm(*shapes), *(np.zeros(shape, np.float32) for shape in shapes))


def test_floats_are_not_summed_in_integers():
    with pytest.raises(LanguageError, match="floats accumulates into an integer"):
        interpret(raw_gemm((2, 2), (2, 2), (2, 2), c_type="int32"), *[None] * 3)


def test_a_tiled_product_with_tails():
    m, n, k = 50, 70, 45

    @T.prim_func
    def kernel(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((k, n), "bfloat16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 16), threads=64) as (bx, by):
            a, b = T.alloc_shared((16, 32), "bfloat16"), T.alloc_shared((32, 32), "bfloat16")
            c = T.alloc_fragment((16, 32), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(A[by * 16, step * 32], a)
                T.copy(B[step * 32, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 16, bx * 32])

    a, b, c = sample("bfloat16", (m, k), 1), sample("bfloat16", (k, n), 2), np.zeros((m, n), np.float32)
    interpret(kernel, a, b, c)
    np.testing.assert_allclose(c, wide(a) @ wide(b), rtol=1e-5, atol=1e-5)
