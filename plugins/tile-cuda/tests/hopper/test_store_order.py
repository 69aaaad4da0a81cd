"""TMA stores are left to other implementations where another write of the elements is not ordered with them."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import as_interpreted, built, chosen, declined, small

HALF = "float16"


@T.macro
def alone(c, C):
    T.copy(c, C[0:64, 0:64])


@T.macro
def halves(c, C):
    T.copy(c, C[0:64, 0:64])
    T.copy(c, C[64:128, 0:64])


@T.macro
def tiles_of_a_loop(c, C):
    for t in T.serial(2):
        T.copy(c, C[t * 64 : t * 64 + 64, 0:64])


@T.macro
def twice(c, C):
    T.copy(c, C[0:64, 0:64])
    T.copy(c, C[0:64, 0:64])


@T.macro
def overlapping(c, C):
    T.copy(c, C[0:64, 0:64])
    T.copy(c, C[32:96, 0:64])


@T.macro
def repeated(c, C):
    for _ in T.serial(2):
        T.copy(c, C[0:64, 0:64])


@T.macro
def filled(c, C):
    T.fill(C[0:64, 0:64], 1)
    T.copy(c, C[0:64, 0:64])


@T.macro
def changed(c, C):
    T.copy(c, C[0:64, 0:64])
    for i in T.Parallel(64):
        C[i, 0] = T.float16(7)


def product(store):
    @T.prim_func
    def multiply(A: T.Tensor((64, 64), HALF), B: T.Tensor((64, 64), HALF), C: T.Tensor((128, 64), HALF)):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(1, num_stages=1):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            store(c, C)

    return multiply


@pytest.mark.parametrize("store", [alone, halves, tiles_of_a_loop], ids=lambda f: f.__name__)
def test_ordered_stores(store):
    func = product(store)
    kernel = built(func)
    assert "tensor store" in chosen(kernel, "copy")
    as_interpreted(func, kernel, small(HALF, (64, 64), 1), small(HALF, (64, 64), 2), np.zeros((128, 64), np.float16))


@pytest.mark.parametrize(
    ("store", "reason"),
    [
        (twice, "the same elements of C are stored twice"),
        (overlapping, "another copy writes C, maybe the same elements"),
        (repeated, "store the same elements of C"),
        (filled, "another copy writes C, maybe the same elements|stored twice"),
        (changed, "threads write C, too"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_other_writes(store, reason):
    func = product(store)
    kernel = built(func)
    assert "tensor store" not in chosen(kernel, "copy")
    reasons = declined(kernel, "copy", "tensor store")
    assert any(part in text for text in reasons for part in reason.split("|")), reasons
    as_interpreted(func, kernel, small(HALF, (64, 64), 1), small(HALF, (64, 64), 2), np.zeros((128, 64), np.float16))
