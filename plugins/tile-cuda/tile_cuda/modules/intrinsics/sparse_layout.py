"""The metadata of 2:4 sparse operands (PTX ISA, "mma.sp", sparse matrix storage)."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError

FIELD = 4  # bits of the two indices of a group
# element type: (elements kept, of how many)
GROUP_CONFIG: dict[DType, tuple[int, int]] = {
    DType("float32"): (1, 2),
    **{DType(name): (2, 4) for name in ("float16", "bfloat16", "int8", "uint8", "float8_e4m3fn", "float8_e5m2")},
}


def get_e_factor(a_dtype: Any, meta_dtype: Any) -> int:
    """The number of elements of A that one element of the metadata describes."""
    if DType(a_dtype) not in GROUP_CONFIG:
        raise LanguageError(f"there is no sparse product of {a_dtype}", expected=", ".join(GROUP_CONFIG))
    return DType(meta_dtype).bits // FIELD * GROUP_CONFIG[DType(a_dtype)][1]


def get_e_replicate_factor(a_dtype: Any) -> int:
    """The number of consecutive threads that hold one element of the metadata: 1 for types of 8 bits, else 2."""
    return 1 if DType(a_dtype).bits <= 8 else 2
