"""What a compute unit can do in a cycle, for the model of time (``model.py``), with the source of each number.

A unit is what the waves of a block share: a CU of CDNA, a workgroup processor (WGP, two CUs) of RDNA; it has 4 SIMDs.

- ``issue``, cycles between two instructions of one kind on a SIMD, and between two instructions of one wave: 4 on CDNA,
  whose scheduler serves its 4 SIMDs in turn (AMD, "ROCm Compute Profiler", Pipeline descriptions, Scheduler; "GCN
  architecture whitepaper", 2012), 1 on RDNA (AMD, "RDNA whitepaper", 2019).
- ``vector``, ``transcendental``: the cycles of a vector instruction. CDNA: 64 lanes in 4 passes of 16; exp, log, rcp,
  rsq, sqrt, sin, cos at a quarter of the rate (LLVM, SISchedule.td). RDNA: 32 lanes in a cycle, 64 in two, and a unit
  of its own (``apart``) for transcendental functions, with a quarter of the rate.
- ``lds``: bytes of LDS in a cycle: 32 banks of 4 bytes a CU (the same page, Local data share), two CUs in a WGP.
  ``wide_reads``: of reads of 8 and 16 bytes; gfx950 has 64 banks for them (AMD, "CDNA 4 architecture whitepaper": twice
  the bandwidth).
- ``cache``: bytes of the second-level cache in a cycle and unit, at most the 64 bytes of the first level: 2 KiB a cycle
  and XCD over 38 or 32 CUs (AMD, "CDNA 3 architecture whitepaper", "CDNA 4 architecture whitepaper"), 4 KiB a GCD over
  110 CUs (AMD, "CDNA 2 architecture whitepaper"). RDNA: the 64 bytes of each CU's first level; a number of the second
  level is not published.
- ``memory``: bytes of memory in a cycle and unit, from AMD's product pages: bandwidth / (clock x units).

The numbers of the whitepapers were not measured here, and those of ``cache`` not read again: see docs/notes/hip.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """A product with a chip. units, gigahertz, bandwidth (GB/s): of its product page; a GCD alone of the MI250X."""

    product: str
    units: int
    gigahertz: float
    bandwidth: int
    issue: int
    vector: int
    transcendental: int
    apart: bool
    lds: int
    wide_reads: int
    cache: float

    @property
    def memory(self) -> float:
        """Bytes of memory in a cycle for each unit."""
        return self.bandwidth / (self.gigahertz * self.units)


def _cdna(product: str, units: int, gigahertz: float, bandwidth: int, wide_reads: int, cache: float) -> Chip:
    return Chip(product, units, gigahertz, bandwidth, 4, 4, 16, False, 128, wide_reads, cache)


def _rdna(product: str, units: int, gigahertz: float, bandwidth: int) -> Chip:
    return Chip(product, units, gigahertz, bandwidth, 1, 1, 4, True, 256, 256, 128.0)


_CHIPS = {
    "gfx90a": _cdna("MI250X", 110, 1.7, 1638, 128, 4096 / 110),
    "gfx942": _cdna("MI300X", 304, 2.1, 5300, 128, 2048 / 38),
    "gfx950": _cdna("MI355X", 256, 2.4, 8000, 256, 2048 / 32),
    "gfx1100": _rdna("RX 7900 XTX", 48, 2.5, 960),
    "gfx1201": _rdna("RX 9070 XT", 32, 2.97, 640),
}


def chip_of(arch: str) -> Chip | None:
    """The chip that the model knows for an architecture, or None."""
    return _CHIPS.get(arch)
