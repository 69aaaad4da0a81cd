"""The GPU architectures: their names, the limits of a block, and their instruction set features."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from tilecore.errors import TargetError

# compute capability -> the most bytes of shared memory of one block
_SHARED_BYTES = {
    70: 96 << 10,
    72: 96 << 10,
    75: 64 << 10,
    80: 163 << 10,
    86: 99 << 10,
    87: 163 << 10,
    88: 99 << 10,
    89: 99 << 10,
    90: 227 << 10,
    100: 227 << 10,
    103: 227 << 10,
    110: 227 << 10,
    120: 99 << 10,
    121: 99 << 10,
}
# compute capability -> the number of multiprocessors of its largest usual device
_MULTIPROCESSORS = {70: 80, 80: 108, 90: 132, 100: 148, 103: 148}
# feature -> the first compute capability that has it
_FEATURES = {
    "shared_pairs": 70,  # tilecore/lowering/simt/tile_ops/gemm.py; measured by others on sm_70 and sm_75
    "mma": 75,
    "ldmatrix": 75,
    "copy_async": 80,
    "transaction_barriers": 80,
    "l2_policies": 80,
    "fp8_mma": 89,
    "stmatrix": 90,
    "clusters": 90,
    "bulk_copy": 90,
    "programmatic_launch": 90,
}
# suffix -> the first compute capability that has it: architecture-specific (a), family-specific (f) instructions
_SUFFIXES = {"a": 90, "f": 100}
_TEGRA = {72, 87, 88, 110}  # in systems on a chip
DEFAULT = "sm_80"
MAX_THREADS = 1024
MAX_REGISTERS = 255
THREAD_BYTES = 512 * 1024  # local memory of a thread, on all architectures
WARP = 32


@dataclass(frozen=True)
class Architecture:
    """One architecture.

    capability: 80, 90, ...; suffix: "a" (architecture-specific instructions), "f" (family-specific ones) or "".
    """

    capability: int
    suffix: str = ""

    @property
    def name(self) -> str:
        """The name that compilers use, such as sm_90a."""
        return f"sm_{self.capability}{self.suffix}"

    @property
    def virtual(self) -> str:
        """The name of the virtual architecture (the PTX instruction set), such as compute_90a."""
        return f"compute_{self.capability}{self.suffix}"

    @property
    def shared_bytes(self) -> int:
        """The most bytes of shared memory of one block."""
        return _SHARED_BYTES[self.capability]

    @property
    def multiprocessors(self) -> int:
        """The number of multiprocessors of the largest usual device."""
        return _MULTIPROCESSORS.get(self.capability, 64)

    def features(self) -> frozenset[str]:
        """The names of the instruction set features of the architecture."""
        features = {name for name, least in _FEATURES.items() if self.capability >= least}
        if self.capability == 90 and self.suffix == "a":
            features.add("wgmma")
        return frozenset(features)


def parse(text: object) -> Architecture:
    """The architecture that "sm_90a", "90a", "9.0", 90 or "compute_90" names. Raises TargetError for other names."""
    name = str(text).strip().lower()
    match = re.fullmatch(r"(?:sm_?|compute_?)?(\d{2,3}|\d{1,2}\.\d)([af]?)", name)
    capability = int(match[1].replace(".", "")) if match else 0
    if match is None or capability not in _SHARED_BYTES:
        similar = difflib.get_close_matches(name, [f"sm_{n}" for n in _SHARED_BYTES], 1)
        raise TargetError(
            f"there is no GPU architecture {text!r}",
            expected="auto or one of "
            + ", ".join(f"sm_{n}" for n in _SHARED_BYTES)
            + "; from sm_90 on also with suffix a",
            hint=f"did you mean {similar[0]}?" if similar else None,
        )
    if capability < _SUFFIXES.get(match[2], 0):
        first = _SUFFIXES[match[2]]
        raise TargetError(
            f"there is no GPU architecture {text!r}",
            expected=f"sm_{capability}; architectures from sm_{first} on have the suffix {match[2]}",
        )
    return Architecture(capability, match[2])


def of_device(major: int, minor: int) -> Architecture:
    """The architecture to compile for where the device has this compute capability."""
    capability = 10 * major + minor
    newest = max((n for n in _SHARED_BYTES if n <= capability), default=70)
    if newest == capability and capability >= 90:
        return Architecture(capability, "a")
    return Architecture(newest)


def runs_on(compiled_for: Architecture, device: Architecture) -> int:
    """How well a cubin for one architecture fits a device of another: 0 not at all, else the nearer the better.

    Source: the CUDA C++ Programming Guide, "Binary Compatibility": cubins run on the same major compute capability and
    an equal or later minor one, except for those of Tegra, which fit their own alone; with suffix a on this capability
    alone, with suffix f on its family, which is the rest of the major capability here.
    """
    major, minor = divmod(compiled_for.capability, 10)
    device_major, device_minor = divmod(device.capability, 10)
    if compiled_for.capability == device.capability:
        return 100 + {"": 0, "f": 1, "a": 2}[compiled_for.suffix]
    if _TEGRA & {compiled_for.capability, device.capability}:
        return 0
    if compiled_for.suffix == "a" or major != device_major or minor > device_minor:
        return 0
    return 1 + minor
