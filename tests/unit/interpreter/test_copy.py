"""copy, transpose, fill: shapes, casts, tails, overlaps."""

import numpy as np
import pytest
from element_types import FLOATS, INTEGERS, element
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import LanguageError, OutOfBoundsError
from tilecore.interpreter import interpret
from tilecore.ir.nodes import AllocBuffer
from tilecore.ir.tile_ops import tile_statement

from .kit import block, buffer, function, launch, region, sample, wide


@settings(max_examples=25, deadline=None)
@given(
    m=st.integers(1, 70),
    n=st.integers(1, 50),
    bm=st.sampled_from([1, 8, 32]),
    bn=st.sampled_from([3, 16]),
    dtype=st.sampled_from([*FLOATS, *INTEGERS, "bool", "int4"]),
    scope=st.sampled_from(["shared.dyn", "local.fragment", "local"]),
)
def test_tiles_of_any_size_cover_a_matrix_of_any_size(m, n, bm, bn, dtype, scope):
    @T.prim_func
    def kernel(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm)) as (bx, by):
            tile = T.alloc_buffer((bm, bn), dtype, scope)
            T.copy(A[by * bm, bx * bn], tile)
            T.copy(tile, B[by * bm, bx * bn])

    a, b = sample(dtype, (m, n)), np.zeros((m, n), element(dtype))
    interpret(kernel, a, b)
    np.testing.assert_array_equal(wide(a), wide(b))


@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16", "int8", "int32"])
@pytest.mark.parametrize("target", ["float32", "float16", "bfloat16", "float8_e4m3fn", "int32", "uint8"])
def test_a_copy_casts(source, target):
    @T.prim_func
    def kernel(A: T.Tensor((5, 7), source), B: T.Tensor((5, 7), target), C: T.Tensor((5, 7), target)):
        with T.Kernel(1):
            tile = T.alloc_fragment((5, 7), target)
            T.copy(A, tile)
            T.copy(tile, B)
            for i, j in T.Parallel(5, 7):
                C[i, j] = T.cast(A[i, j], target)

    a = sample(source, (5, 7))
    b, c = np.zeros((2, 5, 7), element(target))
    interpret(kernel, a, b, c)
    np.testing.assert_array_equal(wide(b), wide(c))
    assert np.any(wide(b) != 0)


def test_what_lies_outside_a_global_buffer_reads_as_zero():
    @T.prim_func
    def kernel(A: T.Tensor((10,), "float32"), B: T.Tensor((16,), "float32")):
        with T.Kernel(1):
            tile = T.alloc_shared((16,), "float32")
            T.fill(tile, 7.0)
            T.copy(A[0], tile)
            T.copy(tile, B)

    a, b = sample("float32", 10), np.full(16, -1, np.float32)
    interpret(kernel, a, b)
    assert b.tolist() == [*a.tolist(), *[0.0] * 6]
    with pytest.raises(OutOfBoundsError, match=r"B\[10\] gets an element that stands for what lies outside"):
        interpret(kernel, a, b, strict=True)


def test_a_safe_value_stands_for_what_lies_outside():
    @T.prim_func
    def kernel(A: T.Tensor((10,), "float32"), B: T.Tensor((16,), "float32"), C: T.Tensor((16,), "float32")):
        with T.Kernel(1):
            T.annotate_safe_value({A: -5.0})
            tile = T.alloc_shared((16,), "float32")
            T.copy(A[0], tile)
            T.copy(tile, B)
            for i in T.Parallel(16):
                C[i] = A[i - 3]

    a = sample("float32", 10)
    b, c = np.zeros((2, 16), np.float32)
    interpret(kernel, a, b, c)
    assert b.tolist() == [*a.tolist(), *[-5.0] * 6]
    assert c.tolist() == [*[-5.0] * 3, *a.tolist(), *[-5.0] * 3]


def test_writes_outside_a_global_buffer_are_dropped_and_their_source_may_be_unwritten():
    @T.prim_func
    def kernel(A: T.Tensor((10,), "float32"), B: T.Tensor((10,), "float32")):
        with T.Kernel(1):
            tile = T.alloc_shared((16,), "float32")
            for i in T.Parallel(10):
                tile[i] = A[i]
            T.copy(tile, B[0])

    a, b = sample("float32", 10), np.zeros(10, np.float32)
    interpret(kernel, a, b)
    np.testing.assert_array_equal(a, b)


def copies(params, on_chip, *pairs):
    body = [AllocBuffer(b) for b in on_chip]
    return function(params, launch(block(*body, *(tile_statement("copy", pair) for pair in pairs)), 1))


def test_on_chip_buffers_have_no_outside():
    a, s = buffer("A", (16,)), buffer("S", (10,), scope="shared.dyn")
    main = copies([a], [s], (region(a, (0, 8)), region(s, (4, 8))))
    with pytest.raises(OutOfBoundsError, match=r"S\[10\] is outside S") as caught:
        interpret(main, np.zeros(16, np.float32))
    assert "0 to 9" in str(caught.value)


def test_axes_of_extent_one_do_not_count():
    a, b = buffer("A", (3, 4, 5)), buffer("B", (4, 2, 5))
    main = copies([a, b], [], (region(a, (2, 1), (0, 4), (0, 5)), region(b, (0, 4), (1, 1), (0, 5))))
    x, y = sample("float32", (3, 4, 5)), np.zeros((4, 2, 5), np.float32)
    interpret(main, x, y)
    np.testing.assert_array_equal(y[:, 1], x[2])
    assert not y[:, 0].any()


def test_shapes_that_differ_are_refused():
    a, b = buffer("A", (4, 6)), buffer("B", (6, 4))
    main = copies([a, b], [], (region(a, (0, 4), (0, 6)), region(b, (0, 6), (0, 4))))
    with pytest.raises(LanguageError, match="do not fit"):
        interpret(main, np.zeros((4, 6), np.float32), np.zeros((6, 4), np.float32))


@pytest.mark.parametrize(("source", "target"), [(0, 3), (3, 0), (2, 2)])
def test_an_overlapping_copy_reads_everything_first(source, target):
    a = buffer("A", (10,))
    x = sample("float32", 10)
    expected = x.copy()
    expected[target : target + 6] = x[source : source + 6]
    interpret(copies([a], [], (region(a, (source, 6)), region(a, (target, 6)))), x)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bool"])
def test_transpose(dtype):
    @T.prim_func
    def kernel(A: T.Tensor((6, 9), dtype), B: T.Tensor((9, 6), "float32")):
        with T.Kernel(1):
            s, t = T.alloc_shared((6, 9), dtype), T.alloc_shared((9, 6), "float32")
            T.copy(A, s)
            T.transpose(s, t)
            T.copy(t, B)

    a, b = sample(dtype, (6, 9)), np.zeros((9, 6), np.float32)
    interpret(kernel, a, b)
    np.testing.assert_array_equal(b, a.astype(np.float32).T)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool", "int4", "uint4"])
def test_fill_and_clear(dtype):
    @T.prim_func
    def kernel(A: T.Tensor((4, 6), dtype), B: T.Tensor((4, 6), dtype)):
        with T.Kernel(1):
            tile = T.alloc_fragment((4, 6), dtype)
            T.fill(tile, 1)
            T.copy(tile, A)
            T.clear(tile)
            T.fill(tile[1:3, 2:4], 1)
            T.copy(tile, B)

    a, b = (np.full((4, 6), 1, np.int8).astype(element(dtype)) for _ in range(2))
    expected = np.zeros((4, 6))
    expected[1:3, 2:4] = 1
    interpret(kernel, a, b)
    assert (wide(a) == 1).all()
    np.testing.assert_array_equal(wide(b), expected)


def test_a_zero_sized_tensor_is_copied():
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 8)) as b:
            T.copy(A[b * 8 : b * 8 + 8], B[b * 8 : b * 8 + 8])

    interpret(kernel, np.zeros(0, np.float32), np.zeros(0, np.float32))
