"""Division of integers: all signs, the lowest integer by -1, and by 0, which must not end the process.
Of floats: by memory that the loop changes, and of it."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import INTEGERS, check, compiled, element, same, sample, zeros


def pairs(dtype):
    """Every two of the corners of a type."""
    kind = element(dtype)
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    corners = sorted({low, low + 1, 0, 1, 2, 3, 7, high - 1, high, *([-7, -3, -2, -1] if low else [])})
    a, b = np.meshgrid(np.array(corners, kind), np.array(corners, kind))
    return a.ravel(), b.ravel()


def quotients(dtype, n, loop):
    @T.prim_func
    def kernel(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), Y: T.Tensor((4, n), dtype)):
        with T.Kernel(1):
            for i in loop(n):
                Y[0, i] = A[i] // B[i]
                Y[1, i] = A[i] % B[i]
                Y[2, i] = T.truncdiv(A[i], B[i])
                Y[3, i] = T.truncmod(A[i], B[i])

    return kernel


@pytest.mark.parametrize("loop", [T.Parallel, T.serial])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_corners(target, dtype, loop):
    a, b = pairs(dtype)
    a, b = a[b != 0], b[b != 0]
    *_, y = check(quotients(dtype, len(a), loop), target, a, b, zeros(dtype, (4, len(a))))
    wide = np.array([[int(x) // int(z), int(x) % int(z)] for x, z in zip(a, b, strict=True)], object).T
    modulus = 2 ** (element(dtype).itemsize * 8)
    same(
        y[0], np.array([int(q) % modulus for q in wide[0]], object).astype(f"u{element(dtype).itemsize}").view(a.dtype)
    )
    same(y[1], wide[1].astype(a.dtype))


@pytest.mark.parametrize("loop", [T.Parallel, T.serial])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_by_zero_gives_some_value(target, dtype, loop):
    """What it gives is not defined; the other elements are."""
    a, b = pairs(dtype)
    y = zeros(dtype, (4, len(a)))
    compiled(quotients(dtype, len(a), loop), target)(a, b, y)
    fine = b != 0
    with np.errstate(over="ignore"):  # the lowest integer by -1
        expected = [np.floor_divide(a[fine], b[fine]), np.remainder(a[fine], b[fine])]
    same(y[0][fine], expected[0])
    same(y[1][fine], expected[1])


@pytest.mark.parametrize("loop", [T.Parallel, T.serial])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_what_has_wrapped_stays_so(target, dtype, loop):
    """``a * 2 // 2`` is not a where the product wraps: of a value that was stored, named, or given with the call."""
    kind = element(dtype)
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    values = np.resize(np.array([high, high // 2 + 1, 5, low, low // 2 - (low < 0), 7, 0, high - 2, 64], kind), 256)

    @T.prim_func
    def kernel(A: T.Tensor((256,), dtype), Y: T.Tensor((9, 256), dtype), n: T.int32, Z: T.Tensor((3,), "int32")):
        with T.Kernel(1, threads=32):
            v = T.alloc_var(dtype, init=A[0])
            for i in loop(256):
                a = A[i]
                b = a * 4
                Y[0, i] = a * 2 // 2
                Y[1, i] = a * 3 // 3
                Y[2, i] = (a * 4 + 2) % 4
                Y[3, i] = b // 4
                Y[4, i] = A[i] * 6 // 2
                Y[5, i] = T.if_then_else(a + 1 > a, 1, 2)
                Y[6, i] = (a + i % 8 + 7) // 8 * 8
                Y[7, i] = v * 2 // 2
                Y[8, i] = T.cast((i * 500000000) // 500000000, dtype)
            Z[0] = n * 2 // 2
            Z[1] = n * 3 // 3
            Z[2] = T.if_then_else(n + 1 > n, 1, 2)

    _, y, z = check(kernel, target, values, zeros(dtype, (9, 256)), 2**31 - 1, zeros("int32", 3))
    with np.errstate(over="ignore"):
        same(y[0], values * kind.type(2) // kind.type(2))
        same(y[1], values * kind.type(3) // kind.type(3))
        same(y[3], values * kind.type(4) // kind.type(4))
        same(y[5], np.where(values + kind.type(1) > values, 1, 2).astype(kind))
    same(z, np.array([-1, 715827881, 2], np.int32))


def test_outside_the_bounds(target):
    """Where a tail divides by what it reads outside, which is 0, the elements inside are right."""

    @T.prim_func
    def kernel(A: T.Tensor((70,), "int32"), B: T.Tensor((70,), "int32"), Y: T.Tensor((70,), "int32")):
        with T.Kernel(2) as b:
            for i in T.Parallel(64):
                Y[b * 64 + i] = A[b * 64 + i] // B[b * 64 + i]

    a, b, y = np.arange(70, dtype=np.int32) - 35, np.arange(1, 71, dtype=np.int32), zeros("int32", 70)
    compiled(kernel, target)(a, b, y)
    same(y, a // b)


def test_constants_and_sizes_are_divided_by_as_they_stand():
    """No test of the divisor where it is known to be above 0."""

    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                Y[i] = A[i] // 7 + A[i] % -3 + A[i] // T.max(i, 1)

    source = compiled(kernel, "cpu").get_kernel_source()
    assert "sdiv" in source
    assert "icmp eq" not in source


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint32", "int64", "float32"])
def test_a_named_value_of_any_type_is_cast_and_divided(target, dtype):
    n = 64

    @T.prim_func
    def kernel(X: T.Tensor((n,), dtype), Y: T.Tensor((2, n), "int32")):
        with T.Kernel(1, threads=32) as bx:
            for i in T.Parallel(n):
                value, is_later = X[i], bx >= i - 3
                Y[0, i] = (T.cast(value, "int32") * 3 + i) // 16
                Y[1, i] = (i * 5 + T.cast(is_later, "int32")) % 7 + T.cast(is_later, "int32") // 2

    x = (np.arange(n) % 5).astype(dtype)
    check(kernel, target, x, zeros("int32", (2, n)))


def by_its_own_memory(form):
    """A loop that changes, by another name, the memory that it divides by or divides."""

    @T.prim_func
    def kernel(X: T.Tensor((32, 8), "float32"), D: T.Tensor((8,), "float32"), Y: T.Tensor((32, 8), "float32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            values = T.alloc_local((8,), "float32")
            view = T.view(values, (4, 2))
            for i in T.serial(8):
                values[i] = D[i]
            for i in T.unroll(8):
                if form == "divisor":
                    view[i // 2, i % 2] = X[tx, i] / values[0]
                elif form == "divisor's view":
                    values[i] = X[tx, i] / view[0, 0]
                else:
                    view[i // 2, i % 2] = values[7 - i] / D[1]
            for i in T.serial(8):
                Y[tx, i] = values[i]

    return kernel


@pytest.mark.parametrize("form", ["divisor", "divisor's view", "dividend"])
def test_of_memory_that_the_loop_changes_by_another_name(target, form):
    x, d = np.abs(sample("float32", (32, 8))) + 1, np.abs(sample("float32", 8, 1)) + 1
    expected = np.tile(d, (32, 1))
    for i in range(8):
        expected[:, i] = expected[:, 7 - i] / d[1] if form == "dividend" else x[:, i] / expected[:, 0]
    y = zeros("float32", (32, 8))
    compiled(by_its_own_memory(form), target)(x, d, y)
    same(y, expected)


def test_by_what_an_atomic_changes(target):
    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32"), D: T.Tensor((1,), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=1):
            for i in T.unroll(8):
                Y[i] = X[i] / D[0]
                T.atomic_add(D[0], 1)

    x, y = sample("float32", 8), zeros("float32", 8)
    compiled(kernel, target)(x, np.ones(1, np.float32), y)
    same(y, x / np.arange(1, 9, dtype=np.float32))
