"""Barriers that need to order threadgroup memory alone do not order device memory."""

from __future__ import annotations

import re

import numpy as np

import tilecore
import tilecore.language as T


@T.prim_func
def reversed_rows(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "int32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((128,), "float32")
        T.copy(X, tile)
        for i in T.Parallel(128):
            Y[i] = T.cast(tile[127 - i], "int32")


@T.prim_func
def through_device_memory(X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "int32")):
    with T.Kernel(1, threads=128):
        for i in T.Parallel(128):
            X[i] = X[i] * 2
        T.sync_threads()
        for i in T.Parallel(128):
            Y[i] = T.cast(X[127 - i], "int32")


def run(func) -> list[str]:
    """The barriers in the source of a kernel, whose results are right."""
    kernel = tilecore.compile(func, target="metal", execution_backend="sim")
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.int32)
    kernel(x, y)
    np.testing.assert_array_equal(y, x[::-1])
    return re.findall(r"tc_\w*barrier", kernel.get_kernel_source())


def test_exchanges_in_threadgroup_memory():
    assert set(run(reversed_rows)) == {"tc_shared_barrier"}


def test_exchanges_in_device_memory():
    assert "tc_barrier" in run(through_device_memory)
