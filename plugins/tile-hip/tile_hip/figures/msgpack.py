"""Decodes MessagePack, the encoding of a code object's metadata (github.com/msgpack/msgpack, spec.md)."""

from __future__ import annotations

import struct
from typing import Any

# formats of numbers by their first byte
_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
# formats of lengths by their first byte
_BYTES = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
_TEXTS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_LISTS = {0xDC: ">H", 0xDD: ">I"}
_MAPS = {0xDE: ">H", 0xDF: ">I"}


def decode(data: bytes) -> Any:
    """The value that ``data`` begins with. Raises ValueError where it is no MessagePack, or ends too early."""
    return _Reader(data).value()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        part = self.data[self.at : self.at + count]
        if len(part) < count:
            raise ValueError(f"MessagePack ends after {len(self.data)} bytes in the middle of a value")
        self.at += count
        return part

    def number(self, layout: str) -> Any:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def value(self) -> Any:
        first = self.take(1)[0]
        if first < 0x80:
            return first
        if first >= 0xE0:
            return first - 256
        if first < 0x90:
            return self.map(first & 0x0F)
        if first < 0xA0:
            return [self.value() for _ in range(first & 0x0F)]
        if first < 0xC0:
            return self.take(first & 0x1F).decode()
        if first in _CONSTANTS:
            return _CONSTANTS[first]
        if first in _NUMBERS:
            return self.number(_NUMBERS[first])
        if first in _BYTES:
            return self.take(self.number(_BYTES[first]))
        if first in _TEXTS:
            return self.take(self.number(_TEXTS[first])).decode()
        if first in _LISTS:
            return [self.value() for _ in range(self.number(_LISTS[first]))]
        if first in _MAPS:
            return self.map(self.number(_MAPS[first]))
        raise ValueError(f"MessagePack of the unsupported type 0x{first:02x} at byte {self.at - 1}")

    def map(self, count: int) -> dict[Any, Any]:
        return {self.value(): self.value() for _ in range(count)}
