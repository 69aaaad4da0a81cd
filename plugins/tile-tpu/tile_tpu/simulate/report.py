"""The costs of a run: counts, and cycles in a simple model of the chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tile_tpu.chips import Chip


@dataclass(frozen=True)
class CoreCounts:
    """The counts of one core. Cycles are those of the tensor unit, and estimates (README.md in this folder).

    bytes_in, bytes_out: DMA from and to DDR. bytes_l2: DMA from or to L2. bytes_local: DMA inside local memory.
    commands: the commands to engines. bank_conflicts: commands of which two operands share a bank. regions: parallel
    regions. dma_cycles, vector_cycles, matrix_cycles, hau_cycles: the work of each engine. conflict_cycles: cycles in
    which the tensor unit waits for banks. serial_cycles: cycles outside of parallel regions. overlapped_cycles: cycles
    of parallel regions, each as long as its busiest engine. region_serial_cycles: cycles of the same commands without
    overlap. wait_cycles: cycles in tpu_sync_all. total_cycles: serial + overlapped + wait. high_water: the bytes of a
    lane's memory up to the last one that is used.
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
    """The report of one run. cores: the counts of each core. functions: {name: calls} of all cores together. printed:
    the output of the kernel."""

    chip: Chip
    cores: tuple[CoreCounts, ...]
    functions: Mapping[str, int]
    printed: str = ""

    @property
    def total_cycles(self) -> float:
        """The duration of the kernel: the cycles of the slowest core."""
        return max(core.total_cycles for core in self.cores)

    @property
    def milliseconds(self) -> float:
        return self.total_cycles / self.chip.vector_mhz / 1000

    @property
    def dma_bound(self) -> float:
        """The cycles of DMA alone: a lower bound for every schedule of these transfers."""
        return max(core.dma_cycles for core in self.cores)

    @property
    def matrix_bound(self) -> float:
        """The cycles of matrix products alone."""
        return max(core.matrix_cycles for core in self.cores)

    @property
    def tensor_bound(self) -> float:
        """The cycles of the tensor unit alone: matrix products, other commands, and waits for banks."""
        return max(core.matrix_cycles + core.vector_cycles + core.conflict_cycles for core in self.cores)

    @property
    def bytes_moved(self) -> int:
        """The bytes from and to DDR of all cores."""
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
