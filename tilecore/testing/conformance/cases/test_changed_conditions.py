"""Conditions of threads around what is the same in all of them, and conditions whose memory changes under them."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import compiled


def by_one_thread(where):
    @T.prim_func
    def kernel(Y: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            if where == "one thread":
                if tx == 5:
                    Y[1] = 3
            elif where == "some threads":
                if tx >= 32:
                    Y[1] = 3
            elif where == "the other side":
                if tx < 32:
                    Y[2] = 1
                else:
                    Y[1] = 3
            elif where == "a loop":
                for _ in T.serial(tx):
                    Y[1] = 3
            else:
                flag = T.alloc_shared((4,), "int32")
                if tx < 4:
                    flag[tx] = 0
                T.sync_threads()
                if tx == 33:
                    flag[1] = 3
                T.sync_threads()
                if tx == 0:
                    Y[1] = flag[1]

    return kernel


@pytest.mark.parametrize("where", ["one thread", "some threads", "the other side", "a loop", "shared memory"])
def test_a_store_of_the_same_value_by_some_threads(target, where):
    """Its value and place are the same in all threads, but not all of them are there: thread 0 may not be."""
    values = np.zeros(8, np.int32)
    compiled(by_one_thread(where), target)(values)
    assert values[1] == 3


@pytest.mark.parametrize("reads_other", [False, True])
def test_a_condition_is_not_believed_after_its_memory_has_changed(target, reads_other):
    """Else the check of the bounds is left out, and the store goes past the end of the tensor."""

    @T.prim_func
    def kernel(N: T.Tensor((4,), "int32"), J: T.Tensor((4,), "int32"), Y: T.Tensor((64,), "int32")):
        with T.Kernel(1):
            if N[0] <= 56 and N[0] >= 0:
                if reads_other:
                    J[1] = 1
                else:
                    N[0] = 60
                for i in T.serial(8):
                    Y[N[0] + i] = 1

    index, other = np.array([8, 0, 0, 0], np.int32), np.zeros(4, np.int32)
    values = np.zeros(64, np.int32)
    compiled(kernel, target)(index, other, values)
    first = 8 if reads_other else 60
    expected = np.zeros(64, np.int32)
    expected[first : first + 8] = 1
    np.testing.assert_array_equal(values, expected)
