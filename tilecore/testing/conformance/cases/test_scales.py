"""float8_e8m0fnu: powers of two and NaN, without a sign and without 0.

The expected values come from the exponents of the numbers, by frexp.
"""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import check, element, every_value, has_feature, same

SCALE = "float8_e8m0fnu"
SOURCES = ("float32", "float64", "bfloat16", "float16", "int32", "int64", "uint8")


def expected_bits(numbers):
    """127 and the exponent, from -127 to 127, of the least power of two not below the magnitude; 255 for NaN."""
    if numbers.dtype.kind in "iu":
        exponents = [(abs(int(number)) - 1).bit_length() if number else -127 for number in numbers]
        return (np.array(exponents) + 127).astype(np.uint8)
    wide = np.abs(numbers.astype(np.float64))
    fraction, exponent = np.frexp(np.where(np.isfinite(wide), wide, 1.0))
    exponent = np.where(wide == 0, -127, np.where(np.isinf(wide), 127, exponent - (fraction == 0.5)))
    return np.where(np.isnan(wide), 255, np.clip(exponent, -127, 127) + 127).astype(np.uint8)


def numbers_of(source):
    if "int" in source:
        numbers = [0, 1, 2, 3, 4, 5, 127, 128, 129, 255]
        if source != "uint8":
            numbers += [-1, -1000, 2**31 - 1, -(2**31), 2**24, 2**24 + 1]
        if source == "int64":
            numbers += [2**53 - 1, -(2**53), 2**62, 2**62 + 1, 2**63 - 1, -(2**63)]
        return np.array(numbers, source)
    kind = element(source)
    powers = np.exp2(np.arange(-140.0, 128.0))
    exact = np.concatenate([powers, 1.5 * powers, [0.0, np.inf, np.nan, 448.0, 1 / 3]])
    with np.errstate(over="ignore", under="ignore"):
        narrow = exact.astype(kind)
        near = [np.nextafter(narrow, kind.type(edge)) for edge in (0, np.inf)]
    return np.concatenate([narrow, -narrow, *near])


@pytest.mark.parametrize("source", SOURCES)
def test_to_scales(target, source):
    x = numbers_of(source)
    if has_feature(target, "flushes_subnormals"):
        x = np.where(np.abs(x.astype(np.float64)) < 2.0**-126, x.dtype.type(0), x)
    n = len(x)

    @T.prim_func
    def convert(X: T.Tensor((n,), source), S: T.Tensor((n,), SCALE), B: T.Tensor((n,), "uint8")):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as b:
            tile = T.alloc_shared((64,), SCALE)
            T.copy(X[b * 64], tile)
            T.copy(tile, S[b * 64])
            for i in T.Parallel(64):
                if b * 64 + i < n:
                    B[b * 64 + i] = T.reinterpret(T.cast(X[b * 64 + i], SCALE), "uint8")

    scales, raw = check(convert, target, x, np.ones(n, element(SCALE)), np.zeros(n, np.uint8))[1:]
    same(scales.view(np.uint8), expected_bits(x))
    same(raw, expected_bits(x))


def test_from_scales(target):
    every = every_value(SCALE)

    @T.prim_func
    def scaled(S: T.Tensor((256,), SCALE), X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32"),
               H: T.Tensor((256,), "bfloat16"), C: T.Tensor((256,), SCALE)):  # fmt: skip
        with T.Kernel(1, threads=64):
            tile = T.alloc_fragment((256,), SCALE)
            T.copy(S, tile)
            T.copy(tile, H)
            for i in T.Parallel(256):
                Y[i] = X[i] * S[i]
                C[i] = T.if_then_else(i < 128, S[i], 4.0)

    x = np.where(np.arange(256) == 0, 2.0**100, 0.75).astype(np.float32)  # 2**-127 alone is subnormal
    inputs = every, x, np.zeros(256, np.float32), np.zeros(256, element("bfloat16")), np.ones(256, element(SCALE))
    _, _, y, half, chosen = check(scaled, target, *inputs)
    powers = np.where(np.arange(256) < 255, np.exp2(np.arange(256.0) - 127), np.nan)
    same(y[1:], (x * powers).astype(np.float32)[1:])
    same(half[1:].astype(np.float64), powers[1:])
    same(chosen.view(np.uint8), np.where(np.arange(256) < 128, np.arange(256), 129).astype(np.uint8))
