"""The pass forward_copies: copies within the block that can go, and those whose original changes."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T

from .cpu_kit import copies, whole_numbers


def chained(case="", kind="float32"):
    """D = C B where C = A B is computed first, copied, and perhaps changed."""

    @T.prim_func
    def kernel(
        A: T.Tensor((32, 32), "float32"),
        B: T.Tensor((32, 32), "float32"),
        D: T.Tensor((32, 32), "float32"),
        E: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1):
            a, b = T.alloc_shared((32, 32), "float32"), T.alloc_shared((32, 32), "float32")
            c, d = T.alloc_fragment((32, 32), "float32"), T.alloc_fragment((32, 32), "float32")
            p = T.alloc_fragment((32, 32), kind)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(d)
            for _ in T.serial(2):
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, p)
                if case == "original changes":
                    for i, j in T.Parallel(32, 32):
                        c[i, j] = 1
                if case == "copy changes":
                    for i, j in T.Parallel(32, 32):
                        p[i, j] = 1
                T.gemm(p, b, d)
                if case == "original changes after":
                    for i, j in T.Parallel(32, 32):
                        c[i, j] = 1
                if case == "repeated":
                    for _ in T.serial(2):
                        T.gemm(p, b, d)
                        T.fill(c, 2)
            T.copy(d, D)
            T.copy(c, E)

    return kernel


def forwarded(func):
    return copies(func, "forwarded")


def test_which_copies_go():
    assert forwarded(chained()) == ["p"]
    assert forwarded(chained("original changes after")) == ["p"]
    for case in ("original changes", "copy changes", "repeated"):
        assert forwarded(chained(case)) == []
    assert forwarded(chained(kind="float16")) == [], "the copy rounds"


@pytest.mark.parametrize("case", ["", "original changes", "copy changes", "original changes after", "repeated"])
def test_results_stay(case):
    rng = np.random.default_rng(0)
    a, b = whole_numbers(rng, (32, 32), "float32"), whole_numbers(rng, (32, 32), "float32")
    d, e = np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32)
    tilecore.compile(chained(case), target="cpu")(a, b, d, e)
    product = np.ones((32, 32), np.float32) if case == "copy changes" else a @ b
    np.testing.assert_array_equal(d, product @ b * (6 if case == "repeated" else 2))
    expected = {"original changes": 1, "original changes after": 1, "repeated": 2}.get(case, a @ b)
    np.testing.assert_array_equal(e, np.broadcast_to(expected, (32, 32)))


def test_a_copy_that_a_condition_skips():
    """The second iteration reads what the first one copied, while the original has changed."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 32), "float32"), B: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1):
            s, p = T.alloc_shared((32, 32), "float32"), T.alloc_shared((32, 32), "float32")
            b, c = T.alloc_shared((32, 32), "float32"), T.alloc_fragment((32, 32), "float32")
            T.copy(B, b)
            T.clear(c)
            for i in T.serial(2):
                T.copy(A[i * 32, 0], s)
                if i == 0:
                    T.copy(s, p)
                T.gemm(p, b, c)
            T.copy(c, C)

    rng = np.random.default_rng(1)
    a, b = whole_numbers(rng, (64, 32), "float32"), whole_numbers(rng, (32, 32), "float32")
    c = np.zeros((32, 32), np.float32)
    tilecore.compile(kernel, target="cpu")(a, b, c)
    np.testing.assert_array_equal(c, 2 * a[:32] @ b)
