"""How torch's launches take scalars: as Python numbers, with casts to the sizes that kernels read."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence

from tilecore.dtypes import FACTS

# Without a cast torch passes ints in 8 bytes and floats in 4. It has no casts to types without a sign but uint8: those
# get a number with the same bits.
_CASTS = {1: "int8", 2: "int16", 4: "int32", 8: ""}
_FLOATS = {"float16": "fp16", "bfloat16": "bf16", "float32": "", "tfloat32": ""}
_UNSIGNED_BYTE = "uint8"
Read = Callable[[int], "int | float"]  # of a slot's 8 bytes, as a signed integer


def cast_of(dtype: str) -> str:
    """The name of the cast for a scalar of a type; "" where torch's own size is right."""
    if dtype in _FLOATS:
        return _FLOATS[dtype]
    size = (FACTS[dtype].bits + 7) // 8
    if size == 1 and FACTS[dtype].kind != "int":  # bool, and floats of 8 bits, which are passed by their bits
        return _UNSIGNED_BYTE
    return _CASTS[size]


def reader_of(dtype: str) -> Read:
    """The function that gives the number to pass for a slot. Floats narrower than 32 bits are exact in it."""
    if dtype in _FLOATS:
        return _FLOAT_READERS[dtype]
    size = (FACTS[dtype].bits + 7) // 8
    if cast_of(dtype) == _UNSIGNED_BYTE:
        return lambda word: word & 0xFF
    if size == 8:
        return lambda word: word
    half, whole = 1 << 8 * size - 1, 1 << 8 * size
    return lambda word: (word + half) % whole - half


def readers(dtypes: Sequence[str]) -> list[Read]:
    return [reader_of(dtype) for dtype in dtypes]


def _float32(word: int) -> float:
    return ctypes.c_float.from_buffer_copy((word & 0xFFFFFFFF).to_bytes(4, "little")).value


def _float16(word: int) -> float:
    value: float = struct.unpack("<e", (word & 0xFFFF).to_bytes(2, "little"))[0]
    return value


_FLOAT_READERS: dict[str, Read] = {
    "float32": _float32,
    "tfloat32": _float32,
    "float16": _float16,
    "bfloat16": lambda word: _float32((word & 0xFFFF) << 16),
}
