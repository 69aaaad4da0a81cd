"""Negated int32 values that ptxas must not fuse into a minimum or maximum of three."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T


def emitted(arch, dtype="int32", largest=True):
    @T.prim_func
    def kernel(X: T.Tensor((64,), dtype), Y: T.Tensor((3, 64), dtype)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                Y[0, i] = T.max(X[i], T.max(X[63 - i], -X[i])) if largest else -X[i]
                Y[1, i] = X[i] * T.cast(-1, dtype)
                Y[2, i] = 0 - X[i]

    return tilecore.lower(kernel, target=f"cuda -arch={arch}").kernel_source


@pytest.mark.parametrize(("arch", "count"), [("sm_80", 0), ("sm_89", 0), ("sm_90", 3), ("sm_90a", 3), ("sm_100", 3)])
def test_where_the_instruction_is(arch, count):
    source = emitted(arch)
    assert source.count("tc_negative(X[") == count
    assert "tc_negative(6" not in source, "indices stay as they are"


@pytest.mark.parametrize("dtype", ["int64", "float32", "int16"])
def test_other_types_are_right(dtype):
    assert "tc_negative" not in emitted("sm_90", dtype)


def test_kernels_that_look_for_no_extreme():
    assert "tc_negative" not in emitted("sm_90", largest=False)
