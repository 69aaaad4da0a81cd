"""What a run cost: counts, and cycles by a simple model of the chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tile_tpu.chips import Chip


@dataclass(frozen=True)
class CoreCounts:
    """Of one core. Cycles are those of the tensor unit; all are estimates, see README.md beside this file.

    bytes_in, bytes_out: by DMA from and to DDR; bytes_l2: with L2 on a side; bytes_local: between local addresses.
    commands: that engines were given. bank_conflicts: commands of which two operands share a bank. regions: parallel.
    dma_cycles, vector_cycles, matrix_cycles, hau_cycles: work of each engine. conflict_cycles: in which the tensor unit
    waits for banks.
    serial_cycles: outside of regions. overlapped_cycles: of regions, each as long as its busiest engine;
    region_serial_cycles: what they would take one after the other. wait_cycles: in tpu_sync_all.
    total_cycles: serial + overlapped + wait. high_water: bytes of a lane's memory up to the last one used.
    """

    bytes_in: int
    bytes_out: int
    bytes_l2: int
    bytes_local: int
    commands: int
    bank_conflicts: int
    regions: int
    dma_cycles: float
    vector_cycles: float
    matrix_cycles: float
    conflict_cycles: float
    hau_cycles: float
    serial_cycles: float
    overlapped_cycles: float
    region_serial_cycles: float
    wait_cycles: float
    total_cycles: float
    high_water: int


@dataclass(frozen=True)
class Report:
    """One run. cores: in their order. functions: {name: calls}, of all cores. printed: what the kernel printed."""

    chip: Chip
    cores: tuple[CoreCounts, ...]
    functions: Mapping[str, int]
    printed: str = ""

    @property
    def total_cycles(self) -> float:
        """Of the slowest core: how long the kernel takes."""
        return max(core.total_cycles for core in self.cores)

    @property
    def milliseconds(self) -> float:
        return self.total_cycles / self.chip.vector_mhz / 1000

    @property
    def dma_bound(self) -> float:
        """Cycles that DMA alone takes: no schedule of these copies is faster."""
        return max(core.dma_cycles for core in self.cores)

    @property
    def matrix_bound(self) -> float:
        """Cycles that the products alone take."""
        return max(core.matrix_cycles for core in self.cores)

    @property
    def tensor_bound(self) -> float:
        """Cycles that the tensor unit alone takes, products, waits for banks and the rest: one thing at a time."""
        return max(core.matrix_cycles + core.vector_cycles + core.conflict_cycles for core in self.cores)

    @property
    def bytes_moved(self) -> int:
        """From and to DDR, all cores."""
        return sum(core.bytes_in + core.bytes_out for core in self.cores)

    @property
    def high_water(self) -> int:
        return max(core.high_water for core in self.cores)

    @property
    def commands(self) -> int:
        return sum(core.commands for core in self.cores)

    def table(self) -> str:
        """The counts as text: a column for each core, then the functions."""
        names = [field for field in CoreCounts.__dataclass_fields__ if any(getattr(c, field) for c in self.cores)]
        rows = [["", *(f"core {i}" for i in range(len(self.cores)))]]
        rows += [[name.replace("_", " "), *(f"{getattr(core, name):,.0f}" for core in self.cores)] for name in names]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
                 for row in rows]  # fmt: skip
        facts = f"{self.chip.name}: {self.total_cycles:,.0f} cycles, {self.milliseconds:.3f} ms"
        bounds = (
            f"bounds: DMA {self.dma_bound:,.0f}, matrix {self.matrix_bound:,.0f}, tensor unit {self.tensor_bound:,.0f}"
        )
        most_called = sorted(self.functions.items(), key=lambda called: (-called[1], called[0]))
        calls = [f"  {count:>8,}  {name}" for name, count in most_called]
        return "\n".join([facts, bounds, *lines, "calls", *calls])
