"""The pass widen_operands: narrow floats are kept as float32 from the copy on, and results stay."""

import itertools

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.backends.cpu.target import host_features
from tilecore.plugins import manager

from .cpu_kit import copies, whole_numbers
from .test_hoist_copies import product

WIDENED = "cpu -bfloat16=widened -features=avx2,f16c,fma"


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float8_e4m3", "float8_e5m2"])
@pytest.mark.parametrize(
    "sizes", [((64, 64, 64), (32, 32, 32)), ((33, 50, 40), (16, 32, 16)), ((7, 9, 3), (7, 9, 3))], ids=str
)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)], ids=str)
def test_products_are_right(kind, sizes, transposed):
    shape, tile = sizes
    m, n, k = shape
    func = product(*shape, *tile, (kind, "float32"), transposed)
    few_rows = m < 16 and not transposed[1]  # which read B in place
    assert copies(func, "widened", WIDENED) == (["a"] if few_rows else ["a", "b"])
    rng = np.random.default_rng(0)
    a = whole_numbers(rng, (k, m) if transposed[0] else (m, k), kind)
    b = whole_numbers(rng, (n, k) if transposed[1] else (k, n), kind)
    c = np.zeros((m, n), np.float32)
    tilecore.compile(func, target=WIDENED)(a, b, c)
    left, right = a.astype(np.float32), b.astype(np.float32)
    np.testing.assert_array_equal(c, (left.T if transposed[0] else left) @ (right.T if transposed[1] else right))


PAIRS = ["cpu -march=x86-64-v3", "cpu -march=skylake-avx512"]
runs = set(manager.resolve(PAIRS[1])[1].get("features").split(",")) <= set(host_features())
INTEGERS = [*itertools.product(("int8", "uint8"), repeat=2)]
SIZES = [((64, 64, 64), (32, 32, 32)), ((33, 70, 40), (16, 32, 16)), ((7, 64, 9), (7, 32, 10))]


@pytest.mark.skipif(not runs, reason="the processor lacks AVX-512")
@pytest.mark.parametrize("target", PAIRS)
@pytest.mark.parametrize("kinds", INTEGERS, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)], ids=str)
def test_products_of_integers_are_right(target, kinds, sizes, transposed):
    shape, tile = sizes
    m, n, k = shape
    rng = np.random.default_rng(1)
    limits = {"int8": (-128, 128), "uint8": (0, 256)}
    a = rng.integers(*limits[kinds[0]], (m, k)).astype(kinds[0])
    b = rng.integers(*limits[kinds[1]], (k, n)).astype(kinds[1])
    left, right = (np.ascontiguousarray(x.T if turned else x) for x, turned in zip((a, b), transposed, strict=True))
    c = np.zeros((m, n), np.int32)
    tilecore.compile(product_of(shape, tile, kinds, transposed), target=target)(left, right, c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


def product_of(shape, tile, kinds, transposed=(False, False)):
    (M, N, K), (bm, bn, bk) = shape, tile
    a_shape, b_shape = ((K, M) if transposed[0] else (M, K)), ((N, K) if transposed[1] else (K, N))
    a_tile, b_tile = ((bk, bm) if transposed[0] else (bm, bk)), ((bn, bk) if transposed[1] else (bk, bn))

    @T.prim_func
    def kernel(A: T.Tensor(a_shape, kinds[0]), B: T.Tensor(b_shape, kinds[1]), C: T.Tensor((M, N), "int32")):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm)) as (bx, by):
            a, b = T.alloc_shared(a_tile, kinds[0]), T.alloc_shared(b_tile, kinds[1])
            c = T.alloc_fragment((bm, bn), "int32")
            T.clear(c)
            for k in T.serial(T.ceildiv(K, bk)):
                if transposed[0]:
                    T.copy(A[k * bk, by * bm], a)
                else:
                    T.copy(A[by * bm, k * bk], a)
                if transposed[1]:
                    T.copy(B[bx * bn, k * bk], b)
                else:
                    T.copy(B[k * bk, bx * bn], b)
                T.gemm(a, b, c, transpose_A=transposed[0], transpose_B=transposed[1])
            T.copy(c, C[by * bm, bx * bn])

    return kernel


@pytest.mark.skipif(not runs, reason="the processor lacks AVX-512")
@pytest.mark.parametrize("target", PAIRS)
def test_products_of_int16_wrap_as_int32_does(target):
    a, b = np.full((16, 32), -32768, np.int16), np.full((32, 32), -32768, np.int16)
    b[1, :] = 3
    c = np.zeros((16, 32), np.int32)
    tilecore.compile(product_of((16, 32, 32), (16, 32, 32), ("int16", "int16")), target=target)(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize(
    ("source", "kind"), [("float32", "float16"), ("float32", "bfloat16"), ("float16", "float8_e4m3")]
)
def test_a_copy_that_rounds_still_rounds(source, kind):
    @T.prim_func
    def kernel(A: T.Tensor((32, 32), source), B: T.Tensor((32, 32), source), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1):
            a, b = T.alloc_shared((32, 32), kind), T.alloc_shared((32, 32), kind)
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    a = np.random.default_rng(2).standard_normal((32, 32)).astype(source)
    c = np.zeros((32, 32), np.float32)
    tilecore.compile(kernel, target=WIDENED)(a, np.eye(32, dtype=source), c)
    np.testing.assert_array_equal(c, a.astype(T.dtype(kind).as_numpy()).astype(np.float32))


@pytest.mark.parametrize("kind", ["int8", "uint8", "bfloat16"])
def test_vectors_of_128_bits_have_no_dot_products(kind):
    total = "float32" if kind == "bfloat16" else "int32"
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 5, (64, 64)).astype(T.dtype(kind).as_numpy()) for _ in range(2))
    c = np.zeros((64, 64), total)
    tilecore.compile(product(64, 64, 64, 32, 32, 32, (kind, total)), target="cpu -march=generic")(a, b, c)
    np.testing.assert_array_equal(c, a.astype(total) @ b.astype(total))


def test_types_that_are_multiplied_as_they_are():
    assert copies(product(64, 64, 64, 32, 32, 32), "widened", WIDENED) == []
    integers = product(64, 64, 64, 32, 32, 32, ("int8", "int32"))
    assert copies(integers, "widened", "cpu -march=cascadelake") == [], "by groups of four"
    assert copies(integers, "widened", PAIRS[0]) == ["a", "b"]
    assert copies(integers, "widened", "cpu -march=generic") == []
    dots = "cpu -march=znver4"
    assert copies(product(64, 64, 64, 32, 32, 32, ("bfloat16", "float32")), "widened", dots) == []
    assert (
        len(copies(product(64, 64, 64, 32, 32, 32, ("bfloat16", "float32")), "widened", "cpu -march=cooperlake")) == 2
    )
