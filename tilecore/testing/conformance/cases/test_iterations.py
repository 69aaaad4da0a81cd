"""Iterations of T.Parallel mean their statements one after the other: what a statement writes, the next one reads, and
a name or a condition keeps the value that it was given. Expected are the values that numpy computes."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import compiled, sample

M, N = 8, 16


def built(body):
    """s is shared, f and g are fragments; all come from tensors and go back there. body: a macro."""

    @T.prim_func
    def kernel(
        S: T.Tensor((M, N), "float32"), F: T.Tensor((M, N), "float32"), G: T.Tensor((M, N), "float32"),
        Q: T.Tensor((M, N), "int32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=64):
            s = T.alloc_shared((M, N), "float32")
            f = T.alloc_fragment((M, N), "float32")
            g = T.alloc_fragment((M, N), "float32")
            T.copy(S, s)
            T.copy(F, f)
            T.copy(G, g)
            body(s, f, g, Q)
            T.copy(s, S)
            T.copy(f, F)
            T.copy(g, G)

    return kernel


@T.macro
def leaky(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        if f[i, j] > 0:
            f[i, j] = f[i, j] - 3.0
        else:
            f[i, j] = f[i, j] * 0.5


@T.macro
def leaky_shared(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        if s[i, j] > 0:
            s[i, j] = s[i, j] - 3.0
        else:
            s[i, j] = s[i, j] * 0.5


@T.macro
def chain(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        if f[i, j] > 1:
            f[i, j] = -2.0
        elif f[i, j] > 0:
            f[i, j] = -0.5
        elif f[i, j] > -1:
            f[i, j] = 0.5
        else:
            f[i, j] = 2.0


@T.macro
def two_in_a_branch(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        if f[i, j] > 0:
            f[i, j] = -f[i, j]
            g[i, j] = f[i, j] * 2
        else:
            g[i, j] = f[i, j]


@T.macro
def nested(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        if f[i, j] > 0:
            f[i, j] -= 1.0
            if f[i, j] > 0:
                f[i, j] = 9.0
            else:
                f[i, j] -= 1.0
                g[i, j] = 1.0


@T.macro
def swap(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        t = s[i, j]
        s[i, j] = f[i, j]
        f[i, j] = t


@T.macro
def swap_where(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        if s[i, j] > f[i, j]:
            t = s[i, j]
            s[i, j] = f[i, j]
            f[i, j] = t


@T.macro
def old_value(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        old = f[i, j]
        f[i, j] = T.if_then_else(old > 0, old * 2, -old)
        g[i, j] = f[i, j] - old


@T.macro
def named_value_is_stored_and_used(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        t = s[i, j] + 1.0
        u = t * 2.0
        s[i, j] = u
        f[i, j] = t + u + s[i, j]


@T.macro
def names_in_a_loop(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        first = f[i, j]
        for _ in T.serial(3):
            before = f[i, j]
            f[i, j] = g[i, j]
            g[i, j] = before - first


@T.macro
def numbers_of_an_iteration(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        a = T.alloc_var("float32", init=f[i, j])
        b = a
        a = a * 2
        c = a
        if a > 0:
            a = -5.0
        f[i, j] = a + b
        g[i, j] = c


@T.macro
def pairs_in_order(s, f, g, Q):
    for i, j in T.Parallel(M, N // 2):
        if s[i, 2 * j] > s[i, 2 * j + 1]:
            t = s[i, 2 * j]
            s[i, 2 * j] = s[i, 2 * j + 1]
            s[i, 2 * j + 1] = t


@T.macro
def rows_above(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        f[i, j] = T.if_then_else(i >= 2, s[i - 2, j], s[i, j])
        if i < M - 1 and f[i, j] > 0:
            g[i, j] = s[i + 1, j]


@T.macro
def columns_beside(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        if j > 0:
            f[i, j] = s[i, j - 1]
        if j < N - 3:
            g[i, j] = s[i, j + 3]


@T.macro
def rows_in_turn(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        if i > 0 and (i + j) % 2 == 0:
            s[i, j] = s[i - 1, j]


@T.macro
def written_beyond(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        if i + 1 < M:
            s[i + 1, j] = f[i, j]


@T.macro
def looked_up(s, f, g, Q):
    for i, j in T.Parallel(M, N):
        t = Q[i, j]
        f[i, j] = s[0, t]
        g[i, j] = s[t % M, 15 - t] + f[i, j]


@T.macro
def first_write_by_value(s, f, g, Q):
    part = T.alloc_shared((M, N), "float32")
    for i, j in T.Parallel(M, N):
        if f[i, j] > 0:
            part[i, j] = f[i, j]
    for i, j in T.Parallel(M, N):
        if f[i, j] > 0:
            g[i, j] = part[i, j] * 2


@T.macro
def first_write_by_index(s, f, g, Q):
    part = T.alloc_fragment((M, N), "float32")
    for i, j in T.Parallel(M, N):
        if j < 11:
            part[i, j] = f[i, j]
    for i, j in T.Parallel(M, N):
        g[i, j] = T.if_then_else(j < 11, part[i, j] * 2, -1.0)


def run_in_numpy(name, s, f, g, q):
    i, j = np.arange(M)[:, None], np.arange(N)[None]
    half, zero = np.float32(0.5), np.float32(0)
    where = np.where
    if name in ("leaky", "leaky_shared"):
        x = f if name == "leaky" else s
        x[:] = where(x > 0, x - 3, x * half)
    elif name == "chain":
        f[:] = where(f > 1, -2, where(f > 0, -half, where(f > -1, half, 2)))
    elif name == "two_in_a_branch":
        g[:], f[:] = where(f > 0, -2 * f, f), where(f > 0, -f, f)
    elif name == "nested":
        inner = f - 1
        g[:] = where((f > 0) & (inner <= 0), 1, g)
        f[:] = where(f > 0, where(inner > 0, 9, inner - 1), f)
    elif name == "swap":
        s[:], f[:] = f.copy(), s.copy()
    elif name == "swap_where":
        s[:], f[:] = np.minimum(s, f), np.maximum(s, f)
    elif name == "old_value":
        new = where(f > 0, f * 2, -f)
        f[:], g[:] = new, new - f
    elif name == "named_value_is_stored_and_used":
        t = s + 1
        s[:] = t * 2
        f[:] = t + s + s
    elif name == "names_in_a_loop":
        first = f.copy()
        for _ in range(3):
            f[:], g[:] = g.copy(), f - first
    elif name == "numbers_of_an_iteration":
        f[:], g[:] = where(f > 0, -5, 2 * f) + f, 2 * f
    elif name == "pairs_in_order":
        s[:] = np.sort(s.reshape(M, -1, 2), axis=-1).reshape(M, N)
    elif name == "rows_above":
        f[:] = where(i >= 2, np.roll(s, 2, 0), s)
        g[:] = where((i < M - 1) & (f > 0), np.roll(s, -1, 0), g)
    elif name == "columns_beside":
        f[:] = where(j > 0, np.roll(s, 1, 1), f)
        g[:] = where(j < N - 3, np.roll(s, -3, 1), g)
    elif name == "rows_in_turn":
        s[:] = where((i > 0) & ((i + j) % 2 == 0), np.roll(s, 1, 0), s)
    elif name == "written_beyond":
        s[1:] = f[:-1]
    elif name == "looked_up":
        f[:] = s[0, q]
        g[:] = s[q % M, 15 - q] + f
    elif name == "first_write_by_value":
        g[:] = where(f > 0, 2 * f, g)
    else:
        g[:] = where(j < 11, 2 * f, -1 + zero)


BODIES = (
    leaky, leaky_shared, chain, two_in_a_branch, nested, swap, swap_where, old_value, named_value_is_stored_and_used,
    names_in_a_loop, numbers_of_an_iteration, pairs_in_order, rows_above, columns_beside, rows_in_turn, written_beyond,
    looked_up, first_write_by_value, first_write_by_index,
)  # fmt: skip
NAMES = [body.__name__ for body in BODIES]


@pytest.mark.parametrize("name", NAMES)
def test_statements_of_an_iteration(target, name):
    arrays = [sample("float32", (M, N), seed) for seed in range(3)]
    places = np.random.default_rng(5).integers(0, N, (M, N)).astype(np.int32)
    want = [array.copy() for array in arrays]
    run_in_numpy(name, *want, places)
    compiled(built(BODIES[NAMES.index(name)]), target)(*arrays, places)
    for array, expected in zip(arrays, want, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_a_largest_number_where_there_was_none(target):
    """A NaN that is there already is passed over."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 16), "float32"), Z: T.Tensor((4, 16), "float32"), Y: T.Tensor((4, 16), "float32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((4, 16), "float32")
            T.copy(X, s)
            T.atomic_max(Z, s)
            T.atomic_min(Y, s)

    x, z = sample("float32", (4, 16)), sample("float32", (4, 16), 1)
    z[1, ::3] = np.nan
    y = z.copy()
    want = np.fmax(z, x), np.fmin(z, x)
    compiled(kernel, target)(x, z, y)
    np.testing.assert_array_equal(z, want[0])
    np.testing.assert_array_equal(y, want[1])
