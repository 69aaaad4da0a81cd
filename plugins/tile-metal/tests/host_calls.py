"""Calls of the library that host_functions.cpp becomes, with NumPy's arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def numpy_type(name: str) -> np.dtype[Any]:
    """The type of arrays of an element type."""
    return np.dtype(getattr(ml_dtypes, name, None) or getattr(np, name, None) or name)


def pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def each(library: ctypes.CDLL, name: str, to: Any, *arguments: Array) -> Array:
    """The results of the function for each element of ``arguments``, arrays of one length, of type ``to``."""
    arrays = [np.ascontiguousarray(a) for a in arguments]
    result = np.zeros(arrays[0].size, to)
    getattr(library, name)(ctypes.c_ulong(result.size), pointer(result), *map(pointer, arrays))
    return result


def some_floats(count: int = 200_000) -> Array:
    """Floats of all signs and exponents, those around powers of two, zeros, infinities and NaN."""
    random = np.random.default_rng(0).integers(0, 1 << 32, count, dtype=np.uint32)
    powers = np.arange(256, dtype=np.uint32) << 23
    edges = np.concatenate([powers, powers + 1, powers - 1, powers + 0x400000]).astype(np.uint32)
    return np.concatenate([random, edges, edges | np.uint32(0x80000000)]).view(np.float32)


def small_floats(low: float, high: float, count: int = 200_000) -> Array:
    """Floats between the limits, half of them near 0."""
    random = np.random.default_rng(1)
    even = random.uniform(low, high, count // 2)
    return np.concatenate([even, even * 2.0 ** random.uniform(-30, 0, even.size)]).astype(np.float32)


def units_off(values: Array, exact: Array) -> Array:
    """How far ``values`` of float32 are from exact values, in units of the last place of the exact ones; 0 where both
    are the same infinity or NaN. Numbers below the normal ones count as those that a GPU makes 0."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        unit = np.spacing(np.maximum(np.abs(rounded), np.float32(1.2e-38))).astype(np.float64)
        off = np.abs(values.astype(np.float64) - exact) / unit
    same = (values == rounded) | (np.isnan(values) & np.isnan(exact))
    return np.where(same, 0.0, off)
