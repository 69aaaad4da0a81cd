"""The GPU families of Apple silicon, and the versions of the Metal Shading Language (MSL).

Sources: Apple's "Metal feature set tables" (2025): families, threads and threadgroup memory of a threadgroup; "Metal
Shading Language Specification" 4.0: what each version adds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilecore.errors import TargetError

DEFAULT = "apple7"
DEFAULT_MSL = "3.2"
MAX_THREADS = 1024  # of a threadgroup
SHARED_BYTES = 32 << 10  # threadgroup memory of a threadgroup
MAX_BUFFERS = 31  # parameters of a kernel: [[buffer(0)]] to [[buffer(30)]]
SIMD = 32  # threads of a simdgroup
# version of MSL -> the first macOS with it
MSL = {"3.0": 13, "3.1": 14, "3.2": 15, "4.0": 26}


@dataclass(frozen=True)
class Family:
    """One family. number: as in MTLGPUFamilyApple7. chips: the products with it."""

    number: int
    chips: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"apple{self.number}"

    @property
    def has_ulong_extremes(self) -> bool:
        """Whether every chip has atomic minimum and maximum of 64-bit integers without sign, which return nothing."""
        return self.number >= 9

    @property
    def has_native_bfloat(self) -> bool:
        """Whether instructions compute with bfloat16; else the compiler emulates them by those of float32."""
        return self.number >= 9

    @property
    def has_matrix_unit(self) -> bool:
        """Whether there is a matrix unit of its own, which only ``matmul2d`` of MSL 4 reaches."""
        return self.number >= 10


FAMILIES = {
    family.name: family
    for family in (
        Family(7, ("M1", "A14")),
        Family(8, ("M2", "A15", "A16")),
        Family(9, ("M3", "M4", "A17", "A18")),
        Family(10, ("M5", "A19")),
    )
}
_CHIP = re.compile(r"(?:apple\s*)?([ma]\d+)(?:\s*(?:pro|max|ultra))?")
_BY_CHIP = {chip.lower(): family.name for family in FAMILIES.values() for chip in family.chips}


def parse(text: object) -> Family:
    """The family that "apple9", or a chip such as "M3 Max", names. Raises TargetError for other names."""
    name = str(text).strip().lower()
    chip = _CHIP.fullmatch(name)
    name = _BY_CHIP.get(chip[1], name) if chip is not None else name
    if name.isdecimal() and f"apple{name}" in FAMILIES:
        name = f"apple{name}"
    if name in FAMILIES:
        return FAMILIES[name]
    raise TargetError(
        f"there is no GPU family {text!r}",
        expected="auto, " + ", ".join(f"{f.name} ({', '.join(f.chips)})" for f in FAMILIES.values()),
        hint=_hint(name),
    )


def _hint(name: str) -> str | None:
    """What the user may have meant."""
    number = re.fullmatch(r"(?:apple)?(\d+)", name)
    if number is not None and int(number[1]) < 7:
        return "apple7 (M1, A14) is the oldest family with matrix functions; tile-metal supports none before it"
    if name in ("mac2", "common3", "metal3", "metal4") or name.startswith(("intel", "amd", "radeon")):
        return "tile-metal supports the GPUs of Apple silicon alone"
    return None


def parse_msl(text: object) -> str:
    """The version of MSL as text, such as "3.2". Raises TargetError for versions that tile-metal does not emit."""
    name = str(text).strip().lower().removeprefix("metal").removeprefix("msl")
    name = f"{name}.0" if name.isdecimal() else name
    if name in MSL:
        return name
    raise TargetError(
        f"tile-metal emits no MSL {text!r}",
        expected="auto or one of " + ", ".join(f"{version} (macOS {system})" for version, system in MSL.items()),
    )


def msl_number(version: str) -> int:
    """The version as ``__METAL_VERSION__`` gives it: 320 for "3.2"."""
    major, _, minor = version.partition(".")
    return 100 * int(major) + 10 * int(minor)
