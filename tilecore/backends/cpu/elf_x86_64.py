"""Relocations of x86-64, as the System V psABI (1.0, table 4.9) defines them: those that LLVM emits.

In the ABI's letters: S symbol, A addend, P place, L stub, GOT the table, G the entry's offset in it, Z size.
"""

from __future__ import annotations

from collections.abc import Callable

from tilecore.backends.cpu.elf_place import Place

STUB_BYTES = 16
LOW_ONLY = frozenset({10, 11})  # R_X86_64_32 and _32S hold addresses below 2 GiB
NEEDS_GOT = frozenset({3, 9, 27, 28, 30, 41, 42, 43})
MAY_NEED_STUB = frozenset({2, 4, 31})


def stub(target: int) -> bytes:
    """Code that jumps to ``target`` from anywhere: jmp *2(%rip), two bytes unused, the address."""
    return b"\xff\x25\x02\x00\x00\x00\xcc\xcc" + target.to_bytes(8, "little")


def _is_jump(p: Place) -> bool:
    """Whether the place is the operand of call, jmp or a conditional jump."""
    before = bytes(p.image[max(0, p.at - 2) : p.at])
    return before[-1:] in (b"\xe8", b"\xe9") or (before[:1] == b"\x0f" and 0x80 <= before[-1] <= 0x8F)


def _pc32(p: Place) -> None:
    value = p.symbol + p.addend - p.address
    if not -(2**31) <= value < 2**31 and p.is_external and _is_jump(p):
        value = p.stub() + p.addend - p.address
    p.write(value, 4, signed=True)


def _plt32(p: Place) -> None:
    value = p.symbol + p.addend - p.address
    if not -(2**31) <= value < 2**31:
        value = p.stub() + p.addend - p.address
    p.write(value, 4, signed=True)


def _got_pc32(p: Place) -> None:
    p.write(p.got_entry() + p.addend - p.address, 4, signed=True)


RELOCATIONS: dict[int, tuple[str, Callable[[Place], None]]] = {
    0: ("NONE", lambda p: None),
    1: ("64", lambda p: p.write(p.symbol + p.addend, 8, signed=None)),
    2: ("PC32", _pc32),
    3: ("GOT32", lambda p: p.write(p.got_entry() - p.got + p.addend, 4, signed=True)),
    4: ("PLT32", _plt32),
    9: ("GOTPCREL", _got_pc32),
    10: ("32", lambda p: p.write(p.symbol + p.addend, 4, signed=False)),
    11: ("32S", lambda p: p.write(p.symbol + p.addend, 4, signed=True)),
    12: ("16", lambda p: p.write(p.symbol + p.addend, 2, signed=None)),
    13: ("PC16", lambda p: p.write(p.symbol + p.addend - p.address, 2, signed=True)),
    14: ("8", lambda p: p.write(p.symbol + p.addend, 1, signed=None)),
    15: ("PC8", lambda p: p.write(p.symbol + p.addend - p.address, 1, signed=True)),
    24: ("PC64", lambda p: p.write(p.symbol + p.addend - p.address, 8, signed=None)),
    25: ("GOTOFF64", lambda p: p.write(p.symbol + p.addend - p.got, 8, signed=None)),
    26: ("GOTPC32", lambda p: p.write(p.got + p.addend - p.address, 4, signed=True)),
    27: ("GOT64", lambda p: p.write(p.got_entry() - p.got + p.addend, 8, signed=None)),
    28: ("GOTPCREL64", lambda p: p.write(p.got_entry() + p.addend - p.address, 8, signed=None)),
    29: ("GOTPC64", lambda p: p.write(p.got + p.addend - p.address, 8, signed=None)),
    30: ("GOTPLT64", lambda p: p.write(p.got_entry() - p.got + p.addend, 8, signed=None)),
    31: ("PLTOFF64", lambda p: p.write((p.stub() if p.is_external else p.symbol) + p.addend - p.got, 8, signed=None)),
    32: ("SIZE32", lambda p: p.write(p.size + p.addend, 4, signed=False)),
    33: ("SIZE64", lambda p: p.write(p.size + p.addend, 8, signed=None)),
    41: ("GOTPCRELX", _got_pc32),
    42: ("REX_GOTPCRELX", _got_pc32),
    43: ("CODE_4_GOTPCRELX", _got_pc32),
}
