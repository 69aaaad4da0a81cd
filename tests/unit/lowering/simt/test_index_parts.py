"""Fragments whose indices are parts of loop variables stay in registers, with the results of the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import lowered, same_results
from .test_infer_layouts import in_shared_memory

SHAPE = (32, 64)


def using(body, threads=128, product=False):
    """body: a macro that takes a fragment of SHAPE, which holds X or a product with it, and Y."""

    @T.prim_func
    def kernel(X: T.Tensor(SHAPE, "float32"), Y: T.Tensor(SHAPE, "float32")):
        with T.Kernel(1, threads=threads):
            f = T.alloc_fragment(SHAPE, "float32")
            if product:
                x = T.alloc_shared(SHAPE, "float32")
                one = T.alloc_shared((64, 64), "float32")
                T.copy(X, x)
                for i, j in T.Parallel(64, 64):
                    one[i, j] = T.if_then_else(i == j, 1.0, 0.0)
                T.gemm(x, one, f, clear_accum=True)
            else:
                T.copy(X, f)
            body(f, Y)

    return kernel


@T.macro
def in_halves(f, Y):
    for s in range(2):
        for i, j in T.Parallel(16, 64):
            Y[i + s * 16, j] = f[i + s * 16, j]


@T.macro
def in_halves_under_a_condition(f, Y):
    for s in range(2):
        for i, j in T.Parallel(32, 64):
            if i < 16:
                Y[i + s * 16, j] = f[i + s * 16, j]


@T.macro
def in_halves_of_a_serial_loop(f, Y):
    for s in T.serial(2):
        for i, j in T.Parallel(16, 64):
            Y[i + s * 16, j] = f[i + s * 16, j]


@T.macro
def split_in_three(f, Y):
    for a, b, j in T.Parallel(4, 8, 64):
        Y[a * 8 + b, j] = f[a * 8 + b, j]


@T.macro
def joined(f, Y):
    for n in T.Parallel(2048):
        Y[n // 64, n % 64] = f[n // 64, n % 64]


@T.macro
def changed_in_part(f, Y):
    for i, j in T.Parallel(16, 64):
        f[i + 16, j] = f[i + 16, j] * 2
    for i, j in T.Parallel(8, 64):
        f[i, j] += 1
    T.copy(f, Y)


@T.macro
def copied_in_slices(f, Y):
    T.copy(f[:16, :], Y[:16, :])
    T.copy(f[16:, :], Y[16:, :])


@T.macro
def of_two_neighbours(f, Y):
    for i, j in T.Parallel(32, 32):
        Y[i, 2 * j] = f[i, 2 * j] - f[i, 2 * j + 1]
        Y[i, 2 * j + 1] = f[i, 2 * j] + f[i, 2 * j + 1]


def doubled_in_part(x):
    return np.concatenate([x[:8] + 1, x[8:16], x[16:] * 2])


FORMS = {
    in_halves: lambda x: x,
    in_halves_under_a_condition: lambda x: x,
    in_halves_of_a_serial_loop: lambda x: x,
    split_in_three: lambda x: x,
    joined: lambda x: x,
    changed_in_part: doubled_in_part,
    copied_in_slices: lambda x: x,
    of_two_neighbours: lambda x: np.stack([x[:, ::2] - x[:, 1::2], x[:, ::2] + x[:, 1::2]], 2).reshape(SHAPE),
}


@pytest.mark.parametrize("product", [False, True], ids=["copied", "of a product"])
@pytest.mark.parametrize("body", FORMS, ids=lambda body: body.__name__)
def test_the_fragment_stays_in_registers(body, product):
    kernel = using(body, product=product)
    assert not in_shared_memory(kernel)
    x = np.random.default_rng(0).integers(-9, 9, SHAPE).astype(np.float32)
    np.testing.assert_array_equal(same_results(kernel, x, np.zeros_like(x))[1], FORMS[body](x))


def test_the_variable_of_a_serial_loop_selects_registers_and_the_loop_is_unrolled():
    @T.prim_func
    def kernel(X: T.Tensor((8, 128), "float32"), Y: T.Tensor((128,), "float32"), Z: T.Tensor((8, 128), "float32")):
        with T.Kernel(1, threads=128):
            f, total = T.alloc_fragment((8, 128), "float32"), T.alloc_fragment((128,), "float32")
            T.copy(X, f)
            T.clear(total)
            for k in T.serial(8):
                for j in T.Parallel(128):
                    total[j] += f[k, j]
            for j in T.Parallel(128):
                for k in T.serial(8):
                    Z[k, j] = f[k, j] * total[j]
            T.copy(total, Y)

    assert not in_shared_memory(kernel)
    x = np.random.default_rng(0).integers(-9, 9, (8, 128)).astype(np.float32)
    _, y, z = same_results(kernel, x, np.zeros(128, np.float32), np.zeros_like(x))
    np.testing.assert_array_equal(y, x.sum(0))
    np.testing.assert_array_equal(z, x * x.sum(0))
    assert str(lowered(kernel, "bind_threads")[0]).count("T.unroll(8, annotations") == 2


@pytest.mark.parametrize(("size", "by"), [(6, 3), (12, 3), (12, 4), (20, 5), (24, 2)])
def test_quotients_that_cut_digits_are_not_read_from_the_wrong_register(size, by):
    @T.prim_func
    def kernel(X: T.Tensor((size // by,), "float32"), Y: T.Tensor((size,), "float32"), Z: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=128):
            f, g = T.alloc_fragment((size // by,), "float32"), T.alloc_fragment((size // by, by), "float32")
            flat = T.reshape(g, (size,))
            T.copy(X, f)
            for i in T.Parallel(size):
                Y[i] = f[i // by]
            for i in T.Parallel(size):
                flat[i] = X[i // by] + i % by
            for i in T.Parallel(size):
                Z[i] = g[i // by, i % by]

    x = np.random.default_rng(0).integers(-9, 9, size // by).astype(np.float32)
    _, y, z = same_results(kernel, x, np.zeros(size, np.float32), np.zeros(size, np.float32))
    np.testing.assert_array_equal(y, np.repeat(x, by))
    np.testing.assert_array_equal(z, np.repeat(x, by) + np.tile(np.arange(by), size // by))
