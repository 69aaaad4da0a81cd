"""How a device serves the lanes of a warp at the banks of shared memory: in phases, by the width of the access.

A phase is a set of lanes that the device serves together. It takes one cycle, if no two of its lanes access different
words of one bank, and otherwise as many cycles as the words of the fullest bank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilecore.errors import LaunchError

WORD = 4  # bytes of a bank
MOST_BANKS = 64


@dataclass(frozen=True)
class BankPhases:
    """The phases of accesses of one width.

    size: the most bytes of a lane's access that the phases hold for; the entry with the least sufficient size counts.
    phases: for each phase the numbers of its lanes; no lane is in two of them. banks: the number of banks, each 4 bytes
    wide. reads, writes: which accesses they hold for.
    """

    size: int
    phases: tuple[tuple[int, ...], ...]
    banks: int = 32
    reads: bool = True
    writes: bool = True

    def __post_init__(self) -> None:
        lanes = [lane for phase in self.phases for lane in phase]
        if len(set(lanes)) != len(lanes) or not all(0 <= lane < 64 for lane in lanes) or not all(self.phases):
            raise LaunchError(
                "phases of accesses to shared memory are disjoint sets of lanes", found=str(self.phases),
                expected="each lane, from 0 to 63, in one phase",
            )  # fmt: skip
        if not 1 <= self.banks <= MOST_BANKS:
            raise LaunchError("shared memory of the simulated device has 1 to 64 banks", found=f"{self.banks} banks")

    @property
    def masks(self) -> tuple[int, ...]:
        """For each phase a mask with one bit for each of its lanes."""
        return tuple(sum(1 << lane for lane in phase) for phase in self.phases)


def consecutive_lanes(lanes: int, warp: int) -> tuple[tuple[int, ...], ...]:
    """Phases of so many consecutive lanes of a warp."""
    return tuple(tuple(range(first, first + lanes)) for first in range(0, warp, lanes))


def exclusive_ors(lanes: Iterable[int], distances: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The phases that ``lanes`` become when their numbers are exclusive-ored with every sum of some ``distances``."""
    phases = [tuple(lanes)]
    for distance in distances:
        phases += [tuple(lane ^ distance for lane in phase) for phase in phases]
    return tuple(phases)


def default_phases(warp: int) -> tuple[BankPhases, ...]:
    """32 banks that serve 128 bytes of consecutive lanes at a time."""
    return tuple(BankPhases(size, consecutive_lanes(min(32 * WORD // size, warp), warp)) for size in (4, 8, 16))
