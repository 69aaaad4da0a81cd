"""Relocations of aarch64, as the ELF for the Arm 64-bit Architecture (section 5.7) defines them: those LLVM emits."""

from __future__ import annotations

from collections.abc import Callable

from tilecore.backends.cpu.elf_place import Place
from tilecore.errors import ToolchainError

STUB_BYTES = 16
LOW_ONLY: frozenset[int] = frozenset()
NEEDS_GOT = frozenset({309, 311, 312, 313})
MAY_NEED_STUB = frozenset({282, 283})

_PAGE = 4096


def stub(target: int) -> bytes:
    """Code that jumps to ``target`` from anywhere: ldr x16, .+8; br x16; the address."""
    return (0x58000050).to_bytes(4, "little") + (0xD61F0200).to_bytes(4, "little") + target.to_bytes(8, "little")


def _field(p: Place, value: int, shift: int, bits: int, at: int = 5, signed: bool = True) -> None:
    """Put ``value >> shift`` into ``bits`` bits of the instruction, from bit ``at``. Raises when it does not fit."""
    if value & ((1 << shift) - 1):
        raise p.too_far(f"{value:#x} is not a multiple of {1 << shift}")
    number = value >> shift
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    if not low <= number < high:
        raise p.too_far(f"{value:#x} does not fit {bits + shift} bits")
    mask = ((1 << bits) - 1) << at
    _set(p, mask, (number << at) & mask)


def _set(p: Place, mask: int, bits: int) -> None:
    p.write(p.read(4) & ~mask | bits, 4, signed=False)


def _page(address: int) -> int:
    return address & -_PAGE


def _adr(p: Place, value: int) -> None:
    """The 21-bit immediate of adr and adrp: its two low bits stand apart."""
    if not -(1 << 20) <= value < 1 << 20:
        raise p.too_far(f"{value:#x} does not fit 21 bits")
    _set(p, 3 << 29 | 0x7FFFF << 5, (value & 3) << 29 | (value >> 2 & 0x7FFFF) << 5)


def _adrp(p: Place, target: int) -> None:
    _adr(p, (_page(target) - _page(p.address)) >> 12)


def _low12(size: int) -> Callable[[Place], None]:
    """The offset in a page, in units of ``1 << size`` bytes, of add (0) and of loads and stores."""
    return lambda p: _field(p, (p.symbol + p.addend) % _PAGE, size, 12, 10, signed=False)


def _branch(p: Place) -> None:
    value = p.symbol + p.addend - p.address
    if not -(1 << 27) <= value < 1 << 27:
        value = p.stub() + p.addend - p.address
    _field(p, value, 2, 26, 0)


def _movw(group: int, check: bool) -> Callable[[Place], None]:
    """16 bits of an address for movz and movk; with ``check`` the higher bits must be zero."""

    def apply(p: Place) -> None:
        value = (p.symbol + p.addend) >> 16 * group
        if check and value >> 16:
            raise p.too_far(f"{p.symbol + p.addend:#x} does not fit {16 * (group + 1)} bits")
        _set(p, 0xFFFF << 5, (value & 0xFFFF) << 5)

    return apply


def _got_page_offset(p: Place) -> None:
    _field(p, p.got_entry() - _page(p.got), 3, 12, 10, signed=False)


def _data(width: int, relative: bool) -> Callable[[Place], None]:
    return lambda p: p.write(p.symbol + p.addend - (p.address if relative else 0), width, signed=None)


def _relative(bits: int, shift: int = 2) -> Callable[[Place], None]:
    return lambda p: _field(p, p.symbol + p.addend - p.address, shift, bits)


def _tst_branch(p: Place) -> None:
    _field(p, p.symbol + p.addend - p.address, 2, 14)


def _adr_page(check: bool) -> Callable[[Place], None]:
    def apply(p: Place) -> None:
        target = p.symbol + p.addend
        if check:
            _adrp(p, target)
        else:
            wrapped = (_page(target) - _page(p.address)) >> 12 & 0x1FFFFF
            _adr(p, wrapped - (1 << 21) if wrapped >> 20 else wrapped)

    return apply


def _no_addend(p: Place) -> None:
    if p.addend:
        raise ToolchainError(f"the object file cannot be loaded: {p.name} plus {p.addend} in the global offset table")


def _got_page(p: Place) -> None:
    _no_addend(p)
    _adrp(p, p.got_entry())


def _got_low12(p: Place) -> None:
    _no_addend(p)
    _field(p, p.got_entry() % _PAGE, 3, 12, 10, signed=False)


def _got_literal(p: Place) -> None:
    _no_addend(p)
    _field(p, p.got_entry() - p.address, 2, 19)


RELOCATIONS: dict[int, tuple[str, Callable[[Place], None]]] = {
    0: ("NONE", lambda p: None),
    256: ("NONE", lambda p: None),
    257: ("ABS64", _data(8, False)),
    258: ("ABS32", _data(4, False)),
    259: ("ABS16", _data(2, False)),
    260: ("PREL64", _data(8, True)),
    261: ("PREL32", _data(4, True)),
    262: ("PREL16", _data(2, True)),
    263: ("MOVW_UABS_G0", _movw(0, True)),
    264: ("MOVW_UABS_G0_NC", _movw(0, False)),
    265: ("MOVW_UABS_G1", _movw(1, True)),
    266: ("MOVW_UABS_G1_NC", _movw(1, False)),
    267: ("MOVW_UABS_G2", _movw(2, True)),
    268: ("MOVW_UABS_G2_NC", _movw(2, False)),
    269: ("MOVW_UABS_G3", _movw(3, True)),
    273: ("LD_PREL_LO19", _relative(19)),
    274: ("ADR_PREL_LO21", lambda p: _adr(p, p.symbol + p.addend - p.address)),
    275: ("ADR_PREL_PG_HI21", _adr_page(True)),
    276: ("ADR_PREL_PG_HI21_NC", _adr_page(False)),
    277: ("ADD_ABS_LO12_NC", _low12(0)),
    278: ("LDST8_ABS_LO12_NC", _low12(0)),
    279: ("TSTBR14", _tst_branch),
    280: ("CONDBR19", _relative(19)),
    282: ("JUMP26", _branch),
    283: ("CALL26", _branch),
    284: ("LDST16_ABS_LO12_NC", _low12(1)),
    285: ("LDST32_ABS_LO12_NC", _low12(2)),
    286: ("LDST64_ABS_LO12_NC", _low12(3)),
    299: ("LDST128_ABS_LO12_NC", _low12(4)),
    309: ("GOT_LD_PREL19", _got_literal),
    311: ("ADR_GOT_PAGE", _got_page),
    312: ("LD64_GOT_LO12_NC", _got_low12),
    313: ("LD64_GOTPAGE_LO15", _got_page_offset),
}
