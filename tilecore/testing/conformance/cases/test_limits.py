"""Limits are what the device has: a block of as many threads, and one with as much on-chip memory, as are declared."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LimitError
from tilecore.plugins import manager

from .kit import check, zeros

WORD = 4  # bytes of an element here


def declared(target):
    backend, resolved = manager.resolve(str(target))
    return backend.target.capabilities(resolved)


def test_as_many_threads_as_are_declared(target):
    most = declared(target).max_threads
    if not most:
        pytest.skip("not declared: a limit of threads")

    @T.prim_func
    def crowded(X: T.Tensor((3, most), "int32"), Y: T.Tensor((3, most), "int32")):
        with T.Kernel(3, threads=most) as bx:
            for i in T.Parallel(most):
                Y[bx, i] = X[bx, most - 1 - i] + i

    x = np.arange(3 * most, dtype=np.int32).reshape(3, most)
    check(crowded, target, x, zeros("int32", (3, most)))


def test_as_much_memory_as_is_declared(target):
    """Every byte of it holds what was put there; a target that keeps some of it for itself may refuse."""
    size = declared(target).shared_bytes // WORD
    if not size:
        pytest.skip("not declared: a limit of on-chip memory")

    @T.prim_func
    def filled(X: T.Tensor((size,), "int32"), Y: T.Tensor((size,), "int32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((size,), "int32")
            T.copy(X, tile)
            for i in T.Parallel(size):
                Y[i] = tile[size - 1 - i]

    try:
        check(filled, target, np.arange(size, dtype=np.int32), zeros("int32", (size,)))
    except LimitError as error:
        pytest.skip(f"{error.message}, {error.expected}")
