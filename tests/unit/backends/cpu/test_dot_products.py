"""Products by dot-product instructions whose operands other gemms want in other layouts."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T

KINDS = [("int8", "int32"), ("uint8", "int32"), ("bfloat16", "float32")]


def whole_numbers(rng, shape, kind):
    return rng.integers(0 if kind == "uint8" else -4, 5, shape).astype(T.dtype(kind).as_numpy())


@pytest.mark.parametrize(("kind", "total"), KINDS)
@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("target", ["cpu", "cpu -march=generic"])
def test_an_operand_that_is_a_of_one_gemm_and_b_of_another(kind, total, other, target):
    @T.prim_func
    def kernel(
        A: T.Tensor((64, 64), kind),
        B: T.Tensor((64, 64), kind),
        C: T.Tensor((64, 64), total),
        D: T.Tensor((64, 64), total),
    ):
        with T.Kernel(1):
            a, b, x = (T.alloc_shared((64, 64), kind) for _ in range(3))
            c, d = T.alloc_fragment((64, 64), total), T.alloc_fragment((64, 64), total)
            T.copy(A, a)
            T.copy(B, b)
            T.copy(B, x)
            T.gemm(a, b, c, clear_accum=True)
            T.gemm(x if other else b, a, d, clear_accum=True)
            T.copy(c, C)
            T.copy(d, D)

    rng = np.random.default_rng(0)
    a, b = whole_numbers(rng, (64, 64), kind), whole_numbers(rng, (64, 64), kind)
    c, d = np.zeros((64, 64), total), np.zeros((64, 64), total)
    tilecore.compile(kernel, target=target)(a, b, c, d)
    np.testing.assert_array_equal(c, a.astype(total) @ b.astype(total))
    np.testing.assert_array_equal(d, b.astype(total) @ a.astype(total))


@pytest.mark.parametrize(("kind", "total"), KINDS)
@pytest.mark.parametrize("transposed", [False, True])
def test_a_product_that_is_b_of_the_next_one(kind, total, transposed):
    @T.prim_func
    def kernel(
        A: T.Tensor((32, 64), kind),
        B: T.Tensor((64, 32), kind),
        X: T.Tensor((32, 32), total),
        C: T.Tensor((32, 32), total),
    ):
        with T.Kernel(1):
            a, b = T.alloc_shared((32, 64), kind), T.alloc_shared((64, 32), kind)
            x, s, c = (T.alloc_fragment((32, 32), total) for _ in range(3))
            T.copy(A, a)
            T.copy(B, b)
            T.copy(X, x)
            T.gemm(a, b, s, clear_accum=True)
            T.gemm(x, s, c, clear_accum=True, transpose_B=transposed)
            T.copy(c, C)

    rng = np.random.default_rng(1)
    a, b, x = (
        whole_numbers(rng, (32, 64), kind),
        whole_numbers(rng, (64, 32), kind),
        whole_numbers(rng, (32, 32), total),
    )
    c = np.zeros((32, 32), total)
    tilecore.compile(kernel, target="cpu")(a, b, x, c)
    product = a.astype(total) @ b.astype(total)
    np.testing.assert_array_equal(c, x @ (product.T if transposed else product))


@pytest.mark.parametrize(("kind", "total"), KINDS)
@pytest.mark.parametrize("vectors", [2, 4])
@pytest.mark.parametrize(("rows", "columns"), [(20, 64), (13, 96), (9, 192)])
def test_panels_of_any_width_are_multiplied(kind, total, vectors, rows, columns):
    """Rows that are no multiple of a tile's, columns that are and are not one of four vectors."""

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, 32), kind),
        B: T.Tensor((32, columns), kind),
        C: T.Tensor((rows, columns), total),
    ):
        with T.Kernel(1):
            a, b = T.alloc_shared((rows, 32), kind), T.alloc_shared((32, columns), kind)
            c = T.alloc_fragment((rows, columns), total)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)

    rng = np.random.default_rng(2)
    a, b = whole_numbers(rng, (rows, 32), kind), whole_numbers(rng, (32, columns), kind)
    c = np.zeros((rows, columns), total)
    tilecore.compile(kernel, target=f"cpu -tile_vectors={vectors}")(a, b, c)
    np.testing.assert_array_equal(c, a.astype(total) @ b.astype(total))
