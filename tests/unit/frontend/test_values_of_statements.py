"""Operations on tiles whose operands read the memory that they write: each is evaluated once, before."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret

N = 300


@T.macro
def fill(X, s):
    T.fill(s, s[2] + 1)


@T.macro
def fill_a_part(X, s):
    s[3:200] = s[20] + 1


@T.macro
def fill_global(X, s):
    X[0:64] = X[4] * 3


@T.macro
def copy_from_a_place(X, s):
    T.copy(X[s[5] : s[5] + 256], s[0:256])


@T.macro
def copy_to_a_place(X, s):
    T.copy(s[0:64], X[X[5] : X[5] + 64])


@T.macro
def add(X, s):
    T.atomic_add(X[X[3] : X[3] + 8], 100)


@T.macro
def in_a_loop(X, s):
    while s[0] < 30:
        T.fill(s, s[0] + 3)


def meant(name, x):
    """By numpy: X and s after the statement."""
    x, s = x.copy(), x.copy()
    if name == "fill":
        s[:] = s[2] + 1
    elif name == "fill_a_part":
        s[3:200] = s[20] + 1
    elif name == "fill_global":
        x[0:64] = x[4] * 3
    elif name == "copy_from_a_place":
        s[0:256] = x[s[5] : s[5] + 256]
    elif name == "copy_to_a_place":
        x[x[5] : x[5] + 64] = s[0:64]
    elif name == "add":
        x[x[3] : x[3] + 8] += 100
    else:
        while s[0] < 30:
            s[:] = s[0] + 3
    return x, s


@pytest.mark.parametrize(
    "statement", [fill, fill_a_part, fill_global, copy_from_a_place, copy_to_a_place, add, in_a_loop],
    ids=lambda statement: statement.__name__,
)  # fmt: skip
def test_operands_are_evaluated_once(statement):
    @T.prim_func
    def kernel(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((N,), "int32")
            T.copy(X, s)
            statement(X, s)
            T.copy(s, Y)

    start = np.arange(N, dtype="int32")
    want_x, want_s = meant(statement.__name__, start)
    for run in (tilecore.compile(kernel, target="cpu"), lambda *arrays: interpret(kernel.ir, *arrays)):
        x, y = start.copy(), np.zeros(N, "int32")
        run(x, y)
        np.testing.assert_array_equal(x, want_x)
        np.testing.assert_array_equal(y, want_s)


def test_whether_a_product_starts_anew():
    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=32):
            a, c = T.alloc_shared((32, 32), "float32"), T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(C, c)
            T.gemm(a, a, c, clear_accum=c[0, 0] == 1.0)
            T.copy(c, C)

    a = np.random.default_rng(1).standard_normal((32, 32)).astype("float32")
    for first in (1.0, 2.0):
        c = np.full((32, 32), first, "float32")
        expected = a @ a + (0 if first == 1.0 else c)
        tilecore.compile(kernel, target="cpu")(a, c)
        np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["float32", "int8", "int64", "uint32"])
def test_loops_whose_bound_is_a_cast_value(kind):
    """What a cast may wrap is a variable for the analyzer, which simplifies the bound while the kernel is built."""

    @T.prim_func
    def kernel(X: T.Tensor((4,), kind), Y: T.Tensor((4, 4), "int32")):
        with T.Kernel(4, threads=32) as bx:
            low = T.cast(X[0], "int32") - T.cast(X[0], "int32")
            for i in T.serial(low, T.max(T.min(T.cast(X[bx], "int32"), 3), 0)):
                Y[bx, i] = 1
            for i in T.serial(T.cast(T.cast(X[bx], "int32") + 1, "int8") % 2):
                Y[bx, 3 - i] += 2

    x = np.array([0, 2, 3, 100]).astype(kind)
    expected = np.array([[min(int(v), 3) > i for i in range(4)] for v in x], np.int32)
    expected[:, 3] += 2 * ((x.astype(np.int32) + 1) % 2)
    for run in (tilecore.compile(kernel, target="cpu"), lambda *arrays: interpret(kernel.ir, *arrays)):
        y = np.zeros((4, 4), np.int32)
        run(x, y)
        np.testing.assert_array_equal(y, expected)
