"""pair_bits: which 16-bit values are extracted in pairs, and that all results are correct."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilecore
import tilecore.language as T

N = 256


def unpacked(kind, source, shift, mask, bits, order="or"):
    """Y[i, v] = the bits of X[i] from v * shift on, as a value of type ``kind``."""

    @T.prim_func
    def kernel(X: T.Tensor((N // 2,), source), Y: T.Tensor((N // 2, 2), kind)):
        with T.Kernel(1, threads=64):
            x, y = T.alloc_shared((N // 2,), source), T.alloc_fragment((N // 2, 2), kind)
            T.copy(X, x)
            for i in T.Parallel(N // 2):
                for v in T.unroll(2):
                    q = T.cast(x[i], "int32") >> (v * shift)
                    q = q if mask is None else q & mask
                    if order == "guarded":
                        q = T.if_then_else(i > 0, q, 1)
                    y[i, v] = T.reinterpret(T.cast(q | bits if bits else q, "uint16"), kind)
            T.copy(y, Y)

    return kernel


PAIRS = {
    "four bits": ("float16", "uint8", 4, 15, 0x6400),
    "of bfloat16": ("bfloat16", "uint8", 4, 15, 0x4300),
    "no bits to set": ("int16", "uint8", 4, 15, 0),
    "two bits": ("float16", "uint8", 2, 3, 0x3C00),
    "far apart": ("int16", "uint8", 7, 1, 0x10),
    "no mask": ("int16", "uint8", 4, None, 0x100),
    "a wide mask": ("int16", "uint8", 3, 0xFFFF, 0x8000),
}
SINGLE = {
    "bits that overlap": ("int16", "uint16", 4, 15, 0x6400),
    "bits that may overlap": ("int16", "uint8", 9, 15, 0),
    "a sign": ("int16", "int8", 4, 15, 0),
}


def run(func, seed=0):
    kernel = tilecore.compile(func, target="cuda", execution_backend="sim")
    params = kernel.artifact.params
    x = np.random.default_rng(seed).integers(0, 256, N // 2).astype(params[0].dtype)
    y = np.zeros((N // 2, 2), np.uint16)
    kernel(x, y.view(ml_dtypes.bfloat16 if params[1].dtype == "bfloat16" else params[1].dtype))
    return kernel.get_kernel_source(), x, y


def expected_bits(x, shift, mask, bits):
    shifted = x.astype(np.int32)[:, None] >> (np.arange(2) * shift)
    return ((shifted if mask is None else shifted & mask) | bits).astype(np.uint16)


@pytest.mark.parametrize("name", [*PAIRS, *SINGLE])
def test_bits_of_neighbours(name):
    kind, source, shift, mask, bits = (PAIRS | SINGLE)[name]
    text, x, y = run(unpacked(kind, source, shift, mask, bits))
    assert ("tc_bit_pair" in text) == (name in PAIRS)
    np.testing.assert_array_equal(y, expected_bits(x, shift, mask, bits))


def test_what_a_condition_guards_stays_single():
    text, x, y = run(unpacked("int16", "uint8", 4, 15, 0, order="guarded"))
    assert "tc_bit_pair" not in text
    np.testing.assert_array_equal(y[1:], expected_bits(x, 4, 15, 0)[1:])
    assert y[0].tolist() == [1, 1]
