"""The phases in which LDS serves the lanes of a wave, by chip and by the width of the access.

Known from measurements that others published: 16-byte reads of gfx942 and gfx950 (triton-lang/triton, pull request
11365, and HipKittens' solvers of phases and banks, measured on MI300 and MI355X), and of gfx950 the reads of 8 bytes,
the reads of 12 bytes and the writes of 8 bytes (HipKittens). gfx90a is taken to be like gfx942. The other phases are
assumed, not measured: consecutive lanes, 128 bytes at a time, from 32 banks.
"""

from __future__ import annotations

from tilecore.simulate.banks import BankPhases, consecutive_lanes, default_phases, exclusive_ors

_EIGHT = (0, 1, 2, 3, 20, 21, 22, 23)
_SIXTEEN = (0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27)
_MATRIX_PHASES = exclusive_ors(_EIGHT, (4, 8, 32))


def _wave64(*, reads: tuple[BankPhases, ...]) -> tuple[BankPhases, ...]:
    """``reads``, and the assumed phases for the writes and for reads of other widths."""
    sizes = {entry.size for entry in reads}
    assumed = default_phases(64)
    writes = tuple(BankPhases(entry.size, entry.phases, entry.banks, reads=False) for entry in assumed)
    others = tuple(
        BankPhases(entry.size, entry.phases, entry.banks, writes=False) for entry in assumed if entry.size not in sizes
    )
    return (*reads, *others, *writes)


_CDNA3 = _wave64(reads=(BankPhases(16, _MATRIX_PHASES, writes=False),))
_CDNA4 = _wave64(
    reads=(
        BankPhases(8, consecutive_lanes(32, 64), 64, writes=False),
        BankPhases(12, _MATRIX_PHASES, writes=False),
        BankPhases(16, exclusive_ors(_SIXTEEN, (4, 32)), 64, writes=False),
    )
)
_OF_CHIP = {"gfx90a": _CDNA3, "gfx942": _CDNA3, "gfx950": _CDNA4}


def lds_phases(arch: str, wave: int) -> tuple[BankPhases, ...]:
    """The phases of a chip, such as gfx942, with waves of so many lanes."""
    return _OF_CHIP.get(arch) or default_phases(wave)


def line_bytes(arch: str) -> int:
    """The bytes that one phase of 16-byte reads takes from all banks together."""
    return 256 if arch == "gfx950" else 128
