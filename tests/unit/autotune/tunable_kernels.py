"""Kernels to tune: what a configuration asks for decides how they behave."""

from __future__ import annotations

import tilecore.language as T
from tilecore.jit.impl import jit


def adder(n, block, amount=1, moods=(), dtype="int32"):
    """B = A + amount, in blocks; moods: what the moody backend should do."""

    @T.prim_func
    def add(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype)):
        with T.Kernel(n // block) as bx:
            T.annotate_compile_flags([f"moody-{mood}" for mood in moods])
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] + amount

    return add


def factory(target, **settings):
    """A fresh jit function for each test: add(n, block=None, amount=1, moods=())."""

    @jit(out_idx=-1, target=target, **settings)
    def add(n, block=None, amount=1, moods=()):
        if block > n:
            raise ValueError(f"block {block} is larger than {n}")
        return adder(n, block, amount, moods)

    return add


def plus_one(a):
    return a + 1
