"""Reductions and scans: all kinds, dims, element types, with and without what was there before, odd extents, NaN."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import FLOATS, INTEGERS, check, close, element, same, sample, zeros

SHAPES = [(1,), (37,), (5, 1), (1, 9), (7, 33), (64, 16), (3, 5, 7), (2, 1, 19), (4, 3, 32)]


def kinds_of(dtype):
    if dtype == "bool":
        return ["max", "min", "bitand", "bitor", "bitxor"]
    bits = [] if dtype in FLOATS else ["bitand", "bitor", "bitxor"]
    return ["sum", "max", "min", "abssum", "absmax", *bits]


def without(shape, axis):
    left = shape[:axis] + shape[axis + 1 :]
    return left or (1,)


def reduced(kind, src, dst, dim, clear):
    getattr(T, f"reduce_{kind}")(src, dst, dim=dim, clear=clear)


def every_kind(shape, axis, dtype, kinds, out_dtype=None, places=("shared", "fragment")):
    out_dtype = out_dtype or dtype
    left = without(shape, axis)
    memory = {"shared": T.alloc_shared, "fragment": T.alloc_fragment}

    @T.prim_func
    def kernel(X: T.Tensor(shape, dtype), Z: T.Tensor(left, out_dtype), Y: T.Tensor((len(kinds), 2, *left), out_dtype)):
        with T.Kernel(1):
            src = memory[places[0]](shape, dtype)
            T.copy(X, src)
            for number, kind in enumerate(kinds):
                out = memory[places[1]](left, out_dtype)
                reduced(kind, src, out, axis if number % 2 else axis - len(shape), True)
                T.copy(out, Y[number, 0, ...])
                T.copy(Z, out)
                reduced(kind, src, out, axis, False)
                T.copy(out, Y[number, 1, ...])

    return kernel


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_and_dims(target, shape):
    for axis in range(len(shape)):
        kernel = every_kind(shape, axis, "float32", kinds_of("float32"))
        x, z = sample("float32", shape), sample("float32", without(shape, axis), 1)
        _, _, y = check(kernel, target, x, z, zeros("float32", (5, 2, *z.shape)), compare=close)
        np.testing.assert_allclose(y[0, 0].reshape(z.shape), x.sum(axis).reshape(z.shape), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint64", "bool"])
@pytest.mark.parametrize("places", [("fragment", "shared"), ("fragment", "fragment"), ("shared", "shared")], ids=str)
def test_memories(target, dtype, places):
    """All axes of float32; of the others a row and the middle of three axes."""
    axes = [((19, 35), 0), ((1, 9), 0), ((1, 9), 1), ((3, 5, 7), 0), ((3, 5, 7), 2)] if dtype == "float32" else []
    for shape, axis in [((19, 35), 1), ((3, 5, 7), 1), *axes]:
        kinds = kinds_of(dtype)
        x, z = sample(dtype, shape), sample(dtype, without(shape, axis), 1)
        kernel = every_kind(shape, axis, dtype, kinds, places=places)
        check(kernel, target, x, z, zeros(dtype, (len(kinds), 2, *z.shape)), compare=close)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
def test_element_types(target, dtype):
    """Rows and columns; sums of narrow floats are kept in float32 and rounded once, integers wrap."""
    for axis in (0, 1):
        shape, kinds = (19, 35), kinds_of(dtype)
        x, z = sample(dtype, shape), sample(dtype, without(shape, axis), 1)
        kernel = every_kind(shape, axis, dtype, kinds)
        check(
            kernel,
            target,
            x,
            z,
            zeros(dtype, (len(kinds), 2, *z.shape)),
            compare=lambda a, b, label: close(a, b, 2, label),
        )


@pytest.mark.parametrize(
    ("source", "result"),
    [("float16", "float32"), ("float32", "float16"), ("int8", "int32"), ("int32", "float32"), ("bfloat16", "float64")],
)
@pytest.mark.parametrize("place", ["shared", "fragment"])
def test_the_output_decides_the_type_that_is_summed_in(target, source, result, place):
    shape, kinds = (6, 70), ["sum", "max", "absmax"]
    x, z = sample(source, shape), sample(result, 6, 1)
    kernel = every_kind(shape, 1, source, kinds, result, (place, "fragment"))
    check(kernel, target, x, z, zeros(result, (3, 2, 6)), compare=lambda a, b, label: close(a, b, 4, label))


@pytest.mark.parametrize("place", ["shared", "fragment"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_keep_what_a_narrow_float_would_lose(target, dtype, place):
    """2048 + 1 is 2048 in a narrow float: where totals are kept in one, every second 1 is lost."""
    source = T.alloc_shared if place == "shared" else T.alloc_fragment

    @T.prim_func
    def kernel(X: T.Tensor((4, 256), dtype), Y: T.Tensor((4,), dtype)):
        with T.Kernel(1, threads=64):
            src, out = source((4, 256), dtype), T.alloc_fragment((4,), dtype)
            T.copy(X, src)
            T.reduce_sum(src, out, dim=1)
            T.copy(out, Y)

    x = np.tile(np.array([2048, 1, -2048, 1]), (4, 64)).astype(element(dtype))
    _, y = check(kernel, target, x, zeros(dtype, 4))
    assert y.tolist() == [128] * 4


@pytest.mark.parametrize("place", ["shared", "fragment"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int64", "uint8"])
def test_extremes_of_numbers_of_one_sign(target, dtype, place):
    """What a maximum or minimum starts with is no number of the row: all are below 0, or all are above."""
    source = T.alloc_shared if place == "shared" else T.alloc_fragment

    @T.prim_func
    def kernel(X: T.Tensor((2, 8, 40), dtype), Y: T.Tensor((2, 2, 8), dtype), Z: T.Tensor((2, 2, 40), dtype)):
        with T.Kernel(2, threads=64) as b:
            src = source((8, 40), dtype)
            rows, columns = T.alloc_fragment((8,), dtype), T.alloc_fragment((40,), dtype)
            T.copy(X[b, 0, 0], src)
            for number, kind in enumerate(("max", "min")):
                T.reduce(src, rows, kind, dim=1)
                T.reduce(src, columns, kind, dim=0)
                T.copy(rows, Y[b, number, :])
                T.copy(columns, Z[b, number, :])

    x = np.abs(sample(dtype, (2, 8, 40)).astype(np.float64)) + 1
    x = np.stack([x[0], x[1] if dtype == "uint8" else -x[1]]).astype(dtype)
    _, y, z = check(kernel, target, x, zeros(dtype, (2, 2, 8)), zeros(dtype, (2, 2, 40)))
    same(y, np.stack([x.max(2), x.min(2)], 1))
    same(z, np.stack([x.max(1), x.min(1)], 1))


def test_sums_of_many_half_precision_numbers(target):
    """4096 ones are 4096, not where half precision stops counting."""

    @T.prim_func
    def kernel(X: T.Tensor((2, 4096), "float16"), Y: T.Tensor((2,), "float16"), Z: T.Tensor((4096,), "float16")):
        with T.Kernel(1):
            src = T.alloc_shared((2, 4096), "float16")
            out, run = T.alloc_fragment((2,), "float16"), T.alloc_fragment((4096,), "float16")
            T.copy(X, src)
            T.reduce_sum(src, out, dim=1)
            T.copy(out, Y)
            T.copy(X[0, :], run)
            T.cumsum(run)
            T.copy(run, Z)

    _, y, z = check(kernel, target, np.ones((2, 4096), np.float16), zeros("float16", 2), zeros("float16", 4096))
    assert y.tolist() == [4096, 4096]
    assert z[-1] == 4096


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("place", ["shared", "fragment"])
def test_nan_is_passed_over_or_kept(target, dtype, place):
    """Every NaN position in turn; rows of NaN alone; as rows, as columns and as one row."""
    n = 35
    source = T.alloc_shared if place == "shared" else T.alloc_fragment

    @T.prim_func
    def kernel(X: T.Tensor((n, n), dtype), Y: T.Tensor((2, 3, 2, n), dtype)):
        with T.Kernel(1):
            src = source((n, n), dtype)
            out = T.alloc_fragment((n,), dtype)
            T.copy(X, src)
            for keep in (0, 1):
                for number, kind in enumerate(("max", "min", "absmax")):
                    for dim in (0, 1):
                        T.reduce(src, out, kind, dim=dim, nan_propagate=bool(keep))
                        T.copy(out, Y[keep, number, dim, :])

    x = sample(dtype, (n, n))
    x[np.arange(n - 2), np.arange(n - 2)] = np.nan
    x[n - 1] = np.nan
    x[n - 2] = np.inf
    _, y = check(kernel, target, x, zeros(dtype, (2, 3, 2, n)))
    assert np.isnan(y[1, 0, 1, : n - 2].astype(np.float32)).all()
    assert y[0, 0, 1, n - 1] == -np.inf
    assert y[0, 1, 1, n - 1] == np.inf


def test_nan_that_was_there_before(target):
    @T.prim_func
    def kernel(X: T.Tensor((4, 20), "float32"), Z: T.Tensor((4,), "float32"), Y: T.Tensor((6, 4), "float32")):
        with T.Kernel(1):
            src, out = T.alloc_shared((4, 20), "float32"), T.alloc_fragment((4,), "float32")
            T.copy(X, src)
            for number, kind in enumerate(("max", "min", "absmax")):
                for keep in (0, 1):
                    T.copy(Z, out)
                    T.reduce(src, out, kind, dim=1, clear=False, nan_propagate=bool(keep))
                    T.copy(out, Y[number * 2 + keep, :])

    x = sample("float32", (4, 20))
    x[3] = np.nan
    z = np.array([np.nan, 1, -9, -9], np.float32)
    check(kernel, target, x, z, zeros("float32", (6, 4)))


@pytest.mark.parametrize("place", ["shared", "fragment"])
def test_infinities(target, place):
    source = T.alloc_shared if place == "shared" else T.alloc_fragment

    @T.prim_func
    def kernel(X: T.Tensor((3, 20), "float32"), Y: T.Tensor((4, 3), "float32")):
        with T.Kernel(1):
            src = source((3, 20), "float32")
            out = T.alloc_fragment((3,), "float32")
            T.copy(X, src)
            for number, kind in enumerate(("sum", "max", "min", "abssum")):
                T.reduce(src, out, kind, dim=1)
                T.copy(out, Y[number, :])

    x = np.zeros((3, 20), np.float32)
    x[0, 3], x[1, 17], x[2, 0], x[2, 19] = np.inf, -np.inf, np.inf, -np.inf
    check(kernel, target, x, zeros("float32", (4, 3)))


def test_slices_and_kept_axes(target):
    """A part of a buffer reduced into a part of another; the axis may stay with extent 1."""

    @T.prim_func
    def kernel(X: T.Tensor((3, 8, 10), "float32"), Y: T.Tensor((3, 8), "float32"), Z: T.Tensor((8, 1), "float32")):
        with T.Kernel(1):
            src = T.alloc_shared((3, 8, 10), "float32")
            out = T.alloc_fragment((3, 8), "float32")
            column = T.alloc_fragment((8, 1), "float32")
            T.copy(X, src)
            T.clear(out)
            T.reduce_sum(src[0:2, 1:7, 2:9], out[0:2, 1:7], dim=2)
            T.copy(out, Y)
            T.reduce_max(src[1:2, :, 3:4], column, dim=0)
            T.copy(column, Z)

    x = sample("float32", (3, 8, 10))
    _, y, z = check(kernel, target, x, zeros("float32", (3, 8)), zeros("float32", (8, 1)), compare=close)
    np.testing.assert_allclose(y[:2, 1:7], x[:2, 1:7, 2:9].sum(2), rtol=1e-5, atol=1e-6)
    same(z[:, 0], x[1, :, 3])


def test_rows_of_a_length_known_at_the_call(target):
    m, n = T.dynamic("m n")

    @T.prim_func
    def kernel(X: T.Tensor((m, n), "float32"), Y: T.Tensor((m,), "float32")):
        with T.Kernel(m) as b:
            total = T.alloc_fragment((1,), "float32")
            tile = T.alloc_shared((1, 32), "float32")
            T.clear(total)
            for k in T.serial(T.ceildiv(n, 32)):
                T.copy(X[b, k * 32], tile)
                T.reduce_sum(tile, total, dim=1, clear=False)
            Y[b] = total[0]

    for shape in ((3, 100), (1, 1), (2, 64)):
        x = sample("float32", shape)
        _, y = check(kernel, target, x, zeros("float32", shape[0]), compare=close)
        np.testing.assert_allclose(y, x.sum(1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "int32", "uint64"])
def test_scans(target, dtype):
    """Both kinds, each dim, from either end, in place and into another buffer and another type."""
    shape = (9, 21)
    wide = "float64" if dtype in FLOATS else "int64"

    @T.prim_func
    def kernel(X: T.Tensor(shape, dtype), Y: T.Tensor((2, 2, 2, *shape), dtype), W: T.Tensor(shape, wide)):
        with T.Kernel(1):
            src, out, big = T.alloc_shared(shape, dtype), T.alloc_shared(shape, dtype), T.alloc_fragment(shape, wide)
            for number, scan in enumerate((T.cumsum, T.cummax)):
                for dim in (0, 1):
                    T.copy(X, src)
                    scan(src, out, dim=dim)
                    T.copy(out, Y[number, dim, 0, :, :])
                    scan(src, dim=dim - 2, reverse=True)
                    T.copy(src, Y[number, dim, 1, :, :])
            T.copy(X, src)
            T.cumsum(src, big, dim=1)
            T.copy(big, W)

    x = sample(dtype, shape)
    if dtype == "int8":
        x = (x // 10).astype(np.int8)
    args = (x, zeros(dtype, (2, 2, 2, *shape)), zeros(wide, shape))
    _, y, _ = check(kernel, target, *args, compare=lambda a, b, label: close(a, b, 4, label))
    if dtype == "int32":
        same(y[0, 1, 0], np.cumsum(x, 1, dtype=np.int32))
        same(y[1, 0, 1], np.maximum.accumulate(x[::-1], 0)[::-1])


def test_scans_of_one_and_three_axes(target):
    @T.prim_func
    def kernel(
        X: T.Tensor((41,), "int32"),
        C: T.Tensor((3, 4, 5), "int32"),
        Y: T.Tensor((41,), "int32"),
        Z: T.Tensor((3, 3, 4, 5), "int32"),
    ):
        with T.Kernel(1):
            row, cube = T.alloc_shared((41,), "int32"), T.alloc_shared((3, 4, 5), "int32")
            T.copy(X, row)
            T.cumsum(row)
            T.copy(row, Y)
            for dim in (0, 1, 2):
                T.copy(C, cube)
                T.cumsum(cube, dim=dim, reverse=dim == 1)
                T.copy(cube, Z[dim, ...])

    x, c = sample("int32", 41), sample("int32", (3, 4, 5))
    _, _, y, z = check(kernel, target, x, c, zeros("int32", 41), zeros("int32", (3, 3, 4, 5)))
    same(y, np.cumsum(x, dtype=np.int32))
    same(z[1], np.cumsum(c[:, ::-1], 1, dtype=np.int32)[:, ::-1])


def test_reducers(target):
    """Iterations of T.Parallel that accumulate together."""
    m, n = 12, 40

    @T.prim_func
    def kernel(
        X: T.Tensor((m, n), "float32"),
        S: T.Tensor((m,), "float32"),
        M: T.Tensor((n,), "float32"),
        W: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(1):
            src = T.alloc_shared((m, n), "float32")
            total = T.alloc_reducer((m,), "float32", op="sum", replication="all")
            largest = T.alloc_reducer((n,), "float32", op="max")
            least = T.alloc_reducer((n,), "float32", op="min")
            T.copy(X, src)
            T.clear(total)
            T.fill(largest, -T.infinity("float32"))
            T.fill(least, T.infinity("float32"))
            for i, j in T.Parallel(m, n):
                total[i] += src[i, j]
                largest[j] = T.max(largest[j], src[i, j])
                least[j] = T.min(least[j], src[i, j])
            T.finalize_reducer(total)
            T.finalize_reducer(largest)
            T.finalize_reducer(least)
            T.copy(total, S)
            T.copy(largest, M)
            T.copy(least, W)

    x = sample("float32", (m, n))
    _, s, largest, least = check(kernel, target, x, *(zeros("float32", k) for k in (m, n, n)), compare=close)
    np.testing.assert_allclose(s, x.sum(1), rtol=1e-5, atol=1e-5)
    same(largest, x.max(0))
    same(least, x.min(0))
