"""apply_simplify: a kernel function without the tensors that it does not use."""

from __future__ import annotations

import numpy as np
from tilecore.transform.simplify import apply_simplify as by_module

import tilecore
import tilecore.language as T
from tilecore.transform import apply_simplify, simplify_prim_func


def scaled(with_bias: bool):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(
        X: T.Tensor((8,), "float32"),
        bias: T.Tensor((8,), "float32"),
        sizes: T.Tensor((n,), "float32"),
        factor: T.float32,
        unused: T.int32,
        Y: T.Tensor((8,), "float32"),
    ):
        with T.Kernel(1):
            for i in T.Parallel(8):
                Y[i] = X[i] * factor + (bias[i] if with_bias else 0.0) + n

    return kernel


def test_unused_tensors_are_no_parameters():
    """A tensor that has a size of the kernel stays, and so do scalars."""
    assert by_module is apply_simplify
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    whole, short = scaled(True), scaled(False)
    assert apply_simplify(whole) is whole
    tilecore.compile(apply_simplify(short), target="cpu")(x, np.zeros(3, np.float32), 2.0, 1, y)
    assert (y == 2 * x + 3).all()
    assert len(short.params) == 6  # the function itself stays as it is
    (kept,) = {str(p.name) for p in short.params} - {str(p.name) for p in apply_simplify(short.ir).params}
    assert kept == "bias"


def test_the_decorator():
    simplified = simplify_prim_func(scaled)
    assert [str(param.name) for param in simplified(with_bias=False).params] == ["X", "sizes", "factor", "unused", "Y"]


def test_outputs_stay():
    @T.prim_func
    def kernel(X: T.Tensor((8,), "int32"), W: T.Tensor((8,), "int32")):
        Y = T.empty((8,), "int32")
        with T.Kernel(1):
            for i in T.Parallel(8):
                Y[i] = X[i] + 1
        return Y

    assert np.asarray(tilecore.compile(apply_simplify(kernel), target="cpu")(np.ones(8, np.int32))).tolist() == [2] * 8
