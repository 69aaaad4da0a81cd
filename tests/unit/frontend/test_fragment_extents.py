"""Fragments that a kernel's loops index beyond their extents."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.frontend.fragment_extents import ExtentWarning


def kernel(extent, is_guarded=False):
    """Y[i, j] = X[block] + j."""

    @T.prim_func
    def spread(X: T.Tensor((3,), "float32"), Y: T.Tensor((3, 64), "float32")):
        with T.Kernel(3, threads=32) as block:
            values = T.alloc_fragment((extent,), "float32")
            for i in T.Parallel(64):
                if is_guarded:
                    if i < extent:
                        values[i] = X[block]
                else:
                    values[i] = X[block]
            for i in T.Parallel(64):
                Y[block, i] = T.if_then_else(i < extent, values[i], X[block]) + i

    return spread


@pytest.mark.parametrize("extent", [1, 8, 63])
def test_the_fragment_gets_the_elements(extent):
    with pytest.warns(ExtentWarning, match=rf"the fragment values of shape \({extent},\) is indexed beyond it"):
        func = kernel(extent).ir
    x = np.arange(3, dtype=np.float32)
    y = np.zeros((3, 64), np.float32)
    tilecore.compile(func, target="cpu")(x, y)
    np.testing.assert_array_equal(y, x[:, None] + np.arange(64))


@pytest.mark.parametrize(("extent", "is_guarded"), [(64, False), (100, False), (8, True)])
def test_others_stay(extent, is_guarded):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        func = kernel(extent, is_guarded).ir
    assert f"({extent},)" in func.script()


def test_indices_that_do_not_reach_their_bound_and_fragments_with_views():
    @T.prim_func
    def func(Y: T.Tensor((14,), "float32"), Z: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            a, b = T.alloc_fragment((14,), "float32"), T.alloc_fragment((2, 2), "float32")
            flat = T.reshape(b, (4,))
            T.clear(a)
            for i in T.Parallel(13):
                a[i + (i + 1) % 4] = i
            T.copy(a, Y)
            T.fill(b, 1)
            T.copy(flat, Z)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "(14,)" in func.ir.script()


def test_shared_memory_beyond_its_end():
    message = "the index of axis 0 of tile goes up to 39, and the axis has 32 elements"
    with pytest.warns(ExtentWarning, match=message) as caught:

        @T.prim_func
        def filling(A: T.Tensor((64,), "float32")):
            with T.Kernel(1, threads=32):
                tile = T.alloc_shared((32,), "float32")
                for i in T.serial(40):
                    tile[i] = A[i]
                for i in T.Parallel(32):
                    A[i] = tile[i]

    line = Path(__file__).read_text(encoding="utf-8").splitlines()[caught[0].lineno - 1]
    assert (caught[0].filename, line.strip()) == (__file__, "tile[i] = A[i]")
