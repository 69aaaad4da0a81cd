"""A store to a replicated vector, at an index that the store itself changes."""

from __future__ import annotations

import numpy as np

import tilecore
import tilecore.language as T


@T.prim_func
def kernel(X: T.Tensor((16,), "int32"), Z: T.Tensor((8, 16), "int32")):
    with T.Kernel(1):
        vector = T.alloc_shared((16,), "int32")
        tile = T.alloc_shared((8, 16), "int32")
        T.copy(X, vector)
        T.copy(Z, tile)
        vector[vector[0]] = 5
        for i, j in T.Parallel(8, 16):
            tile[i, j] = tile[i, j] + vector[j]
        T.copy(tile, Z)


def test_the_index_is_that_of_before_the_store(monkeypatch):
    monkeypatch.setenv("TILECORE_SIMULATE", "1")
    result = np.zeros((8, 16), np.int32)
    tilecore.compile(kernel, target="tpu")(np.zeros(16, np.int32), result)
    expected = np.zeros((8, 16), np.int32)
    expected[:, 0] = 5
    np.testing.assert_array_equal(result, expected)
