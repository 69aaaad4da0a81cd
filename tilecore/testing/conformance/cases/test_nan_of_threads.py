"""Maxima and minima across threads ignore NaN, and every thread gets the same result, wherever the NaN is."""

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, element, needs_type, same, wide, zeros


def rows_with_nan(dtype: str, count: int) -> np.ndarray:
    """Row i has a NaN in place i; the last row but one has numbers in place 7 alone, the last one nowhere."""
    x = (np.arange((count + 2) * count).reshape(count + 2, count) * 7 % 61 / 4 - 7).astype(element(dtype))
    x[np.arange(count), np.arange(count)] = np.nan
    x[count:] = np.nan
    x[count, 7] = -3
    return x


def expected_of(x: np.ndarray, group: int) -> np.ndarray:
    """The maxima and the minima of each group of neighbouring elements, in the place of each element."""
    numbers, results = wide(x), np.empty((2, *x.shape))
    for start in range(0, x.shape[1], group):
        part = numbers[:, start : start + group]
        results[0, :, start : start + group] = np.fmax.reduce(part, 1, initial=-np.inf, keepdims=True)
        results[1, :, start : start + group] = np.fmin.reduce(part, 1, initial=np.inf, keepdims=True)
    return results


@pytest.mark.parametrize(
    ("dtype", "threads"),
    [("float32", 96), ("float64", 64), ("float16", 80), ("bfloat16", 80), ("float8_e5m2", 32), ("float8_e4m3fn", 32)],
)
def test_reductions_of_a_warp(target, dtype, threads):
    """80 threads leave the last warp half full."""
    rows = threads + 2

    @T.prim_func
    def kernel(X: T.Tensor((rows, threads), dtype), Y: T.Tensor((2, rows, threads), dtype)):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            for row in T.serial(rows):
                Y[0, row, tx] = T.warp_reduce_max(X[row, tx])
                Y[1, row, tx] = T.warp_reduce_min(X[row, tx])

    needs_type(target, dtype)
    x = rows_with_nan(dtype, threads)
    y = check(kernel, target, x, zeros(dtype, (2, rows, threads)))[1]
    expected = expected_of(x, 32)
    if dtype.startswith("float8"):  # these saturate: an infinity becomes the largest number
        expected = np.clip(expected, float(T.min_value(dtype)), float(T.max_value(dtype)))
    same(y, expected.astype(element(dtype)))


def test_reductions_of_the_block(target):
    """By TVM's form of a reduction across threads, of all threads and of those along one axis."""
    threads = 96
    rows = threads + 2

    @T.prim_func
    def kernel(X: T.Tensor((rows, threads), "float32"), Y: T.Tensor((2, rows, threads), "float32")):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            largest, smallest = T.alloc_local((1,), "float32"), T.alloc_local((1,), "float32")
            for row in T.serial(rows):
                with T.attr(T.comm_reducer(lambda x, y: T.max(x, y), [T.min_value("float32")]), "reduce_scope", 0):
                    T.tvm_thread_allreduce(T.uint32(1), X[row, tx], True, largest[0], tx)
                with T.attr(T.comm_reducer(lambda x, y: T.min(x, y), [T.max_value("float32")]), "reduce_scope", 0):
                    T.tvm_thread_allreduce(T.uint32(1), X[row, tx], True, smallest[0], tx)
                Y[0, row, tx] = largest[0]
                Y[1, row, tx] = smallest[0]

    x = rows_with_nan("float32", threads)[:-1]
    x = np.concatenate([x, np.full((1, threads), 2.5, np.float32)])
    y = check(kernel, target, x, zeros("float32", (2, rows, threads)))[1]
    same(y, expected_of(x, threads).astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_reducers(target, dtype):
    """Iterations of T.Parallel bring NaN to a reducer, which starts from its identity or from a number."""
    threads = 64
    rows = threads + 2

    @T.prim_func
    def kernel(X: T.Tensor((rows, threads), dtype), Y: T.Tensor((2, rows, 2), dtype)):
        with T.Kernel(rows, threads=threads) as row:
            largest, smallest = T.alloc_reducer((2,), dtype, op="max"), T.alloc_reducer((2,), dtype, op="min")
            T.reducer_init(largest)
            T.reducer_init(smallest)
            for i in T.Parallel(threads):
                largest[i % 2] = T.max(largest[i % 2], X[row, i])
                smallest[i % 2] = T.min(smallest[i % 2], X[row, i])
            T.finalize_reducer(largest)
            T.finalize_reducer(smallest)
            T.copy(largest, Y[0, row, :])
            T.copy(smallest, Y[1, row, :])

    needs_type(target, dtype)
    x = rows_with_nan(dtype, threads)
    y = check(kernel, target, x, zeros(dtype, (2, rows, 2)))[1]
    pairs = wide(x).reshape(rows, -1, 2)
    same(y[0], np.fmax.reduce(pairs, 1, initial=-np.inf).astype(element(dtype)))
    same(y[1], np.fmin.reduce(pairs, 1, initial=np.inf).astype(element(dtype)))
