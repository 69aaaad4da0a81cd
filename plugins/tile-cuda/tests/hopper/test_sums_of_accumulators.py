"""Stores of fragments that accumulators are added to: a tensor map does them where the layout is the accumulator's."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kernels import operands, product
from .kit import built, chosen, declined

HALF = "float16"


def promoted(form="scaled"):
    """Partial sums of 64 along K, added to ``total`` in different forms."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 256), HALF), B: T.Tensor((256, 64), HALF), C: T.Tensor((64, 64), HALF)):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((64, 64), HALF), T.alloc_shared((64, 64), HALF)
            part, total = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            T.clear(total)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, part, clear_accum=True)
                if form == "scaled":
                    for i, j in T.Parallel(64, 64):
                        total[i, j] += part[i, j] * 2
                elif form == "by T.copy":
                    T.copy(part, total)
                elif form == "constant":
                    for i, j in T.Parallel(64, 64):
                        total[i, j] = total[i, j] + 1
            T.copy(total, C)

    return kernel


EXPECTED = {
    "scaled": lambda a, b: 2 * product(a, b),
    "by T.copy": lambda a, b: product(a[:, 192:], b[192:]),
    "constant": lambda a, b: np.full((64, 64), 4.0),
}


@pytest.mark.parametrize("form", EXPECTED)
def test_the_fragment_is_stored_as_an_accumulator_is(form):
    kernel = built(promoted(form))
    a, b = operands((64, 64, 256), (HALF, HALF, "float32"), most=1)
    c = np.full((64, 64), -1, HALF)
    kernel(a, b, c)
    np.testing.assert_array_equal(c.astype(float), EXPECTED[form](a, b))
    assert ("tensor store" in chosen(kernel, "copy")) == (form == "scaled")
    if form != "scaled":
        assert "its source is not an accumulator of wgmma" in declined(kernel, "copy", "tensor store")
