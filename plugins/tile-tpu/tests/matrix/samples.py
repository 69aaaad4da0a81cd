"""Values of every element type, and the tolerance of results."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tilecore.dtypes import FACTS


def element(dtype: str) -> np.dtype:
    return np.dtype(bool) if dtype == "bool" else np.dtype(getattr(ml_dtypes, dtype, None) or dtype)


def sample(dtype: str, shape: Any, seed: int = 0) -> np.ndarray:
    """Integers of the whole range, or floats around 0."""
    rng = np.random.default_rng(seed)
    kind = element(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return rng.integers(limits.min, int(limits.max) + 1, shape, dtype=kind)
    return (rng.standard_normal(shape) * 3).astype(np.float32).astype(kind)


def corners(dtype: str) -> np.ndarray:
    """The ends of the range; for floats also halves, infinities, NaN, and numbers beyond the ends of integer types."""
    kind = element(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        near = [limits.min, limits.min + 1, 0, 1, 2, limits.max // 2, limits.max // 2 + 1, limits.max - 1, limits.max]
        return np.array([*near, *range(120, 131)], dtype=np.int64).astype(kind)
    values = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 1.0, -1.0, 127.5, 128, 255, 256, -129, 32768, 65504, 65520, -65536]
    values += [2147483648.0, -2147483648.0, 4294967296.0, 1e9, -3e38, 3e38, np.inf, -np.inf, np.nan, 448, 464, 57344]
    values += [2.0**-20, -(2.0**-24), 2.0**-120]
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(kind)


def wide(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def differences(got: np.ndarray, expected: np.ndarray, dtype: str, exact: bool) -> str:
    """A description of the first difference, or "". Results must be equal, or for functions of floats within the
    accuracy of the unit: 1e-5 of the value or 4e-6, and two units in the last place of the type."""
    mine, other = wide(got), wide(expected)
    if exact or element(dtype).kind in "iub":
        bad = ~((mine == other) | ((mine != mine) & (other != other)))
    else:
        facts = FACTS[dtype]
        least = 4e-6 + facts.min_normal * (2.0**-facts.significand if facts.bits < 32 else 1)
        bad = ~np.isclose(mine, other, rtol=2 * 2.0**-facts.significand + 1e-5, atol=least, equal_nan=True)
    if not bad.any():
        return ""
    places = np.argwhere(bad)[:4].tolist()
    return f"{bad.sum()} differ, at {places}: {mine[bad][:4].tolist()} for {other[bad][:4].tolist()}"
