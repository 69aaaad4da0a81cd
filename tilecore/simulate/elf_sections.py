"""Sections of a 64-bit little-endian ELF file by name."""

from __future__ import annotations

import struct
import zlib

_COMPRESSED = 1 << 11


def sections(data: bytes, wanted_names: set[str]) -> dict[str, bytes]:
    """The contents of those sections in ``wanted_names`` that the file has; {} for a file that has another format."""
    if data[:6] != b"\x7fELF\x02\x01":
        return {}
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    names = data[headers[names_at][4] : headers[names_at][4] + headers[names_at][5]]
    sections_by_name = {}
    for header in headers:
        name = names[header[0] : names.index(b"\0", header[0])].decode()
        if name in wanted_names:
            body = data[header[4] : header[4] + header[5]]
            sections_by_name[name] = zlib.decompress(body[24:]) if header[2] & _COMPRESSED else body
    return sections_by_name
