"""T.copy of one element in T.Parallel: a copy of the iteration."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.interpreter import interpret


def test_elements_are_copied_and_converted():
    @T.prim_func
    def kernel(A: T.Tensor((16, 24), "float32"), B: T.Tensor((24, 16), "int32")):
        with T.Kernel(2, 4, threads=32) as (bx, by):
            shared = T.alloc_shared((12, 4), "float32")
            for i, j in T.Parallel(4, 12):
                T.copy(A[by * 4 + i, bx * 12 + j], shared[j, i])
            for j, i in T.Parallel(12, 4):
                if by * 4 + i < 15:
                    T.copy(shared[j, i], B[bx * 12 + j, by * 4 + i])

    a = np.random.default_rng(0).uniform(-50, 50, (16, 24)).astype(np.float32)
    b, c = np.zeros((24, 16), np.int32), np.zeros((24, 16), np.int32)
    tilecore.compile(kernel, target="cpu")(a, b)
    interpret(kernel.ir, a, c)
    assert (b == c).all()
    assert (b[:, :15] == a.T.astype(np.int32)[:, :15]).all()
    assert (b[:, 15] == 0).all()


def test_tiles_are_refused_there():
    @T.prim_func
    def kernel(A: T.Tensor((16, 24), "float32"), B: T.Tensor((16, 24), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(16):
                T.copy(A[i, 0:24], B[i, 0])

    with pytest.raises(LanguageError, match=r"T\.copy stands inside T\.Parallel"):
        tilecore.compile(kernel, target="cpu")
