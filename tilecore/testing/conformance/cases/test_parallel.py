"""T.Parallel: axes, conditions, indices of every form, loops inside and around."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, close, compiled, element, rerun, same, sample, zeros


def test_one_to_four_axes(target):
    @T.prim_func
    def kernel(
        A: T.Tensor((37,), "int32"),
        B: T.Tensor((5, 19), "int32"),
        C: T.Tensor((3, 4, 7), "int32"),
        D: T.Tensor((2, 3, 1, 5), "int32"),
    ):
        with T.Kernel(1):
            for i in T.Parallel(37):
                A[i] = i * 3 - 1
            for i, j in T.Parallel(5, 19):
                B[i, j] = i * 100 + j
            for i, j, k in T.Parallel(3, 4, 7):
                C[i, j, k] = (i * 4 + j) * 7 + k
            for i, j, k, m in T.Parallel(2, 3, 1, 5):
                D[i, j, k, m] = i - j * m + k

    a, b, c, _ = check(kernel, target, *(zeros("int32", s) for s in (37, (5, 19), (3, 4, 7), (2, 3, 1, 5))))
    same(a, np.arange(37, dtype=np.int32) * 3 - 1)
    same(b, np.add.outer(np.arange(5) * 100, np.arange(19)).astype(np.int32))
    same(c, np.arange(84, dtype=np.int32).reshape(3, 4, 7))


def test_conditions(target):
    """if with else, elif, nested; conditions of the index, of data, and joined by and, or, not."""
    n = 77

    @T.prim_func
    def kernel(X: T.Tensor((n,), "int32"), Y: T.Tensor((6, n), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                if i < 30:
                    Y[0, i] = 1
                elif i % 2 == 0:
                    Y[0, i] = 2
                else:
                    Y[0, i] = 3
            for i in T.Parallel(n):
                if X[i] > 0 and i > 3:
                    Y[1, i] = X[i]
                    if X[i] > 50:
                        Y[2, i] = 5
                if X[i] < -50 or X[i] > 50 or i == 7:
                    Y[3, i] = X[i] // 2
                if not (X[i] > 10):
                    Y[4, i] = -1
                if 0 <= X[i] < 20 <= i:
                    Y[5, i] = i

    check(kernel, target, sample("int32", n), zeros("int32", (6, n)))


def test_choices(target):
    """Python's ternary, T.if_then_else, T.Select, chains, and values of the untaken side that must not be read."""
    n = 53

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((6, n), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[0, i] = X[i] if i < 20 else -X[i]
                Y[1, i] = T.if_then_else(X[i] > 0, X[i], 0)
                Y[2, i] = T.Select(X[i] > 0, X[i] * 2, X[i] * 3)
                Y[3, i] = X[i - 5] if i >= 5 else 9.0
                Y[4, i] = T.if_then_else(i + 10 < n, X[i + 10], T.if_then_else(i % 3 == 0, 1, 2))
                Y[5, i] = T.clamp(X[i], -0.5, 0.5) + T.max(X[i], 0, 0.25) + T.min(X[i], 0.1)

    check(kernel, target, sample("float32", n), zeros("float32", (6, n)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_integer_arithmetic(target, dtype):
    """Division and modulo round down, also of negative numbers, by constants and by data; shifts; bits; wrapping."""
    n = 64
    signed = not dtype.startswith("u")

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), dtype), D: T.Tensor((n,), dtype), S: T.Tensor((n,), dtype), Y: T.Tensor((22, n), dtype)
    ):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[0, i] = X[i] // D[i]
                Y[1, i] = X[i] % D[i]
                Y[2, i] = X[i] // 7
                Y[3, i] = X[i] % 7
                Y[4, i] = X[i] // 8
                Y[5, i] = X[i] % 8
                Y[6, i] = T.truncdiv(X[i], D[i])
                Y[7, i] = T.truncmod(X[i], D[i])
                Y[8, i] = X[i] << S[i]
                Y[9, i] = X[i] >> S[i]
                Y[10, i] = X[i] << 3
                Y[11, i] = X[i] >> 2
                Y[12, i] = (X[i] & D[i]) | 3
                Y[13, i] = X[i] ^ D[i]
                Y[14, i] = ~X[i]
                Y[15, i] = X[i] * D[i] * D[i] + X[i]
                Y[16, i] = T.max(X[i], D[i]) - T.min(X[i], D[i])
                Y[17, i] = T.abs(X[i])
                Y[18, i] = T.popcount(X[i])
                Y[19, i] = T.clz(X[i])
                if signed:
                    Y[20, i] = X[i] // -5
                    Y[21, i] = -X[i] % -5

    rng = np.random.default_rng(7)
    limits = np.iinfo(element(dtype))
    x = rng.integers(limits.min, limits.max, n, dtype=element(dtype), endpoint=True)
    x[:8] = [limits.min + 1, limits.max, 0, 1, 2, 7, 8, 9]
    d = rng.integers(1, 12, n).astype(element(dtype))
    if signed:
        d[::2] *= -1
    s = rng.integers(0, element(dtype).itemsize * 8, n).astype(element(dtype))
    check(kernel, target, x, d, s, zeros(dtype, (22, n)))


def test_integer_overflow_wraps_in_scalar_code_too(target):
    """As hashes need it."""

    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32"), Y: T.Tensor((8, 2), "int32"), Z: T.Tensor((8,), "int64")):
        with T.Kernel(8) as b:
            state = T.alloc_var("int32", init=X[b])
            wide = T.alloc_var("int64", init=X[b])
            for _ in T.serial(5):
                state = state * 1103515245 + 12345
                wide = wide * 6364136223846793005 + 1442695040888963407
            Y[b, 0] = state
            Y[b, 1] = T.if_then_else(X[b] + 1 > X[b], 1, 0)
            Z[b] = wide

    x = np.array([0, 1, -1, 2**31 - 1, -(2**31), 12345, 99, -7], np.int32)
    _, y, _ = check(kernel, target, x, zeros("int32", (8, 2)), zeros("int64", 8))
    assert y[:, 1].tolist() == [1, 1, 1, 0, 1, 1, 1, 1]


def test_indices(target):
    """Gather, scatter, reversed, strided, two-level, computed, of other integer types."""
    n = 45

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), "float32"),
        P: T.Tensor((n,), "int32"),
        Q: T.Tensor((n,), "int64"),
        B: T.Tensor((n,), "uint8"),
        M: T.Tensor((n, 3), "float32"),
        Y: T.Tensor((9, n), "float32"),
    ):
        with T.Kernel(1):
            local = T.alloc_shared((n,), "float32")
            T.copy(X, local)
            for i in T.Parallel(n):
                Y[0, i] = X[P[i]]
                Y[1, Q[i]] = X[i]
                Y[2, i] = X[n - 1 - i]
                Y[3, n - 1 - i] = local[i] * 2
                Y[4, i] = local[P[P[i]]]
                Y[5, i] = X[(i * 7 + 3) % n]
                Y[6, i] = X[i // 3 * 3 + (2 - i % 3)]
                Y[7, i] = X[B[i]]
                Y[8, i] = M[P[i], i % 3] + M[i, 2]
            for i in T.Parallel(n // 3):
                Y[8, i * 3] = Y[8, i * 3] + 1

    rng = np.random.default_rng(0)
    p = rng.permutation(n).astype(np.int32)
    q = rng.permutation(n).astype(np.int64)
    x, m = sample("float32", n), sample("float32", (n, 3))
    *_, y = check(kernel, target, x, p, q, (p % 40).astype(np.uint8), m, zeros("float32", (9, n)))
    same(y[0], x[p])
    same(y[1][q], x)
    same(y[4], x[p[p]])


def test_gathers_outside_the_bounds_give_zero(target):
    n = 40

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), "float32"),
        P: T.Tensor((n,), "int32"),
        Y: T.Tensor((n,), "float32"),
        Z: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[i] = X[P[i]]
                Z[P[i]] = X[i]

    x = sample("float32", n)
    p = (np.random.default_rng(0).permutation(3 * n)[:n] - n).astype(np.int32)
    _, _, y, _ = check(kernel, target, x, p, zeros("float32", n), zeros("float32", n))
    inside = (p >= 0) & (p < n)
    same(y, np.where(inside, x[np.clip(p, 0, n - 1)], np.float32(0)))


def test_loops_inside_and_around(target):
    """A serial loop in T.Parallel, T.Parallel in serial and while loops and ifs, local memory of an iteration."""
    m, n, k = 6, 21, 9

    @T.prim_func
    def kernel(A: T.Tensor((m, k), "float32"), B: T.Tensor((k, n), "float32"), Y: T.Tensor((4, m, n), "float32")):
        with T.Kernel(1):
            for i, j in T.Parallel(m, n):
                total = T.alloc_var("float32", init=0)
                for p in T.serial(k):
                    total = total + A[i, p] * B[p, j]
                Y[0, i, j] = total
            for i, j in T.Parallel(m, n):
                part = T.alloc_local((3,), "float32")
                for p in T.serial(3):
                    part[p] = A[i, p] + B[p, j]
                Y[1, i, j] = part[0] * part[1] - part[2]
            for i in T.serial(m):
                if i % 2 == 1:
                    for j in T.Parallel(n):
                        Y[2, i, j] = A[i, 0] + j
                else:
                    for j in T.Parallel(n):
                        Y[2, i, j] = -j
            row = T.alloc_var("int32", init=0)
            while row < m:
                for j in T.Parallel(n):
                    Y[3, row, j] = row * n + j
                row += 2

    a, b = sample("float32", (m, k)), sample("float32", (k, n), 1)
    _, _, y = check(kernel, target, a, b, zeros("float32", (4, m, n)), compare=close)
    np.testing.assert_allclose(y[0], a @ b, rtol=1e-5, atol=1e-5)


def test_bounds_that_depend_on_the_block_and_on_data(target):
    n = 30

    @T.prim_func
    def kernel(X: T.Tensor((4, n), "int32"), L: T.Tensor((4,), "int32"), Y: T.Tensor((4, n), "int32")):
        with T.Kernel(4) as b:
            for i in T.Parallel(L[b]):
                Y[b, i] = X[b, i] + 1
            for i in T.Parallel(b * 3):
                Y[b, n - 1 - i] = i
            for i in T.serial(L[b]):
                for j in T.Parallel(i):
                    Y[b, j] = Y[b, j] + 1

    check(kernel, target, sample("int32", (4, n)), np.array([0, 1, 13, 30], np.int32), zeros("int32", (4, n)))


def test_several_statements_see_each_other_within_an_iteration(target):
    n = 50

    @T.prim_func
    def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), Z: T.Tensor((n, 2), "float32")):
        with T.Kernel(1):
            tile = T.alloc_shared((n,), "float32")
            for i in T.Parallel(n):
                tile[i] = X[i] * 2
                tile[i] += 1
                if tile[i] > 0:
                    tile[i] = tile[i] * tile[i]
                a = tile[i] + X[i]
                b = a * 3
                Y[i] = b - a
                Z[i, 0], Z[i, 1] = a, b

    check(kernel, target, sample("float32", n), zeros("float32", n), zeros("float32", (n, 2)), compare=close)


def test_mixed_element_types(target):
    """Narrow and wide lanes in one loop."""
    n = 67

    @T.prim_func
    def kernel(
        A: T.Tensor((n,), "int8"),
        B: T.Tensor((n,), "float16"),
        C: T.Tensor((n,), "float64"),
        D: T.Tensor((n,), "bool"),
        Y: T.Tensor((n,), "float32"),
        Z: T.Tensor((n,), "int64"),
        W: T.Tensor((n,), "bool"),
        V: T.Tensor((n,), "bfloat16"),
    ):
        with T.Kernel(1):
            for i in T.Parallel(n):
                Y[i] = T.cast(C[i] * 2, "float32") + B[i] + A[i]
                Z[i] = T.cast(A[i], "int64") * 1000000007 + T.if_then_else(D[i], 1, 0)
                W[i] = (A[i] > 3 and D[i]) or B[i] > 0
                V[i] = A[i]

    args = [sample(k, n, s) for s, k in enumerate(("int8", "float16", "float64", "bool"))]
    check(kernel, target, *args, *(zeros(k, n) for k in ("float32", "int64", "bool", "bfloat16")), compare=close)


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16"])
@pytest.mark.parametrize("place", ["shared", "fragment"])
def test_a_choice_that_is_the_same_for_neighbours(target, dtype, place):
    """Between elements, values made of them, and constants; by the call's number, the block and the row."""
    shape = (2, 8, 16)

    @T.prim_func
    def kernel(A: T.Tensor(shape, dtype), B: T.Tensor(shape, dtype), n: T.int32, Y: T.Tensor((7, *shape), dtype)):
        with T.Kernel(2, threads=32) as bx:
            tile = T.alloc_shared(shape[1:], dtype) if place == "shared" else T.alloc_fragment(shape[1:], dtype)
            for i, j in T.Parallel(8, 16):
                tile[i, j] = T.if_then_else(n > 0, A[bx, i, j], B[bx, i, j])
            T.copy(tile, Y[0, bx, 0, 0])
            for i, j in T.Parallel(8, 16):
                tile[i, j] = T.if_then_else(bx == 1, A[bx, i, j], A[bx, i, j] + B[bx, i, j])
            T.copy(tile, Y[1, bx, 0, 0])
            for i, j in T.Parallel(8, 16):
                tile[i, j] = T.if_then_else(i % 3 == n, A[bx, i, j] - B[bx, i, j], B[bx, i, j])
            T.copy(tile, Y[2, bx, 0, 0])
            for i, j in T.Parallel(8, 16):
                tile[i, j] = T.if_then_else(i > n, A[bx, i, j], T.cast(i * 4 + j, dtype))
            T.copy(tile, Y[3, bx, 0, 0])
            for i, j in T.Parallel(8, 16):
                tile[i, j] = T.if_then_else(i > n, T.cast(7, dtype), A[bx, i, j])
            T.copy(tile, Y[4, bx, 0, 0])
            for i, j in T.Parallel(8, 16):
                Y[5, bx, i, j] = T.if_then_else(i < bx, A[bx, i, j], B[bx, i, 15 - j])
            for i, j in T.Parallel(8, 16):
                Y[6, bx, i, j] = T.if_then_else(n < 1, A[bx, i, j], T.if_then_else(i == 2, B[bx, i, j], A[bx, i, 0]))

    a, b = sample(dtype, shape), sample(dtype, shape, 1)
    row, block = np.arange(8)[:, None], np.arange(2)[:, None, None]
    for n in (0, 1):
        *_, y = check(kernel, target, a, b, n, zeros(dtype, (7, *shape)))
        same(y[0], a if n else b)
        same(y[3], np.where(row > n, a, (row * 4 + np.arange(16)).astype(a.dtype)))
        same(y[5], np.where(row < block, a, b[:, :, ::-1]))


def test_sizes_only_the_call_knows(target):
    """0, less than a vector, many; and an expression of them."""
    n, m = T.dynamic("n m")

    @T.prim_func
    def kernel(X: T.Tensor((n, m), "float32"), Y: T.Tensor((m, n + 1), "float32"), Z: T.Tensor((n * m,), "float32")):
        with T.Kernel(1):
            for i, j in T.Parallel(n, m):
                Y[j, i + 1] = X[i, j]
                Z[i * m + j] = X[i, j] + i
            for j in T.Parallel(m):
                Y[j, 0] = m * n

    built = compiled(kernel, target)
    for size in ((0, 0), (0, 3), (4, 0), (1, 1), (3, 17), (65, 33)):
        x = sample("float32", size)
        _, y, z = rerun(built, kernel, x, zeros("float32", (size[1], size[0] + 1)), zeros("float32", size[0] * size[1]))
        same(y[:, 1:], x.T)
        same(z.reshape(size), x + np.arange(size[0], dtype=np.float32)[:, None])


def test_a_condition_holds_for_its_whole_branch(target):
    """Also when the branch changes what it was about."""
    n = 40

    @T.prim_func
    def kernel(X: T.Tensor((n,), "int32"), Y: T.Tensor((n,), "int32"), Z: T.Tensor((n,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                if X[i] > 0:
                    X[i] = -5
                    Y[i] = 1
                else:
                    Z[i] = 2

    check(kernel, target, sample("int32", n), zeros("int32", n), zeros("int32", n))


def test_guards_that_differ_between_neighbours(target):
    """Bounds that are no multiple of what one move takes: nothing behind them is read."""

    @T.prim_func
    def kernel(A: T.Tensor((301,), "float32"), B: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((512,), "float32")
            for i in T.Parallel(512):
                s[i] = A[i] * 2
            for i in T.Parallel(512):
                B[i] = T.if_then_else(i < 511, s[i] + 1.0, 0.0)

    check(kernel, target, sample("float32", (301,)), zeros("float32", (512,)))


@pytest.mark.parametrize(
    ("size", "offset", "block"), [(1, 2, 1), (4, 9, 4), (4, 4, 4), (8, -20, 8), (3, 5, 8), (3, 0, 8), (100, 95, 128)]
)
def test_a_row_that_lies_outside_in_part_or_as_a_whole(target, size, offset, block):
    """Reads outside of a tensor give 0, and writes there are dropped, where the compiler knows that all of them are."""

    @T.prim_func
    def kernel(X: T.Tensor((size,), "int32"), Y: T.Tensor((size,), "int32"), Z: T.Tensor((size,), "int32")):
        with T.Kernel(T.ceildiv(size, block), threads=32) as bx:
            for i in T.Parallel(block):
                Y[bx * block + i] = X[bx * block + i + offset]
            for i in T.Parallel(block):
                Z[bx * block + i + offset] = X[bx * block + i]

    x = np.arange(size, dtype=np.int32) + 1
    _, y, z = check(kernel, target, x, zeros("int32", size) + 7, zeros("int32", size))
    places = np.arange(size) + offset
    inside = (places >= 0) & (places < size)
    np.testing.assert_array_equal(y, np.where(inside, x[np.clip(places, 0, size - 1)], 0))
    expected = np.zeros(size, np.int32)
    expected[places[inside]] = x[inside]
    np.testing.assert_array_equal(z, expected)


@pytest.mark.parametrize("wide", ["rows", "columns", "both"])
@pytest.mark.parametrize("shape", [(19, 21), (16, 21), (19, 24)])
def test_a_transpose_with_axes_of_int64(target, shape, wide):
    """With what whole blocks leave over on either side."""
    m, n = shape
    rows = T.int64(m) if wide != "columns" else m
    columns = T.int64(n) if wide != "rows" else n

    @T.prim_func
    def kernel(X: T.Tensor((m, n), "float32"), Y: T.Tensor((n, m), "float32")):
        with T.Kernel(1):
            for i, j in T.Parallel(rows, columns):
                Y[j, i] = X[i, j]

    x, y = sample("float32", shape), zeros("float32", (n, m))
    compiled(kernel, target)(x, y)
    same(y, x.T)


def test_continue(target):
    """Iterations that end early, on every path or on some, beside a loop with a continue of its own."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 9), "int32"), B: T.Tensor((8, 9), "int32")):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(8, 9):
                x = A[i, j]
                if x % 2 == 0:
                    B[i, j] = 1
                    if x % 4 == 0:
                        B[i, j] = 2
                        continue
                    else:
                        if x > 30:
                            continue
                        B[i, j] = 9
                        continue
                elif x % 3 == 0:
                    continue
                y = x * 2
                if y > 50:
                    B[i, j] = 3
                    for k in T.serial(4):
                        if k == 2:
                            continue
                        B[i, j] += k
                    continue
                B[i, j] = y

    def value(x):
        if x % 2 == 0:
            return 2 if x % 4 == 0 else 1 if x > 30 else 9
        return 0 if x % 3 == 0 else 7 if x > 25 else 2 * x

    a = np.arange(72, dtype=np.int32).reshape(8, 9)
    _, b = check(kernel, target, a, zeros("int32", (8, 9)))
    np.testing.assert_array_equal(b, np.vectorize(value)(a))
