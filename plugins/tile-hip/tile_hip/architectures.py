"""The GPU architectures: their names, the width of a wave, and the limits of a block.

Sources: AMD's ISA documents "CDNA 2", "CDNA 3", "CDNA 4", "RDNA 3", "RDNA 3.5", "RDNA 4" (LDS of a workgroup, wave
sizes), and LLVM's "User Guide for AMDGPU Backend" (names of processors and generations).
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from tilecore.errors import TargetError

DEFAULT = "gfx942"
MAX_THREADS = 1024  # of a block


@dataclass(frozen=True)
class Architecture:
    """One architecture.

    name: as compilers call it. waves: the numbers of lanes that a wave may have, the usual one first. shared_bytes: the
    most LDS of one block.
    """

    name: str
    waves: tuple[int, ...]
    shared_bytes: int = 64 << 10


_CDNA, _RDNA = (64,), (32, 64)
ARCHITECTURES = {
    architecture.name: architecture
    for architecture in (
        *(Architecture(name, _CDNA) for name in ("gfx90a", "gfx942")),
        Architecture("gfx950", _CDNA, 160 << 10),
        *(Architecture(f"gfx{n}", _RDNA) for n in (1100, 1101, 1102, 1103, 1150, 1151, 1152, 1200, 1201)),
    )
}


def parse(text: object) -> Architecture:
    """The architecture that "gfx942", or torch's "gfx942:sramecc+:xnack-", names. Raises TargetError for other names.

    The features behind ":" are dropped: kernels are compiled for any setting of them.
    """
    name = str(text).strip().lower().partition(":")[0]
    if name in ARCHITECTURES:
        return ARCHITECTURES[name]
    similar = difflib.get_close_matches(name, ARCHITECTURES, 1)
    hint = f"did you mean {similar[0]}?" if similar else None
    if name.endswith("-generic"):
        hint = "name a chip: generic architectures lack the matrix instructions of its generation"
    raise TargetError(
        f"there is no GPU architecture {text!r}", expected="auto or one of " + ", ".join(ARCHITECTURES), hint=hint
    )


def of_version(version: int) -> str:
    """The name for the number that the kernel driver gives: major, minor and stepping, two decimal digits each.

    90402 is gfx942, 90010 is gfx90a: minor and stepping are hexadecimal digits of the name.
    """
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}"


def isa_version(arch: str) -> int:
    """The number by which ocml knows an architecture: major * 1000 + minor * 100 + stepping, as in 9402 for gfx942."""
    digits = arch.removeprefix("gfx")
    return int(digits[:-2]) * 1000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)
