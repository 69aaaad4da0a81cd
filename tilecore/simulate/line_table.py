"""Which source line a machine instruction comes from: DWARF line tables, versions 3 to 5.

Terms as in the DWARF standard, chapter 6.2: a program of opcodes makes rows (address, file, line).
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilecore.simulate.elf_sections import sections

_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN, _NEGATE, _BASIC, _CONST_ADD, _FIXED_ADVANCE = range(1, 10)
_END_SEQUENCE, _SET_ADDRESS = 1, 2


class _Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def fixed(self, size: int, signed: bool = False) -> int:
        value = int.from_bytes(self.data[self.at : self.at + size], "little", signed=signed)
        self.at += size
        return value

    def leb(self, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.fixed(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        value = self.data[self.at : end].decode(errors="replace")
        self.at = end + 1
        return value


@dataclass
class _Program:
    reader: _Reader
    end: int
    version: int
    shortest: int
    line_base: int
    line_range: int
    opcode_base: int
    operands: list[int]
    files: list[str]
    first_file: int  # the number of files[0]


class LineTable:
    """Of one library. ``line_at(offset, file)``: offset from where the library is loaded."""

    def __init__(self, data: bytes) -> None:
        debug_sections = sections(data, {".debug_line", ".debug_line_str", ".debug_str"})
        self._strings = debug_sections.get(".debug_str", b""), debug_sections.get(".debug_line_str", b"")
        rows: list[tuple[int, str, int]] = []
        reader = _Reader(debug_sections.get(".debug_line", b""))
        while reader.at < len(reader.data):
            program = self._header(reader)
            rows += _run(program)
            reader.at = program.end
        rows.sort(key=lambda row: row[0])
        self._addresses = [row[0] for row in rows]
        self._rows = rows

    @staticmethod
    def of(path: Path) -> LineTable:
        return LineTable(path.read_bytes())

    def line_at(self, offset: int, file: str) -> int | None:
        """The line of ``file`` (its base name); of code that comes from a header, the line before it in the code."""
        at = bisect.bisect_right(self._addresses, offset) - 1
        while at >= 0 and self._rows[at][1]:
            _, name, line = self._rows[at]
            if name == file and line:
                return line
            at -= 1
        return None

    def _header(self, reader: _Reader) -> _Program:
        length = reader.fixed(4)
        wide = length == 0xFFFFFFFF
        if wide:
            length = reader.fixed(8)
        offset_size = 8 if wide else 4
        end = reader.at + length
        version = reader.fixed(2)
        if version >= 5:
            reader.fixed(2)  # sizes of addresses and segment selectors
        header = reader.fixed(offset_size)
        start = reader.at + header
        shortest = reader.fixed(1)
        if version >= 4:
            reader.fixed(1)  # operations of one instruction
        reader.fixed(1)  # default of is_stmt
        base, reach, opcodes = reader.fixed(1, signed=True), reader.fixed(1), reader.fixed(1)
        operands = [reader.fixed(1) for _ in range(opcodes - 1)]
        files = self._files(reader, offset_size) if version >= 5 else _old_files(reader)
        reader.at = start
        first = 0 if version >= 5 else 1
        return _Program(reader, end, version, shortest, base, reach, opcodes, operands, files, first)

    def _files(self, reader: _Reader, offset_size: int) -> list[str]:
        self._entries(reader, offset_size)  # directories
        return [os.path.basename(str(entry.get(1, ""))) for entry in self._entries(reader, offset_size)]

    def _entries(self, reader: _Reader, offset_size: int) -> list[dict[int, Any]]:
        forms = [(reader.leb(), reader.leb()) for _ in range(reader.fixed(1))]
        return [{kind: self._value(reader, form, offset_size) for kind, form in forms} for _ in range(reader.leb())]

    def _value(self, reader: _Reader, form: int, offset_size: int) -> Any:
        readers: dict[int, Callable[[], Any]] = {
            0x08: reader.text,
            0x0B: lambda: reader.fixed(1),
            0x05: lambda: reader.fixed(2),
            0x06: lambda: reader.fixed(4),
            0x07: lambda: reader.fixed(8),
            0x0F: reader.leb,
            0x1E: lambda: reader.fixed(16),
            0x09: lambda: reader.fixed(reader.leb()),
            0x0E: lambda: _Reader(self._strings[0], reader.fixed(offset_size)).text(),
            0x1F: lambda: _Reader(self._strings[1], reader.fixed(offset_size)).text(),
        }
        return readers[form]()


def _old_files(reader: _Reader) -> list[str]:
    while reader.text():  # directories
        pass
    files = []
    while name := reader.text():
        files.append(os.path.basename(name))
        reader.leb(), reader.leb(), reader.leb()
    return files


def _run(program: _Program) -> list[tuple[int, str, int]]:
    """The rows of one program; a row without a file ends a sequence."""
    reader, rows = program.reader, []
    address, file, line = 0, 1, 1

    def row(name: str | None = None) -> None:
        number = file - program.first_file
        path = program.files[number] if 0 <= number < len(program.files) else "?"
        rows.append((address, path if name is None else name, line))

    while reader.at < program.end:
        opcode = reader.fixed(1)
        if opcode >= program.opcode_base:
            step = opcode - program.opcode_base
            address += step // program.line_range * program.shortest
            line += program.line_base + step % program.line_range
            row()
        elif opcode == 0:
            size = reader.leb()
            after = reader.at + size
            kind = reader.fixed(1)
            if kind == _SET_ADDRESS:
                address = reader.fixed(size - 1)
            elif kind == _END_SEQUENCE:
                row("")
                address, file, line = 0, 1, 1
            reader.at = after
        elif opcode == _COPY:
            row()
        elif opcode == _ADVANCE_PC:
            address += reader.leb() * program.shortest
        elif opcode == _ADVANCE_LINE:
            line += reader.leb(signed=True)
        elif opcode == _SET_FILE:
            file = reader.leb()
        elif opcode == _CONST_ADD:
            address += (255 - program.opcode_base) // program.line_range * program.shortest
        elif opcode == _FIXED_ADVANCE:
            address += reader.fixed(2)
        elif opcode not in (_NEGATE, _BASIC):
            for _ in range(program.operands[opcode - 1]):
                reader.leb()
    return rows
