"""T.sync_threads(number, threads) in code of some threads, in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.interpreter import interpret


def suffix_sums(waiting):
    """Suffix sums of 64 numbers by the first 64 of 128 threads, step by step."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            sums = T.alloc_shared((64,), "int32")
            value = T.alloc_var("int32")
            if tx < 64:
                sums[tx] = X[tx]
            T.sync_threads()
            if tx < 64:
                for i in T.serial(6):
                    T.sync_threads(3, waiting)
                    if tx < 64 - (1 << i):
                        value = sums[tx] + sums[tx + (1 << i)]
                    T.sync_threads(3, waiting)
                    if tx < 64 - (1 << i):
                        sums[tx] = value
            T.sync_threads()
            if tx < 64:
                Y[tx] = sums[tx]

    return kernel


X = np.arange(64, dtype=np.int32)
EXPECTED = np.cumsum(X[::-1])[::-1]


def test_as_many_threads_as_it_says_reach_it():
    y = np.zeros(64, np.int32)
    interpret(suffix_sums(64), X, y)
    np.testing.assert_array_equal(y, EXPECTED)


def test_fewer_threads_than_it_says_are_an_error():
    with pytest.raises(LanguageError, match="reached by only some threads"):
        interpret(suffix_sums(96), X, np.zeros(64, np.int32))
