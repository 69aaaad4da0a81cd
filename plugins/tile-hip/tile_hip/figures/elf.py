"""Reads the flags and the notes of a code object, a 64-bit ELF file (the ELF specification, chapters 4 and 5)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

AMDGPU = 224  # EM_AMDGPU
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
_NOTE = struct.Struct("<III")
_NOTES = 4  # PT_NOTE


@dataclass(frozen=True)
class Elf:
    """A file. machine: the number of its instruction set. flags: e_flags, which for AMD name the chip."""

    data: bytes
    machine: int
    flags: int
    first_program_header: int
    program_header_bytes: int
    program_headers: int

    @staticmethod
    def read(data: bytes) -> Elf:
        """The file. Raises ValueError for bytes that are no 64-bit little-endian ELF file."""
        if len(data) < _HEADER.size or data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        _, _, machine, _, _, first, _, flags, _, size, count, *_ = _HEADER.unpack_from(data)
        return Elf(data, machine, flags, first, size, count)

    def notes(self) -> Iterator[tuple[str, int, bytes]]:
        """(owner, type, contents) of each note. Raises ValueError where a header points outside of the file."""
        try:
            for index in range(self.program_headers):
                at = self.first_program_header + index * self.program_header_bytes
                header = _PROGRAM_HEADER.unpack_from(self.data, at)
                kind, start, size = header[0], header[2], header[5]
                if kind == _NOTES:
                    yield from _notes(self.data[start : start + size])
        except struct.error as error:
            raise ValueError(f"the ELF file is cut off: {error}") from None


def _notes(segment: bytes) -> Iterator[tuple[str, int, bytes]]:
    at = 0
    while at + _NOTE.size <= len(segment):
        name_bytes, contents_bytes, kind = _NOTE.unpack_from(segment, at)
        at += _NOTE.size
        owner = segment[at : at + name_bytes].rstrip(b"\0").decode(errors="replace")
        at += _aligned(name_bytes)
        yield owner, kind, segment[at : at + contents_bytes]
        at += _aligned(contents_bytes)


def _aligned(count: int) -> int:
    return -(-count // 4) * 4
