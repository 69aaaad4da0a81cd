"""The pass recognize_fills: nests that store one constant everywhere."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.ir.nodes import Evaluate
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.loops.recognize_fills import recognize_fills


def masked(case, length=64):
    """Scores of 2 tiles of 32 keys, masked beyond ``length``."""

    @T.prim_func
    def kernel(C: T.Tensor((16, 64), "float32")):
        with T.Kernel(1):
            s = T.alloc_fragment((16, 32), "float32")
            for k in T.serial(2):
                if case == "mask":
                    for i, j in T.Parallel(16, 32):
                        s[i, j] = T.if_then_else(k * 32 + j < length, 0, -T.infinity("float32"))
                elif case == "part":
                    for i, j in T.Parallel(16, 31):
                        s[i, j] = 0
                elif case == "turned":
                    for j, i in T.Parallel(32, 16):
                        s[i, j] = 3
                elif case == "by row":
                    for i, j in T.Parallel(16, 32):
                        s[i, j] = i
                T.copy(s, C[0, k * 32])

    return kernel


def fills(func):
    calls = [as_tile_call(node) for node in collect(recognize_fills(func.ir, None).body, Evaluate)]
    return sum(call is not None and call.op.name == "fill" for call in calls)


def test_which_nests_are_fills():
    assert fills(masked("mask")) == 1, "all keys are seen"
    assert fills(masked("mask", 63)) == 0
    assert fills(masked("part")) == 0
    assert fills(masked("turned")) == 0, "other orders of the loops are left alone"
    assert fills(masked("by row")) == 0


@pytest.mark.parametrize("length", [1, 32, 63, 64])
def test_masks_keep_their_meaning(length):
    c = np.ones((16, 64), np.float32)
    tilecore.compile(masked("mask", length), target="cpu")(c)
    assert (c[:, :length] == 0).all()
    assert (c[:, length:] == -np.inf).all()
