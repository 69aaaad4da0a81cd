"""Outputs that a call allocates are released with the last reference to them, whoever allocated them.

Torch's function that makes a Python object of a tensor's handle kept a reference of its own: every output stayed in
memory. Nothing in the values shows that; only the memory of the process does.
"""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

import tilecore
import tilecore.language as T

torch = pytest.importorskip("torch")

CALLS, SIDE = 48, 1024  # outputs of 4 MiB
MIB = 1 << 20


def resident() -> int:
    """Bytes of memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def negated():
    rows = T.dynamic("rows")

    @T.prim_func
    def negate(A: T.Tensor((rows, SIDE), "float32"), B: T.Tensor((rows, SIDE), "float32")):
        with T.Kernel(rows) as row:
            for column in T.Parallel(SIDE):
                B[row, column] = -A[row, column]

    return negate


def plain():
    return tilecore.compile(negated(), target="cpu", out_idx=-1), torch.ones(SIDE, SIDE)


def arrays():
    return tilecore.compile(negated(), target="cpu", out_idx=-1), np.ones((SIDE, SIDE), "float32")


def operation():
    kernel = tilecore.compile(negated(), target="cpu", out_idx=-1)
    return kernel.torch_op("memory_of_outputs::negate"), torch.ones(SIDE, SIDE)


def eager():
    @tilecore.jit(target="cpu")
    def negate(A):
        rows = T.const("rows")
        A: T.Tensor((rows, SIDE), "float32")
        B = T.empty((rows, SIDE), "float32")
        with T.Kernel(rows) as row:
            for column in T.Parallel(SIDE):
                B[row, column] = -A[row, column]
        return B

    return negate, torch.ones(SIDE, SIDE)


@pytest.mark.parametrize("way", [plain, arrays, operation, eager], ids=lambda way: way.__name__)
def test_outputs_do_not_stay_in_memory(way):
    call, value = way()
    for _ in range(3):
        assert float(call(value)[0, 0]) == -1
    gc.collect()
    before = resident()
    for _ in range(CALLS):
        call(value)
    assert resident() - before < CALLS * 4 * MIB / 4


def test_nothing_but_its_object_refers_to_an_output():
    call, value = plain()
    outputs = [call(value) for _ in range(3)]
    assert [out._use_count() for out in outputs] == [torch.empty(1)._use_count()] * 3
