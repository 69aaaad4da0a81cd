"""Shapes and indices of buffers whose elements are vectors.

Such a buffer holds elements of the scalar type. The lanes are a last axis of their own: a T.float32x2 buffer of shape
[n] is a float32 buffer of shape [n, 2]. Elements of 4 bits lie two in a byte, so that their lanes are a part of the
last axis: a T.float4_e2m1fnx2 buffer of shape [n] is a float4_e2m1fn buffer of shape [2 * n].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.dtypes import dtype


def with_lanes(shape: Sequence[Any], kind: dtype) -> list[Any]:
    """The shape of the buffer of scalars for a shape of elements of type ``kind``."""
    if kind.lanes == 1:
        return list(shape)
    return [*shape[:-1], shape[-1] * kind.lanes] if kind.bits < 8 else [*shape, kind.lanes]


def without_lanes(shape: Sequence[Any], element: str, lanes: int) -> list[Any]:
    """The shape of vectors of ``lanes`` elements, of the shape of a buffer of the scalar type ``element``."""
    if lanes == 1:
        return list(shape)
    return [*shape[:-1], shape[-1] // lanes] if dtype(element).bits < 8 else list(shape[:-1])


def indices_of_lane(indices: Sequence[Any], element: str, lanes: int, lane: Any) -> list[Any]:
    """The indices of a lane of a vector, of the indices of the vector."""
    return [*indices[:-1], indices[-1] * lanes + lane] if dtype(element).bits < 8 else [*indices, lane]
