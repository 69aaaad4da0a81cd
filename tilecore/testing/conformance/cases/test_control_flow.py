"""Loops, conditions, variables, macros, helpers and closures."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, close, same, sample, zeros

SCALE = 3
TABLE = [1.5, 2.5, -4.0]


def twice(x):
    return x * 2


@T.macro
def add_to(x: T.Ref, y):
    x += y


@T.macro
def sum_of(buffer, n):
    total = T.alloc_var("int32", init=0)
    for i in T.serial(n):
        total = total + buffer[i]
    return total


@T.macro
def scaled(dst, src, n, factor=2):
    for i in T.Parallel(n):
        dst[i] = src[i] * factor


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    @T.macro
    def run(self, dst, src, n):
        for i in T.Parallel(n):
            dst[i] = src[i] * self.factor


def test_while_break_continue(target):
    @T.prim_func
    def kernel(X: T.Tensor((40,), "int32"), Y: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            i = T.alloc_var("int32", init=0)
            total = T.alloc_var("int32", init=0)
            while i < 40 and total < 200:
                if X[i] < 0:
                    i += 1
                    continue
                total += X[i]
                i += 1
            Y[0], Y[1] = i, total
            total = 0
            for j in T.serial(40):
                if X[j] == 7:
                    break
                if j % 3 == 0:
                    continue
                total = total + j
            Y[2] = total
            total = 0
            for a in T.serial(5):
                for b in T.serial(5):
                    if b > a:
                        break
                    total += 10 * a + b
                if a == 3:
                    break
            Y[3] = total
            i = 0
            while True if SCALE > 5 else i < 3:
                i += 1
            Y[4] = i

    x = sample("int32", 40)
    x[30] = 7
    _, y = check(kernel, target, x, zeros("int32", 8))
    assert y[3] == sum(10 * a + b for a in range(4) for b in range(a + 1))


def test_bounds_and_steps_of_loops(target):
    @T.prim_func
    def kernel(N: T.Tensor((3,), "int32"), Y: T.Tensor((10, 30), "int32")):
        with T.Kernel(1):
            for i in T.serial(3, 20, 4):
                Y[0, i] = 1
            for i in T.serial(20, 3, -4):
                Y[1, i] = i
            for i in range(10, -1, -3):
                Y[2, i] = i + 1
            for i in range(N[0], N[1], 2):
                Y[3, i] = i
            for i in range(N[2]):
                Y[4, i] = i * i
            for i in T.unroll(2, 9, 2):
                Y[5, i] = i
            for i in T.vectorized(8):
                Y[6, i] = i * 3
            for i, j in T.grid(3, 4):
                Y[7, i * 4 + j] = i - j
            for i in T.serial(5, 5):
                Y[8, i] = 99
            for i in T.serial(7, 2):
                Y[8, i] = 99
            for i in [3, 1, 4]:
                Y[9, i] = i
            for i, name in enumerate(("a", "bb")):
                Y[9, 10 + i] = len(name)

    _, y = check(kernel, target, np.array([2, 17, 9], np.int32), zeros("int32", (10, 30)))
    assert np.flatnonzero(y[0]).tolist() == [3, 7, 11, 15, 19]
    assert np.flatnonzero(y[1]).tolist() == [4, 8, 12, 16, 20]
    assert y[2][[10, 7, 4, 1]].tolist() == [11, 8, 5, 2]
    assert not y[8].any()


def test_nested_conditions(target):
    @T.prim_func
    def kernel(X: T.Tensor((30,), "int32"), Y: T.Tensor((30,), "int32")):
        with T.Kernel(30) as b:
            if X[b] > 0:
                if X[b] > 50:
                    Y[b] = 1
                elif X[b] > 25 and b % 2 == 0:
                    Y[b] = 2
                else:
                    if not b < 10:
                        Y[b] = 3
            else:
                if X[b] < -50 or (X[b] < -25 and b > 5):
                    Y[b] = 4
                if SCALE == 3:
                    Y[b] += 10
                else:
                    Y[b] += 20
            assert SCALE == 3, "decided when compiling"

    check(kernel, target, sample("int32", 30), zeros("int32", 30))


def test_variables(target):
    @T.prim_func
    def kernel(X: T.Tensor((20,), "float32"), Y: T.Tensor((9,), "float32"), Z: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            best = T.alloc_var("float32", init=-T.infinity("float32"))
            where = T.alloc_var("int32", -1)
            flag = T.alloc_var("bool", init=False)
            half = T.alloc_var("float16", init=1.0)
            late = T.alloc_var(T.int32)
            late = 5
            for i in T.serial(20):
                if X[i] > best:
                    best = X[i]
                    where = i
                if X[i] < 0:
                    flag = True
                half = half * 0.5
            Y[0], Y[1], Y[2], Y[3] = best, half, best * 2 + 1, -best
            Z[0], Z[1] = where, late // 2
            Z[2] = 1 if flag else 0
            best = 4
            best += 1.5
            best *= X[0]
            best -= Y[0]
            best /= 2
            Y[4] = best
            Y[5] = T.max(best, 0) if flag else 3.0
            half[0] = 0.25
            Y[6] = half[0]
            late <<= 2
            late |= 3
            late ^= 1
            Z[3] = late

    *_, z = check(kernel, target, sample("float32", 20), zeros("float32", 9), zeros("int32", 4), compare=close)
    assert z[3] == ((5 << 2) | 3) ^ 1


def test_a_variable_without_initial_value_begins_with_0(target):
    """In every block, and each time that a loop comes to it."""

    @T.prim_func
    def kernel(X: T.Tensor((2, 3), "int32"), Y: T.Tensor((2, 3), "int32"), Z: T.Tensor((2, 2), "float32")):
        with T.Kernel(2) as b:
            count, half, found = T.alloc_var("int32"), T.alloc_var("float16"), T.alloc_var("bool")
            Z[b, 0] = 1.0 if found else half
            while count < 3:
                if X[b, count] > 1:
                    found = True
                total = T.alloc_var("int32")
                total += X[b, count]
                Y[b, count] = total
                half += 0.5
                count += 1
            Z[b, 1] = half if found else -half

    x = np.array([[1, -2, 0], [5, 1, 7]], np.int32)
    _, y, z = check(kernel, target, x, zeros("int32", (2, 3)), zeros("float32", (2, 2)))
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(z, [[0, -1.5], [0, 1.5]])


def test_steps_known_when_the_kernel_runs(target):
    """As range has them, but that a step of 0 makes no iterations."""

    @T.prim_func
    def kernel(R: T.Tensor((6, 3), "int32"), Y: T.Tensor((6, 8), "int32"), Z: T.Tensor((6,), "int32")):
        with T.Kernel(6) as b:
            count, size = T.alloc_var("int32"), T.alloc_var("int32", init=2)
            for i in range(R[b, 0], R[b, 1], R[b, 2]):
                Y[b, count] = i
                count += 1
            for j in T.serial(b, 20, size * 4):
                count += j
                size = 1  # the step was evaluated before
            Z[b] = count

    ranges = [(0, 7, 2), (3, -4, -3), (5, 5, 1), (2, 9, -1), (0, 8, 1), (1, 4, 0)]
    lists = [list(range(*one)) if one[2] else [] for one in ranges]
    expected = np.zeros((6, 8), np.int32)
    for row, values in zip(expected, lists, strict=True):
        row[: len(values)] = values
    _, y, z = check(kernel, target, np.array(ranges, np.int32), zeros("int32", (6, 8)), zeros("int32", 6))
    np.testing.assert_array_equal(y, expected)
    assert list(z) == [len(values) + sum(range(b, 20, 8)) for b, values in enumerate(lists)]


def test_macros_helpers_and_closures(target):
    factor = 7
    scaler = Scaler(5)

    @T.macro
    def local_macro(dst, i):
        dst[i] = factor + i

    @T.prim_func
    def kernel(X: T.Tensor((12,), "int32"), Y: T.Tensor((5, 12), "int32"), Z: T.Tensor((6,), "int32")):
        with T.Kernel(1):
            tile = T.alloc_shared((12,), "int32")
            T.copy(X, tile)
            counter = T.alloc_var("int32", init=1)
            add_to(counter, 4)
            add_to(counter, X[0])
            Z[0] = counter
            Z[1] = sum_of(tile, 12)
            Z[2] = sum_of(X, 3) + sum_of(X, 4)
            row = T.alloc_fragment((12,), "int32")
            scaled(row, tile, 12)
            T.copy(row, Y[0, :])
            scaled(row, tile, 12, factor=SCALE)
            T.copy(row, Y[1, :])
            scaler.run(row, tile, 12)
            T.copy(row, Y[2, :])
            for i in T.serial(12):
                local_macro(row, i)
            T.copy(row, Y[3, :])
            for i in T.Parallel(12):
                Y[4, i] = twice(X[i]) + sum(k for k in (1, 2, 3)) + (lambda v: v - 1)(i)
            values = {name: T.cast(number, "int32") for number, name in enumerate("abc")}
            Z[3] = values["c"] + len(TABLE)
            Z[4], Z[5] = (Z[0], Z[1]) if factor > 3 else (0, 0)

    x = sample("int32", 12)
    _, y, z = check(kernel, target, x, zeros("int32", (5, 12)), zeros("int32", 6))
    assert z[0] == 5 + x[0]
    assert z[1] == x.sum()
    same(y[2], x * 5)
    same(y[3], np.arange(7, 19, dtype=np.int32))


def test_python_values_stay_python(target):
    """Lists, strings, f-strings, comprehensions, conditions on constants, early choices."""
    modes = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}

    def make(mode, n):
        @T.prim_func
        def kernel(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                pieces = [0.5 * k for k in (0, 1, 2)]
                text = f"{mode}-{n}"
                limit = n // 2 if text.startswith("a") else n
                for i in T.Parallel(limit):
                    value = X[i]
                    for piece in pieces:
                        value = modes[mode](value, piece + 1)
                    Y[i] = value

        return kernel

    for mode in modes:
        check(make(mode, 19), target, sample("float32", 19), zeros("float32", 19), compare=close)


def test_names_used_again_mean_what_they_mean_in_python(target):
    """The same names in neighbouring loops, as targets, as shadows of others."""

    @T.prim_func
    def kernel(X: T.Tensor((10,), "int32"), Y: T.Tensor((10, 4), "int32")):
        with T.Kernel(10) as i:
            value = X[i] + 1
            value = value * 2
            Y[i, 0] = value
            for k in T.serial(3):
                step = value + k
                Y[i, 1] = step
            for k in T.serial(2):
                step = value - k
                Y[i, 2] = step
            old = value
            value = X[i]
            Y[i, 3] = old - value

    check(kernel, target, sample("int32", 10), zeros("int32", (10, 4)))


def test_persistent(target):
    """Every tile once, whatever the number of waves, in groups along the last axis."""
    m, n = 7, 11

    @T.prim_func
    def kernel(Y: T.Tensor((m, n), "int32"), Z: T.Tensor((5,), "int32"), W: T.Tensor((2, 3, 4), "int32")):
        with T.Kernel(6) as b:
            for i, j in T.Persistent([m, n], 6, b, group_size=4):
                Y[i, j] = Y[i, j] + i * 100 + j
            for t in T.Persistent((5,), 6, b):
                Z[t] = Z[t] + (t + 1)
            for i, j, k in T.Persistent([2, 3, 4], 6, b):
                W[i, j, k] = W[i, j, k] + 1

    y, z, w = check(kernel, target, zeros("int32", (m, n)), zeros("int32", 5), zeros("int32", (2, 3, 4)))
    same(y, np.add.outer(np.arange(m) * 100, np.arange(n)).astype(np.int32))
    assert z.tolist() == [1, 2, 3, 4, 5]
    assert (w == 1).all()


def test_pipelined_is_serial(target):
    @T.prim_func
    def kernel(X: T.Tensor((6, 32), "float32"), Y: T.Tensor((32,), "float32"), Z: T.Tensor((32,), "float32")):
        with T.Kernel(1):
            tile, total = T.alloc_shared((32,), "float32"), T.alloc_fragment((32,), "float32")
            T.clear(total)
            for k in T.Pipelined(6, num_stages=2):
                T.copy(X[k, :], tile)
                for i in T.Parallel(32):
                    total[i] = total[i] * 0.5 + tile[i]
            T.copy(total, Y)
            for k in T.Pipelined(1, 5, num_stages=3, order=[0, 1], stage=[0, 1]):
                T.copy(X[k, :], tile)
                for i in T.Parallel(32):
                    total[i] += tile[i]
            T.copy(total, Z)

    check(kernel, target, sample("float32", (6, 32)), zeros("float32", 32), zeros("float32", 32), compare=close)


@pytest.mark.parametrize("divisor", [3, 0, -4])
def test_a_division_runs_only_where_its_guard_holds(target, divisor):
    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32"), Y: T.Tensor((6, 8), "int32"), n: T.int32):
        with T.Kernel(1):
            Y[0, 0] = 100 // n if n != 0 else 7
            if n != 0 and 100 // n > 2:
                Y[1, 0] = 1
            if n == 0 or T.truncmod(100, n) > 2:
                Y[2, 0] = 1
            Y[3, 0] = T.if_then_else(n != 0, 100 % n, 5)
            for i in T.Parallel(8):
                Y[4, i] = 100 // X[i] if X[i] != 0 else 7
                if X[i] != 0 and 100 // X[i] > 20:
                    Y[5, i] = T.truncdiv(100, X[i])

    check(kernel, target, np.array([3, 0, -4, 0, 5, 0, 1, 0], np.int32), zeros("int32", (6, 8)), divisor)


def test_a_variable_assigned_to_itself_and_to_others(target):
    @T.prim_func
    def kernel(Y: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            v = T.alloc_var("int32", init=1)
            w = T.alloc_var("int32", init=2)
            for _ in T.serial(3):
                v = v
                v = v + w
                w = v
                before = v
                v = 10
                Y[0] = before
            Y[1], Y[2] = v, w

    (y,) = check(kernel, target, zeros("int32", 4))
    assert y.tolist() == [23, 10, 23, 0]


@pytest.mark.parametrize("condition", ["by", "by < 1", "else"])
@pytest.mark.parametrize("threads", [32, 128])
def test_threads_meet_in_a_branch_and_go_on_behind_it(target, condition, threads):
    """A tile that all threads fill and read within a branch that a block takes as a whole; then another tile."""

    @T.prim_func
    def kernel(X: T.Tensor((2, 2), "int32"), Y: T.Tensor((2, 2), "int32"), Z: T.Tensor((2, 2), "int32")):
        with T.Kernel(2, threads=threads) as by:
            few, last = T.alloc_shared((2,), "int32"), T.alloc_shared((2,), "int32")
            if by < 1 if condition == "by < 1" else by == 1:
                if condition != "else":
                    T.copy(X[by, 0], few)
                    for i in T.Parallel(2):
                        Y[by, i] = few[1 - i]
            else:
                if condition == "else":
                    T.copy(X[by, 0], few)
                    for i in T.Parallel(2):
                        Y[by, i] = few[1 - i]
            for i in T.Parallel(2):
                last[i] = i + by
            for i in T.Parallel(2):
                Z[by, i] = last[1 - i]

    x = np.array([[5, 6], [7, 8]], np.int32)
    check(kernel, target, x, zeros("int32", (2, 2)), zeros("int32", (2, 2)))
