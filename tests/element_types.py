"""Element types that tests go through, and the numpy type of each."""

from __future__ import annotations

import ml_dtypes
import numpy as np

FLOATS = (
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"
)  # fmt: skip
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def element(dtype: str) -> np.dtype:
    """The numpy dtype of tensors with this element type."""
    return np.dtype(bool) if dtype == "bool" else np.dtype(getattr(np, dtype, None) or getattr(ml_dtypes, dtype))
