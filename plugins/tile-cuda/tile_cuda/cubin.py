"""What a cubin says of its kernels: registers and bytes of stack, without a GPU and without CUDA's tools.

A cubin is an ELF file. Its section ``.nv.info`` is a list of records (format, attribute, size, payload); those of
format 4 (EIFMT_SVAL) carry a payload of ``size`` bytes, here the number of a symbol and a value. That the numbers are
what ptxas reports is tested for architectures from sm_75 to sm_120.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL_BYTES = 24
_SIZED = 4
_REGISTERS, _FRAME = 0x2F, 0x11  # EIATTR_REGCOUNT, EIATTR_FRAME_SIZE
_NAMES = {_REGISTERS: "registers", _FRAME: "stack_bytes"}


class _Section(NamedTuple):
    name: str
    data: bytes


def describe(binary: bytes) -> dict[str, dict[str, int]]:
    """By kernel: ``registers`` of a thread, and ``stack_bytes``: its memory for what did not fit into them.

    Empty for what is no cubin.
    """
    try:
        sections = {section.name: section.data for section in _sections(binary)}
        names = [_text(sections[".strtab"], start) for start in _symbols(sections[".symtab"])]
        described: dict[str, dict[str, int]] = {}
        for attribute, symbol, value in _records(sections[".nv.info"]):
            if attribute in _NAMES:
                described.setdefault(names[symbol], {})[_NAMES[attribute]] = value
        return described
    except (struct.error, KeyError, IndexError, ValueError):
        return {}


def _sections(binary: bytes) -> Iterator[_Section]:
    header = _HEADER.unpack_from(binary)
    if header[0][:4] != b"\x7fELF":
        return
    table, size, count, names_at = header[6], header[11], header[12], header[13]
    rows = [_SECTION.unpack_from(binary, table + number * size) for number in range(count)]
    names = binary[rows[names_at][4] :]
    for row in rows:
        yield _Section(_text(names, row[0]), binary[row[4] : row[4] + row[5]])


def _symbols(table: bytes) -> Iterator[int]:
    """Where the name of each symbol stands."""
    for start in range(0, len(table), _SYMBOL_BYTES):
        yield struct.unpack_from("<I", table, start)[0]


def _records(info: bytes) -> Iterator[tuple[int, int, int]]:
    """(attribute, symbol, value) of the records that are of a symbol."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == _SIZED:
            if size == 8:
                yield attribute, *struct.unpack_from("<II", info, at)
            at += size


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode()
