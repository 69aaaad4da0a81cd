"""Reductions as they may be written: products, several axes at once, and results that are values."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, close, same, sample, zeros


def factors(dtype, shape):
    """Numbers whose products stay in range."""
    if np.dtype(dtype).kind == "f":
        return np.random.default_rng(0).uniform(0.7, 1.4, shape).astype(dtype) * np.float32([[1], [-1]])[0]
    return np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)


def product_kernel(shape, axis, left, dtype):
    @T.prim_func
    def kernel(X: T.Tensor(shape, dtype), Y: T.Tensor(left, dtype), Z: T.Tensor(left, dtype)):
        with T.Kernel(1, threads=64):
            x = T.alloc_shared(shape, dtype)
            f, y = T.alloc_fragment(shape, dtype), T.alloc_fragment(left, dtype)
            T.copy(X, x)
            T.copy(x, f)
            T.reduce(f, y, "prod", dim=axis)
            T.copy(y, Y)
            T.copy(Z, y)
            T.reduce_prod(x, y, dim=axis, clear=False)
            T.copy(y, Z)

    return kernel


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint16"])
@pytest.mark.parametrize("shape", [(16,), (5, 37), (3, 5, 7)], ids=str)
def test_products(target, dtype, shape):
    for axis in range(len(shape)):
        left = shape[:axis] + shape[axis + 1 :] or (1,)
        kernel = product_kernel(shape, axis, left, dtype)
        x, before = factors(dtype, shape), factors(dtype, left)
        got = check(kernel, target, x, zeros(dtype, left), before, compare=close)
        expected = x.prod(axis, dtype=dtype).reshape(left)
        np.testing.assert_allclose(got[1], expected, rtol=1e-5)
        np.testing.assert_allclose(got[2], expected * before, rtol=1e-5)


@pytest.mark.parametrize("dims", [(0, 1), (1, 2), (0, 2), (-1, 0), (0, 1, 2), [1]], ids=str)
def test_several_axes(target, dims):
    """One after the other, and what the output held is joined once."""
    shape = (4, 6, 32)
    left = tuple(size for axis, size in enumerate(shape) if axis not in [d % 3 for d in dims]) or (1,)

    @T.prim_func
    def kernel(X: T.Tensor(shape, "float32"), S: T.Tensor(left, "float32"), M: T.Tensor(left, "float32")):
        with T.Kernel(1, threads=64):
            x, s, m = T.alloc_shared(shape), T.alloc_fragment(left), T.alloc_fragment(left)
            T.copy(X, x)
            T.copy(S, s)
            T.reduce_sum(x, s, dim=dims, clear=False)
            T.reduce_absmax(x, m, dim=dims)
            T.copy(s, S)
            T.copy(m, M)

    x, s = sample("float32", shape), sample("float32", left, 1)
    got = check(kernel, target, x, s, zeros("float32", left), compare=close)
    axes = tuple(dims)
    np.testing.assert_allclose(got[1], x.sum(axes, dtype=np.float64).reshape(left) + s, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(got[2], np.abs(x).max(axes).reshape(left))


def test_several_axes_of_narrow_elements(target):
    """The sums in between are kept in float32."""

    @T.prim_func
    def kernel(X: T.Tensor((16, 64), "float16"), Y: T.Tensor((1,), "float16")):
        with T.Kernel(1, threads=64):
            x, y = T.alloc_fragment((16, 64), "float16"), T.alloc_fragment((1,), "float16")
            T.copy(X, x)
            T.reduce_sum(x, y, dim=(0, 1))
            T.copy(y, Y)

    x = np.full((16, 64), 1.001, np.float16)
    got = check(kernel, target, x, zeros("float16", (1,)))
    assert got[1][0] == np.float16(x.astype(np.float64).sum())


@pytest.mark.parametrize("kind", ["sum", "max", "min", "abssum", "absmax", "prod"])
def test_results_as_values(target, kind):
    """``r = T.reduce_max(tile, dim=...)`` is a fragment: it is computed where it stands, and may be used in place."""

    @T.prim_func
    def kernel(X: T.Tensor((8, 32), "float32"), R: T.Tensor((8,), "float32"), A: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((8, 32), "float32")
            T.copy(X, x)
            results = [getattr(T, f"reduce_{kind}")(x, dim=1)]
            T.copy(T.reduce(x, None, kind, dim=(0, 1)), A)
            T.clear(x)
            T.copy(results[0], R)

    x = factors("float32", (8, 32))
    got = check(kernel, target, x, zeros("float32", (8,)), zeros("float32", (1,)), compare=close)
    absolute = np.abs(x) if kind.startswith("abs") else x
    for axis, result in ((1, got[1]), (None, got[2][0])):
        expected = getattr(np, kind.removeprefix("abs"))(absolute.astype(np.float64), axis)
        np.testing.assert_allclose(result, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "kind", "result"),
    [("int8", "sum", "int32"), ("bool", "sum", "int32"), ("uint8", "prod", "uint32"), ("int8", "max", "int8")],
)
def test_types_of_results(target, dtype, kind, result):
    @T.prim_func
    def kernel(X: T.Tensor((4, 64), dtype), Y: T.Tensor((4,), result)):
        with T.Kernel(1, threads=32):
            x = T.alloc_shared((4, 64), dtype)
            T.copy(X, x)
            y = getattr(T, f"reduce_{kind}")(x, dim=1)
            assert y.dtype == result
            T.copy(y, Y)

    x = np.ones((4, 64), np.bool_) if dtype == "bool" else sample(dtype, (4, 64))
    x = np.ones_like(x) if kind == "prod" else x
    got = check(kernel, target, x, zeros(result, (4,)))
    same(got[1], getattr(np, kind)(x, 1, **({} if kind == "max" else {"dtype": result})), "numpy")
