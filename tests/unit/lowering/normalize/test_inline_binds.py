"""inline_binds: integer arithmetic is put in its place; what is read or called, and what is large, is not."""

from __future__ import annotations

import numpy as np

import tilecore.language as T
from tilecore.ir.nodes import Bind
from tilecore.ir.visit import collect

from ..kit import agrees, lowered


def bound(func):
    """Names of the values that are still bound before and after the pass."""
    before, _ = lowered(func, "inline_binds", before=True)
    after, _ = lowered(func, "inline_binds")
    return tuple([str(node.var.name) for node in collect(f.body, Bind)] for f in (before, after))


def test_integers_are_inlined_through_each_other_and_others_are_not():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32"), I: T.Tensor((64,), "int32"), n: T.int32):  # noqa: E741
        with T.Kernel(2) as b:
            offset = b * 8 + n
            twice = offset * 2
            index = I[0]
            value = A[0] * 2.0
            root = T.cast(T.sqrt(A[1]), "int32")
            for i in T.Parallel(8):
                A[twice + i + index + root] = value

    before, after = bound(kernel)
    assert {"offset", "twice"} <= set(before)
    assert after == [name for name in before if name not in ("offset", "twice")]
    assert {"index", "value"} <= set(after), "memory may change after it was read"
    agrees(kernel, np.arange(64, dtype=np.float32), np.zeros(64, np.int32), 1)


def test_what_was_read_keeps_its_value():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            first = A[0] + 1
            A[0] = 9
            A[1] = first

    (array,) = agrees(kernel, np.array([5, 0, 0, 0], np.int32))
    assert array[:2].tolist() == [9, 6]


def test_a_value_that_grows_with_each_use_is_kept_once():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32"), n: T.int32):
        with T.Kernel(1):
            a = n + 1
            b = a * a
            c = b * b
            d = c * c
            e = d * d
            f = e * e
            A[0] = f * f

    before, after = bound(kernel)
    assert len(before) == 6
    assert 0 < len(after) < 6
    agrees(kernel, np.zeros(4, np.int32), 2)
