"""Reads the registers and the stack size of kernels from a cubin, without a GPU and without CUDA's tools.

A cubin is an ELF file. Its section ``.nv.info`` is a list of records (format, attribute, size, payload). A record of
format 4 (EIFMT_SVAL) has a payload of ``size`` bytes, here the index of a symbol and a value. Tests compare the values
with the report of ptxas for architectures from sm_75 to sm_120.
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
    """By kernel: ``registers``, the registers of a thread, and ``stack_bytes``, the stack of a thread (spills, arrays).

    The result is empty where ``binary`` is not a cubin.
    """
    try:
        sections = {section.name: section.data for section in _sections(binary)}
        names = [_text(sections[".strtab"], start) for start in _symbols(sections[".symtab"])]
        usage_by_kernel: dict[str, dict[str, int]] = {}
        for attribute, symbol, value in _records(sections[".nv.info"]):
            if attribute in _NAMES:
                usage_by_kernel.setdefault(names[symbol], {})[_NAMES[attribute]] = value
        return usage_by_kernel
    except (struct.error, KeyError, IndexError, ValueError):
        return {}


def _sections(binary: bytes) -> Iterator[_Section]:
    header = _HEADER.unpack_from(binary)
    if header[0][:4] != b"\x7fELF":
        return
    table, size, count, names_at = header[6], header[11], header[12], header[13]
    headers = [_SECTION.unpack_from(binary, table + index * size) for index in range(count)]
    names = binary[headers[names_at][4] :]
    for name, _, _, _, start, length, *_ in headers:
        yield _Section(_text(names, name), binary[start : start + length])


def _symbols(table: bytes) -> Iterator[int]:
    """The offset of each symbol's name in the string table."""
    for start in range(0, len(table), _SYMBOL_BYTES):
        yield struct.unpack_from("<I", table, start)[0]


def _records(info: bytes) -> Iterator[tuple[int, int, int]]:
    """(attribute, symbol index, value) of the records that belong to a symbol."""
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
