"""The GPU architectures: their names, the width of a wave, and the limits of a block.

Sources: AMD's ISA documents "CDNA 2", "CDNA 3", "CDNA 4", "RDNA 3", "RDNA 3.5", "RDNA 4" (LDS of a workgroup, wave
sizes), and LLVM's "User Guide for AMDGPU Backend" (names of processors and generations).
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from tile_hip import products
from tilecore.errors import TargetError

DEFAULT = "gfx942"
_OLD = re.compile(r"gfx([678]\d[0-9a-f]|90[0-9c]|10\d\d)")  # before CDNA 2 and RDNA 3
_FEATURE = re.compile(r"(sramecc|xnack)[+-]")
# architectures without products, or with those of the future, and what to say of them
_OTHER = {
    "gfx940": "gfx942 is the released MI300",
    "gfx941": "gfx942 is the released MI300",
    "gfx1153": "gfx1152 is the newest chip of this family that it supports",
    "gfx1250": "gfx950 and gfx1201 are the newest that it supports",
    "gfx1251": "gfx950 and gfx1201 are the newest that it supports",
}
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

    @property
    def is_cdna(self) -> bool:
        """Whether it is of CDNA, whose waves always have 64 lanes; else it is of RDNA."""
        return self.waves == _CDNA


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
    name, _, features = str(text).strip().lower().partition(":")
    if name not in ARCHITECTURES:
        raise TargetError(
            f"there is no GPU architecture {text!r}"
            if not is_unsupported(name)
            else f"tile-hip does not support {name}",
            found=_products(name),
            expected="auto or one of " + ", ".join(ARCHITECTURES),
            hint=_hint(name),
        )
    wrong = [feature for feature in features.split(":") if features and not _FEATURE.fullmatch(feature)]
    if wrong:
        raise TargetError(
            f"there is no feature {wrong[0]!r} of an architecture",
            found=str(text),
            expected="sramecc+, sramecc-, xnack+ or xnack- behind a colon, as torch writes them",
            hint=f"{name} alone is enough: its kernels run with any of these settings",
        )
    return ARCHITECTURES[name]


def is_unsupported(name: str) -> bool:
    """Is it an architecture of AMD's that tile-hip does not compile for?"""
    return name not in ARCHITECTURES and (name in _OTHER or _OLD.fullmatch(name) is not None)


def _products(name: str) -> str | None:
    return f"{name}: {products.PRODUCTS[name]}" if name in products.PRODUCTS else None


def _hint(name: str) -> str | None:
    """What the user may have meant."""
    if name in _OTHER:
        return _OTHER[name]
    if is_unsupported(name):
        return "MI200 (gfx90a) and RX 7000 (gfx1100) are the oldest that it supports"
    if name.endswith("-generic"):
        return "name a chip: generic architectures lack the matrix instructions of its generation"
    if re.fullmatch(r"(sm_?|compute_?)\d+[af]?", name):
        return f'this is a GPU of NVIDIA: target="cuda -arch={name}"'
    product = products.chip_of(name)
    if product is not None:
        arch, written = product
        return f"{written} is {arch}" + ("" if arch in ARCHITECTURES else ", which tile-hip does not support")
    full = name if name.startswith("gfx") else f"gfx{name}"
    starting = [known for known in ARCHITECTURES if len(full) > 3 and known.startswith(full)]
    similar = starting or (difflib.get_close_matches(full, ARCHITECTURES, 1) if len(full) > 3 else [])
    return f"did you mean {' or '.join(similar)}?" if similar else None


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
