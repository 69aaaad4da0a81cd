"""Lays out an object's sections in memory and applies its relocations; touches no memory but its own copy."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from tilecore.backends.cpu.elf_object import (
    AARCH64,
    ABSOLUTE,
    COMMON,
    EXECUTE,
    MACHINES,
    UNDEFINED,
    WRITE,
    X86_64,
    ElfObject,
    Relocation,
    Section,
    Symbol,
    refused,
)
from tilecore.backends.cpu.elf_place import Place
from tilecore.errors import ToolchainError

_RELOCATORS = {X86_64: "elf_x86_64", AARCH64: "elf_aarch64"}  # modules beside this one, imported when needed
TABLE_SYMBOL = "_GLOBAL_OFFSET_TABLE_"
CODE, CONSTANTS, DATA = "code", "constants", "data"  # what an area holds, which has pages and rights of its own
REACH = 2**31  # bytes, in either direction, of the addresses in code
# Tables for unwinding: nothing unwinds through a kernel.
_UNUSED = (".eh_frame", ".gcc_except_table", ".ARM.exidx")


class Layout:
    """Where everything goes, as offsets from a base that is not known yet.

    sections, commons: by section index and by symbol index. areas: (kind, start, size), page-aligned.
    got, stubs: where the global offset table and the stubs start; there is room for as many as can be needed.
    filled: what follows is zeroed memory. size: of all, in whole pages.
    """

    def __init__(self) -> None:
        self.sections: dict[int, int] = {}
        self.commons: dict[int, int] = {}
        self.areas: list[tuple[str, int, int]] = []
        self.got = self.stubs = self.filled = self.size = 0


def relocator(machine: int) -> ModuleType:
    if machine not in _RELOCATORS:
        raise refused(f"it is for machine {machine}, and relocations are known for {', '.join(MACHINES.values())}")
    return import_module(f"tilecore.backends.cpu.{_RELOCATORS[machine]}")


def needs_low_addresses(elf: ElfObject) -> bool:
    """Whether some relocation only holds addresses below 2 GiB (static code of the small model)."""
    low = relocator(elf.machine).LOW_ONLY
    return any(relocation.type in low for relocation in elf.relocations)


def plan_layout(elf: ElfObject, page: int) -> Layout:
    """Code, constants and data on pages of their own; zeroed memory and common symbols stand with the data. Constants
    that fit into what the code leaves of its last page stand there: most kernels have a few bytes of them."""
    layout = Layout()
    code_end = _place_kind(elf, layout, CODE, 0)
    page_end = -(-code_end // page) * page
    at = _place_kind(elf, layout, CONSTANTS, code_end)
    if at <= page_end:
        areas = [(CODE, 0, at)]
    else:
        at = _place_kind(elf, layout, CONSTANTS, page_end)
        areas = [(CODE, 0, code_end), (CONSTANTS, page_end, at - page_end)]
    start = -(-at // page) * page
    at = _place_kind(elf, layout, DATA, start)
    areas.append((DATA, start, at - start))
    layout.areas = [area for area in areas if area[2]]
    layout.size = max(page, -(-at // page) * page)
    if layout.size >= REACH:
        raise refused(f"it takes {layout.size} bytes, and code reaches {REACH}")
    return layout


def _place_kind(elf: ElfObject, layout: Layout, kind: str, start: int) -> int:
    """Place everything of a kind from ``start`` on; where it ends."""
    machine = relocator(elf.machine)
    at = _place_sections(elf, layout, kind, start, zeroed=False)
    if kind == CODE:
        stubs = {r.symbol for r in elf.relocations if r.type in machine.MAY_NEED_STUB}
        layout.stubs = -(-at // 16) * 16
        at = layout.stubs + machine.STUB_BYTES * len(stubs) if stubs else at
    elif kind == CONSTANTS:
        got_symbols = {r.symbol for r in elf.relocations if r.type in machine.NEEDS_GOT}
        layout.got = -(-at // 16) * 16
        at = layout.got + 8 * len(got_symbols) if got_symbols else at
    if at > start:
        layout.filled = at
    at = _place_sections(elf, layout, kind, at, zeroed=True)
    return _place_commons(elf, layout, at) if kind == DATA else at


def _place_sections(elf: ElfObject, layout: Layout, kind: str, at: int, *, zeroed: bool) -> int:
    for number, section in elf.sections.items():
        is_selected = _kind(section) == kind and (section.content is None) == zeroed
        if is_selected and not section.name.startswith(_UNUSED):
            at = -(-at // section.align) * section.align
            layout.sections[number] = at
            at += section.size
    return at


def _place_commons(elf: ElfObject, layout: Layout, at: int) -> int:
    for number, symbol in enumerate(elf.symbols):
        if symbol.section == COMMON:
            layout.commons[number] = at = -(-at // symbol.value) * symbol.value
            at += symbol.size
    return at


def _kind(section: Section) -> str:
    if section.flags & EXECUTE:
        if section.flags & WRITE:
            raise refused(f"section {section.name} is both writable and executable")
        return CODE
    return DATA if section.flags & WRITE else CONSTANTS


class Linker:
    """Makes the bytes of an object for one base address."""

    def __init__(self, elf: ElfObject, layout: Layout, base: int, resolve: Callable[[str], int | None]) -> None:
        self.elf = elf
        self.layout = layout
        self.base = base
        self.resolve = resolve
        self.machine = relocator(elf.machine)
        self.image = bytearray(layout.filled)
        self.got: dict[int, int] = {}
        self.stubs: dict[int, int] = {}
        self.addresses: dict[int, int] = {}

    def link(self) -> bytearray:
        """The image. Raises ToolchainError for unknown symbols and relocations and for values that do not fit."""
        for number, offset in self.layout.sections.items():
            content = self.elf.sections[number].content
            if content is not None:
                self.image[offset : offset + len(content)] = content
        relocations = [r for r in self.elf.relocations if r.section in self.layout.sections]
        self._find_symbols({r.symbol for r in relocations})
        for relocation in relocations:
            self._apply(relocation)
        return self.image

    def exported(self) -> dict[str, int]:
        """Addresses of the symbols that the object defines; global ones go before local ones of the same name."""
        addresses: dict[str, int] = {}
        for local in (True, False):
            for number, symbol in enumerate(self.elf.symbols):
                if symbol.is_local == local and symbol.name and symbol.section not in (UNDEFINED, ABSOLUTE):
                    address = self._defined(number, symbol)
                    if address is not None:
                        addresses[symbol.name] = address
        return addresses

    def _find_symbols(self, numbers: set[int]) -> None:
        missing = []
        for number in sorted(numbers):
            symbol = self.elf.symbols[number]
            address = self._defined(number, symbol)
            if address is None and symbol.section == UNDEFINED:
                address = self._external(symbol)
            if address is None:
                missing.append(symbol.name or f"number {number}")
            else:
                self.addresses[number] = address
        if missing:
            raise ToolchainError(
                f"the object file needs what is not there: {', '.join(missing)}",
                expected="functions of libc, libm or libgcc, or helpers that the backend provides",
            )

    def _defined(self, number: int, symbol: Symbol) -> int | None:
        if symbol.section == ABSOLUTE:
            return symbol.value
        if symbol.section == COMMON:
            return self.base + self.layout.commons[number]
        if symbol.section in self.layout.sections:
            return self.base + self.layout.sections[symbol.section] + symbol.value
        return None

    def _external(self, symbol: Symbol) -> int | None:
        if not symbol.name:
            return 0  # symbol 0, of relocations without one
        if symbol.name == TABLE_SYMBOL:
            return self.base + self.layout.got
        address = self.resolve(symbol.name)
        return 0 if address is None and symbol.is_weak else address

    def _apply(self, relocation: Relocation) -> None:
        entry = self.machine.RELOCATIONS.get(relocation.type)
        symbol = self.elf.symbols[relocation.symbol]
        if entry is None:
            raise refused(
                f"relocation {relocation.type} of {symbol.name or 'a section'} is not known for "
                f"{MACHINES[self.elf.machine]}"
            )
        start = self.layout.sections[relocation.section]
        number = relocation.symbol
        place = Place(
            image=self.image,
            at=start + relocation.offset,
            end=start + self.elf.sections[relocation.section].size,
            address=self.base + start + relocation.offset,
            symbol=self.addresses[number],
            size=symbol.size,
            addend=relocation.addend,
            got=self.base + self.layout.got,
            got_entry=lambda: self._got_entry(number),
            stub=lambda: self._stub(number),
            is_external=symbol.section == UNDEFINED,
            name=symbol.name,
        )
        entry[1](place)

    def _got_entry(self, number: int) -> int:
        at = self.got.get(number)
        if at is None:
            at = self.got[number] = self.layout.got + 8 * len(self.got)
            self.image[at : at + 8] = (self.addresses[number] & (2**64 - 1)).to_bytes(8, "little")
        return self.base + at

    def _stub(self, number: int) -> int:
        at = self.stubs.get(number)
        if at is None:
            at = self.stubs[number] = self.layout.stubs + self.machine.STUB_BYTES * len(self.stubs)
            code = self.machine.stub(self.addresses[number])
            self.image[at : at + len(code)] = code
        return self.base + at
