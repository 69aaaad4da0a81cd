"""T.sync_grid: one kernel whose blocks see, after it, what all of them wrote before."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, UnsupportedError

from .kit import check, close, sample, zeros


def test_two_steps(target):
    """Row maxima by one block each, then every block scales by that of all. Indices are computed once more, memory
    that only the second step uses is the second kernel's."""

    @T.prim_func
    def kernel(X: T.Tensor((12, 64), "float32"), M: T.Tensor((12,), "float32"), Y: T.Tensor((12, 64), "float32")):
        with T.Kernel(3, 4, threads=64) as (bx, by):
            row = bx * 4 + by
            x, m = T.alloc_fragment((64,), "float32"), T.alloc_fragment((1,), "float32")
            s = T.alloc_shared((64,), "float32")
            T.annotate_layout({s: tilecore.layout.make_linear_layout(s)})
            T.copy(X[row, 0], x)
            T.reduce_absmax(x, m, dim=0)
            M[row] = m[0]
            T.sync_grid()
            other = 11 - row
            all_rows = T.alloc_fragment((12,), "float32")
            top = T.alloc_fragment((1,), "float32")
            T.copy(M, all_rows)
            T.reduce_max(all_rows, top, dim=0)
            T.copy(X[other, 0], s)
            for i in T.Parallel(64):
                Y[row, i] = s[i] / top[0]

    x = sample("float32", (12, 64))
    y = check(kernel, target, x, zeros("float32", 12), zeros("float32", (12, 64)), compare=close)[2]
    np.testing.assert_allclose(y, x[::-1] / np.abs(x).max(), rtol=1e-6)


@pytest.mark.parametrize("blocks", [1, 5, 300])
def test_more_steps_than_fit_at_once(target, blocks):
    """Blocks that could not all be resident at once wait for each other nevertheless."""

    @T.prim_func
    def kernel(A: T.Tensor((blocks,), "int32"), B: T.Tensor((blocks,), "int32")):
        with T.Kernel(blocks, threads=32) as b:
            left = (b + blocks - 1) % blocks
            B[b] = A[left] + 1
            T.sync_grid()
            A[b] = B[left] * 2
            T.sync_grid()
            B[b] = A[left] + b

    a = sample("int32", blocks)
    check(kernel, target, a, zeros("int32", blocks))
    expected = (np.roll(a, 2) + 1) * 2
    got = check(kernel, target, a, zeros("int32", blocks))
    np.testing.assert_array_equal(got[0], expected)
    np.testing.assert_array_equal(got[1], np.roll(expected, 1) + np.arange(blocks))


def test_what_does_not_live_on():
    def build(body):
        @T.prim_func
        def kernel(A: T.Tensor((8,), "float32")):
            with T.Kernel(8, threads=32) as b:
                body(A, b)

    def memory(A, b):
        s = T.alloc_shared((8,), "float32")
        T.copy(A, s)
        T.sync_grid()
        T.copy(s, A)

    def loop(A, b):
        for _ in T.serial(3):
            T.sync_grid()

    for body, words in ((memory, "used before and after T.sync_grid"), (loop, "inside a loop")):
        with pytest.raises(UnsupportedError, match=words):
            build(T.macro(body))

    with pytest.raises(UnsupportedError, match="value is used before and after"):

        @T.prim_func
        def value(A: T.Tensor((8,), "float32")):
            with T.Kernel(8, threads=32) as b:
                value = A[b] + 1
                T.sync_grid()
                A[b] = value

    with pytest.raises(LanguageError, match=r"outside T\.Kernel"):

        @T.prim_func
        def outside(A: T.Tensor((8,), "float32")):
            with T.Kernel(8, threads=32) as b:
                A[b] = 1
            T.sync_grid()
