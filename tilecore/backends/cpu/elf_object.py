"""Reads relocatable ELF objects (64-bit, little-endian): sections, symbols and relocations, every offset checked."""

from __future__ import annotations

import struct

from tilecore.backends.cpu.elf_place import Record
from tilecore.errors import ToolchainError

X86_64, AARCH64 = 62, 183
MACHINES = {X86_64: "x86-64", AARCH64: "aarch64"}

# Section types and flags (System V ABI, chapter 4).
_PROGBITS, _SYMTAB, _STRTAB, _RELA, _NOBITS, _REL, _SYMTAB_SHNDX = 1, 2, 3, 4, 8, 9, 18
_INIT_ARRAY, _FINI_ARRAY, _PREINIT_ARRAY = 14, 15, 16
WRITE, ALLOC, EXECUTE, _TLS = 1, 2, 4, 0x400
_CONSTRUCTORS = (".ctors", ".dtors", ".init", ".fini")
UNDEFINED, ABSOLUTE, COMMON, _RESERVED = 0, 0xFFF1, 0xFFF2, 0xFF00
_WEAK, _LOCAL = 2, 0
_SECTION_SYMBOL, _FILE_SYMBOL, _TLS_SYMBOL, _IFUNC = 3, 4, 6, 10
LARGEST_ALIGN = 4096

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")


class Section(Record):
    """A section that is loaded. ``content`` is None for zeroed memory (bss)."""

    name: str
    flags: int
    size: int
    align: int
    content: memoryview | None


class Symbol(Record):
    """section: index of its section, or UNDEFINED, ABSOLUTE, COMMON. value: offset in it, or alignment if COMMON."""

    name: str
    is_weak: bool
    is_local: bool
    section: int
    value: int
    size: int


class Relocation(Record):
    """A place to patch: ``section`` and ``offset`` of the place, the machine's type, an index into the symbols."""

    section: int
    offset: int
    type: int
    symbol: int
    addend: int


class ElfObject(Record):
    """``sections``: the loaded ones by their index. ``symbols``: in the order of the file."""

    machine: int
    sections: dict[int, Section]
    symbols: list[Symbol]
    relocations: list[Relocation]


class _Header(Record):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


def malformed(reason: str) -> ToolchainError:
    return ToolchainError(
        f"the object file is malformed: {reason}", hint="the kernel has to be compiled again: clear the kernel cache"
    )


def refused(reason: str, hint: str | None = None) -> ToolchainError:
    return ToolchainError(f"the object file cannot be loaded: {reason}", hint=hint)


def read_object(data: bytes) -> ElfObject:
    """Raises ToolchainError when ``data`` is no object, is damaged, or needs what a kernel has no use for."""
    view = memoryview(data)
    machine, headers, names = _headers(view)
    sections: dict[int, Section] = {}
    for number, header in enumerate(headers):
        name = _text(names, header.name)
        if header.type == _SYMTAB_SHNDX:
            raise refused("it has more sections than the short format can count")
        if header.flags & ALLOC:
            _refuse_special(header, name)
            sections[number] = _section(view, header, name)
    symbols = _symbols(view, headers, sections)
    relocations: list[Relocation] = []
    for header in headers:
        if header.type in (_RELA, _REL) and header.info in sections:
            if header.type == _REL:
                raise refused("its relocations have no addends (SHT_REL)")
            relocations += _relocations(view, header, sections[header.info], len(symbols))
    return ElfObject(machine, sections, symbols, relocations)


def _headers(view: memoryview) -> tuple[int, list[_Header], bytes]:
    if len(view) < _HEADER.size or view[:4] != b"\x7fELF":
        raise refused("it is not an ELF object", "this loader reads what LLVM writes for Linux")
    ident, kind, machine, _, _, _, table, _, _, _, _, size, count, names = _HEADER.unpack_from(view)
    if ident[4:6] != b"\x02\x01":
        raise refused("it is not 64-bit, little-endian")
    if kind != 1:
        raise refused("it is not relocatable", "pass the object (.o), not a linked file")
    if size != _SECTION.size or count == 0:
        raise malformed(f"{count} section headers of {size} bytes")
    raw = _slice(view, table, size * count, "the section headers")
    headers = [_Header(*fields) for fields in _SECTION.iter_unpack(raw)]
    if names >= count or headers[names].type != _STRTAB:
        raise malformed("no section names")
    return machine, headers, bytes(_slice(view, headers[names].offset, headers[names].size, "the section names"))


def _refuse_special(header: _Header, name: str) -> None:
    if header.type in (_INIT_ARRAY, _FINI_ARRAY, _PREINIT_ARRAY) or name.startswith(_CONSTRUCTORS):
        raise refused(f"it has constructors or destructors ({name})", "kernels must not need code that runs at load")
    if header.flags & _TLS:
        raise refused(f"it has thread-local memory ({name})")


def _section(view: memoryview, header: _Header, name: str) -> Section:
    align = max(1, header.align)
    if align & (align - 1):
        raise malformed(f"section {name} is aligned to {align} bytes")
    if align > LARGEST_ALIGN:
        raise refused(f"section {name} wants an alignment of {align} bytes, more than {LARGEST_ALIGN}")
    if header.type == _NOBITS:
        if header.size > 2**31:
            raise refused(f"section {name} wants {header.size} bytes")
        return Section(name, header.flags, header.size, align, None)
    return Section(name, header.flags, header.size, align, _slice(view, header.offset, header.size, f"section {name}"))


def _symbols(view: memoryview, headers: list[_Header], sections: dict[int, Section]) -> list[Symbol]:
    tables = [header for header in headers if header.type == _SYMTAB]
    if len(tables) != 1:
        raise malformed(f"{len(tables)} symbol tables")
    table = tables[0]
    if table.entry_size != _SYMBOL.size or table.size % _SYMBOL.size:
        raise malformed("symbols of an unknown size")
    if table.link >= len(headers) or headers[table.link].type != _STRTAB:
        raise malformed("no symbol names")
    names = bytes(_slice(view, headers[table.link].offset, headers[table.link].size, "the symbol names"))
    raw = _slice(view, table.offset, table.size, "the symbols")
    symbols = []
    for name_at, info, _, section, value, size in _SYMBOL.iter_unpack(raw):
        kind, binding = info & 15, info >> 4
        name = _text(names, name_at) if name_at else ""
        if kind in (_TLS_SYMBOL, _IFUNC):
            raise refused(f"symbol {name} is {'thread-local' if kind == _TLS_SYMBOL else 'an indirect function'}")
        if section >= _RESERVED and section not in (ABSOLUTE, COMMON):
            raise refused(f"symbol {name} is in the special section {section:#x}")
        if section in sections and value > sections[section].size:
            raise malformed(f"symbol {name} lies outside section {sections[section].name}")
        if section == COMMON and (value == 0 or value & (value - 1) or value > LARGEST_ALIGN or size > 2**31):
            raise refused(f"the common symbol {name} has {size} bytes aligned to {value}")
        if section < _RESERVED and section >= len(headers):
            raise malformed(f"symbol {name} is in section {section} of {len(headers)}")
        if kind == _SECTION_SYMBOL and section in sections:
            name = sections[section].name
        symbols.append(Symbol(name, binding == _WEAK, binding == _LOCAL, section, value, size))
    return symbols


def _relocations(view: memoryview, header: _Header, section: Section, symbols: int) -> list[Relocation]:
    if header.entry_size != _RELOCATION.size or header.size % _RELOCATION.size:
        raise malformed("relocations of an unknown size")
    raw = _slice(view, header.offset, header.size, f"the relocations of {section.name}")
    relocations = []
    for offset, info, addend in _RELOCATION.iter_unpack(raw):
        if offset >= section.size or section.content is None:
            raise malformed(f"a relocation at {offset:#x} of section {section.name}, which has {section.size} bytes")
        if info >> 32 >= symbols:
            raise malformed(f"a relocation of symbol {info >> 32} of {symbols}")
        relocations.append(Relocation(header.info, offset, info & 0xFFFFFFFF, info >> 32, addend))
    return relocations


def _slice(view: memoryview, offset: int, size: int, reason: str) -> memoryview:
    if offset + size > len(view):
        raise malformed(f"{reason} end at {offset + size:#x}, the file at {len(view):#x}")
    return view[offset : offset + size]


def _text(names: bytes, offset: int) -> str:
    """The string that starts at ``offset`` of a string table."""
    if offset >= len(names):
        raise malformed(f"a name at {offset:#x} of {len(names):#x}")
    end = names.find(b"\0", offset)
    if end < 0:
        raise malformed("a name without an end")
    return names[offset:end].decode("utf-8", "replace")
