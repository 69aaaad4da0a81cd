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
                elif case == "mask by a variable":
                    for i, j in T.Parallel(16, 32):
                        seen = k * 32 + j < length
                        s[i, j] = T.if_then_else(seen, 0, -T.infinity("float32"))
                elif case == "whole numbers":
                    for i, j in T.Parallel(16, 32):
                        s[i, j] = T.if_then_else(k * 32 + j < length, 0, -1)
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
    for case in ("mask", "mask by a variable", "whole numbers"):
        assert fills(masked(case, 64)) == 1, case
        assert fills(masked(case, 63)) == 0, case
    assert fills(masked("part")) == 0
    assert fills(masked("turned")) == 0, "other orders of the loops are left alone"
    assert fills(masked("by row")) == 0


@pytest.mark.parametrize("case", ["mask", "mask by a variable", "whole numbers"])
@pytest.mark.parametrize("length", [1, 32, 63, 64])
def test_masks_keep_their_meaning(length, case):
    c = np.full((16, 64), 7, np.float32)
    tilecore.compile(masked(case, length), target="cpu")(c)
    assert (c[:, :length] == 0).all()
    assert (c[:, length:] == (-1 if case == "whole numbers" else -np.inf)).all()


VALUES = {
    "equal to itself": (lambda x, i: T.if_then_else(x == x, 0.0, 1.0), lambda x, i: np.where(x == x, 0, 1)),
    "times zero": (lambda x, i: x * 0.0, lambda x, i: x * 0),
    "less itself": (lambda x, i: x - x, lambda x, i: x - x),
    "wraps": (
        lambda x, i: T.if_then_else((i + 1) * 100000000 > 0, 1.0, 0.0),
        lambda x, i: np.where((i + 1).astype(np.int32) * np.int32(100000000) > 0, 1, 0) + 0 * i,
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_that_only_look_constant(name):
    """NaN and infinity are no numbers to cancel, and integers wrap around."""
    compute, expected = VALUES[name]

    @T.prim_func
    def kernel(X: T.Tensor((64, 16), "float32"), Y: T.Tensor((64, 16), "float32")):
        with T.Kernel(1):
            x, y = T.alloc_fragment((64, 16), "float32"), T.alloc_fragment((64, 16), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(64, 16):
                y[i, j] = compute(x[i, j], i)
            T.copy(y, Y)

    x = np.zeros((64, 16), np.float32)
    x[1, :2], x[2, :2] = np.nan, np.inf
    y = np.full((64, 16), 9, np.float32)
    tilecore.compile(kernel, target="cpu")(x, y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(y, expected(x, np.arange(64)[:, None] + np.zeros((1, 16), int)))
