"""A launch of a kernel of tpu_kernels.py with its expected results, and the numbers for such cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from tpu_kernels import BF16, E4M3, E5M2, FP16, FP32, INT8, INT16, INT32, UINT8, UINT16, UINT32

TYPES: dict[int, Any] = {
    FP32: np.float32, FP16: np.float16, BF16: ml_dtypes.bfloat16, E4M3: ml_dtypes.float8_e4m3fn,
    E5M2: ml_dtypes.float8_e5m2, INT8: np.int8, UINT8: np.uint8, INT16: np.int16, UINT16: np.uint16, INT32: np.int32,
    UINT32: np.uint32,
}  # fmt: skip
FLOATS = (FP32, FP16, BF16)
INTEGERS = (INT8, UINT8, INT16, UINT16, INT32, UINT32)
SHAPES = ((1, 1, 1, 1), (1, 70, 1, 45), (2, 3, 5, 7), (1, 130, 2, 33), (3, 64, 1, 16))
EPS = {FP32: 2.0**-23, FP16: 2.0**-10, BF16: 2.0**-7, E4M3: 2.0**-3, E5M2: 2.0**-2}


@dataclass(frozen=True)
class Case:
    """One launch. arrays: g[0..], in and out. expected: {place in arrays: what it should hold}, as numbers.

    ulps: how far from ``expected`` the simulator may be, in units of the type's last place (0: bit equal, NaN equal to
    NaN); least: absolute error that is always allowed. cmodel: the same two between the simulator and the CModel.
    blocks: work items.
    """

    name: str
    entry: str
    arrays: list[np.ndarray]
    p: Sequence[int]
    expected: dict[int, np.ndarray]
    f: Sequence[float] = ()
    ulps: float = 0
    least: float = 0
    cmodel: tuple[float, float] = (0, 0)
    blocks: int = 1


def agree(actual: np.ndarray, expected: np.ndarray, ulps: float, least: float) -> str:
    """ "" where the results agree, else the element with the largest difference."""
    if actual.dtype.kind in "iu":
        bad = actual.astype(np.int64) != np.asarray(expected).astype(np.int64)
        error = np.abs(actual.astype(float) - np.asarray(expected, float))
    else:
        code = next(c for c, t in TYPES.items() if actual.dtype == t)
        got, want = actual.astype(np.float64), np.asarray(expected, np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(got - want)
            allowed = np.maximum(ulps * EPS[code] * np.maximum(np.abs(want), np.finfo(np.float32).tiny), least)
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            bad = ~(same | (error <= allowed))
    if not bad.any():
        return ""
    at = int(np.argmax(np.where(bad.ravel(), np.nan_to_num(error.ravel(), nan=1e300), -1)))
    return (
        f"{int(bad.sum())} of {bad.size} differ, element {at}: {actual.ravel()[at]} instead of "
        f"{np.asarray(expected).ravel()[at]}"
    )


def filled(rng: np.random.Generator, shape: Sequence[int], dt: int, low: float = -3, high: float = 3) -> np.ndarray:
    kind = TYPES[dt]
    if np.dtype(kind).kind in "iu":
        facts = np.iinfo(kind)
        return rng.integers(facts.min, facts.max, shape, endpoint=True).astype(kind)
    return rng.uniform(low, high, shape).astype(np.float32).astype(kind)


def flushed(values: np.ndarray) -> np.ndarray:
    """The numbers with the subnormal ones of fp32 flushed to 0."""
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.float32(0), values)


def rounded(values: np.ndarray, dt: int) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(TYPES[dt])


SPECIAL = np.array(
    [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 65504, -65504, 6e-5, 3e-5, 6e-8, 3e38, -3e38, 1e-40, 1e-38, 0.1, 2049],
    np.float32,
)


def specials(dt: int) -> tuple[np.ndarray, np.ndarray]:
    values = rounded(SPECIAL, dt)
    a, b = np.meshgrid(values, values)
    return (np.ascontiguousarray(v.reshape(1, 1, 1, -1)) for v in (a, b))
