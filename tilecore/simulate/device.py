"""SimulatedDevice: runs one kernel at a time, and raises SimulationError for what it does wrong."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilecore import settings
from tilecore.errors import LaunchError
from tilecore.simulate import native
from tilecore.simulate.arguments import Record, Region, Tensor, regions_of
from tilecore.simulate.banks import BankPhases, default_phases
from tilecore.simulate.interruptible import run_interruptible
from tilecore.simulate.library import KernelLibrary, compile_kernels
from tilecore.simulate.reports import BankConflict, bank_conflicts, simulation_error

if TYPE_CHECKING:
    from tilecore.simulate.compilers import HostCompiler
    from tilecore.simulate.pointers import PointedWord

_LOCK = threading.Lock()


@dataclass(frozen=True)
class Run:
    """The statistics of a run without errors. counts: accesses and waits by name (native.COUNTS). printed: its output.
    banks: use of the banks of shared memory by line, when the device counts it."""

    counts: dict[str, int]
    printed: str = ""
    banks: list[BankConflict] = field(default_factory=list)


@dataclass(frozen=True)
class SimulatedDevice:
    """A device on the host.

    warp: lanes of a warp, up to 64. shared_limit: most bytes of shared memory of a block. max_threads: of a block.
    seed: of the order in which threads and blocks run; None: TILECORE_SIMULATE_SEED.
    workers: host threads; with more than one, only accesses within a block are checked for order, and first writes of
    global memory are not looked at.
    allow_same_value: threads may write one value to one place without order. count_banks: costs time.
    own_proxy: asynchronous work other than plain copies accesses shared memory through a proxy of its own, and sees
    what threads wrote there only after a proxy fence.
    most_resident: the most blocks that run at the same time. seconds: longest run, 0: no limit.
    bank_phases: how the banks of shared memory serve the lanes of a warp, by the width of the access; (): 128 bytes of
    consecutive lanes at a time, from 32 banks.
    """

    warp: int = 32
    shared_limit: int = 256 * 1024
    max_threads: int = 1024
    seed: int | None = None
    workers: int = 1
    allow_same_value: bool = False
    count_banks: bool = False
    own_proxy: bool = False
    most_resident: int = 64
    seconds: float = 600.0
    bank_phases: tuple[BankPhases, ...] = ()

    def __post_init__(self) -> None:
        if self.warp not in (1, 2, 4, 8, 16, 32, 64):
            raise LaunchError("a warp has a power of two of lanes, at most 64", found=str(self.warp))
        if not 1 <= self.max_threads <= 1024:
            raise LaunchError("a block of the simulated device has 1 to 1024 threads", found=str(self.max_threads))

    def compile(
        self, source: str, symbols: Sequence[str], include: Sequence[str | Path] = (), flags: Sequence[str] = (),
        compiler: HostCompiler | None = None,
    ) -> KernelLibrary:  # fmt: skip
        """Compile emitted source; see :func:`tilecore.simulate.library.compile_kernels`."""
        return compile_kernels(source, symbols, include, flags, compiler)

    def run(
        self, library: KernelLibrary, symbol: str, grid: Sequence[int], block: Sequence[int],
        arguments: Sequence[Tensor | Record | int], shared_bytes: int = 0, seed: int | None = None,
        cluster: Sequence[int] = (1, 1, 1), words: Sequence[PointedWord] = (),
    ) -> Run:  # fmt: skip
        """Run ``symbol`` over ``grid`` blocks of ``block`` threads (x, y, z; fewer mean 1).

        arguments: in the order of the kernel's parameters; a number is an 8-byte slot (``arguments.slot_of``), a record
        takes one for each of its words.
        cluster: blocks (x, y, z) that run together and see each other's shared memory; the grid is a multiple of it.
        words: addresses in the tensors, whose targets are tensors of the device, too.
        Tensors are copied to the device and, if all went well, back. Raises SimulationError.
        """
        blocks, threads, together = _extent(grid, "grid"), _extent(block, "block"), _extent(cluster, "cluster")
        self._check(symbol, threads, shared_bytes)
        if 0 in together or any(b % c for b, c in zip(blocks, together, strict=True)):
            raise LaunchError(
                f"{symbol}: the grid is no multiple of its clusters of {together} blocks",
                found=f"a grid of {blocks} blocks",
            )
        if 0 in blocks:
            return Run({})
        with _LOCK:
            return _Launch(self, library, symbol, blocks, threads, arguments, shared_bytes, together, words).run(
                _seed(self.seed if seed is None else seed)
            )

    def _check(self, symbol: str, threads: tuple[int, int, int], shared_bytes: int) -> None:
        count = threads[0] * threads[1] * threads[2]
        if not 1 <= count <= self.max_threads:
            raise LaunchError(
                f"{symbol}: too many threads in a block", found=str(count), expected=f"1 to {self.max_threads}"
            )
        if not 0 <= shared_bytes <= self.shared_limit:
            raise LaunchError(
                f"{symbol}: too much shared memory", found=f"{shared_bytes} bytes", expected=f"0 to {self.shared_limit}"
            )


def _extent(sizes: Sequence[int], noun: str) -> tuple[int, int, int]:
    x, y, z = (*(int(size) for size in sizes), 1, 1, 1)[:3]
    if min(x, y, z) < 0 or x * y * z >= 2**23 or len(sizes) > 3:
        raise LaunchError(f"a {noun} of {tuple(sizes)} cannot be simulated", expected="fewer than 2**23 in all")
    return x, y, z


def _seed(seed: int | None) -> int:
    return settings.simulate_seed() if seed is None else seed


class _Launch:
    """One launch, as the records that the runtime reads."""

    def __init__(
        self, device: SimulatedDevice, library: KernelLibrary, symbol: str, grid: tuple[int, int, int],
        block: tuple[int, int, int], arguments: Sequence[Tensor | Record | int], shared_bytes: int,
        cluster: tuple[int, int, int], words: Sequence[PointedWord] = (),
    ) -> None:  # fmt: skip
        self.device = device
        self.library = library
        self.symbol = symbol
        self.sizes = grid, block
        self.cluster = cluster
        self.shared_bytes = shared_bytes
        self.arguments = arguments
        self.words = words
        pointed = {id(word.target): word.target for word in words}.values()
        self.regions: list[Region] = regions_of([*(a for a in arguments if isinstance(a, Tensor)), *pointed])
        self.interrupt = ctypes.c_int32(0)

    def run(self, seed: int) -> Run:
        runtime = self.library.runtime
        report, counts = native.CReport(), native.CCounts()
        code = self._call(runtime, self._record(seed), report, counts)
        printed = runtime.tc_sim_printed().decode(errors="replace")
        if printed:
            sys.stdout.write(printed)
            sys.stdout.flush()  # the process may end at once
        if code == 2:
            raise LaunchError(f"{self.symbol}: the host has not enough memory for its tensors")
        if code:
            raise simulation_error(report, self.library, self.symbol, self.regions, self.shared_bytes)
        banks = bank_conflicts(native.bank_lines(runtime), self.library) if self.device.count_banks else []
        return Run({name: int(getattr(counts, name)) for name in native.COUNTS}, printed, banks)

    def _call(self, runtime: Any, record: native.CLaunch, report: native.CReport, counts: native.CCounts) -> int:
        """Run, so that Ctrl-C ends it."""
        return run_interruptible(
            lambda: runtime.tc_sim_run(ctypes.byref(record), ctypes.byref(report), ctypes.byref(counts)),
            self.interrupt,
            "simulated device",
        )

    def _record(self, seed: int) -> native.CLaunch:
        device, launch = self.device, native.CLaunch()
        launch.entry = self.library.entry(self.symbol)
        launch.grid[:], launch.block[:] = self.sizes
        slots, tensors, pointers = self._slots()
        launch.slots, launch.tensors, launch.pointers = slots, tensors, pointers
        launch.slot_count, launch.tensor_count = len(slots), len(self.regions)
        launch.pointer_count = len(pointers) if self.regions else 0
        launch.words, launch.word_count = self._words(), len(self.words)
        launch.warp, launch.workers, launch.most_resident = device.warp, device.workers, device.most_resident
        launch.allow_same_value, launch.count_banks = device.allow_same_value, device.count_banks
        if device.count_banks:
            self._describe_banks(launch)
        launch.own_proxy, launch.cluster[:] = device.own_proxy, self.cluster
        launch.shared_bytes, launch.shared_limit = self.shared_bytes, device.shared_limit
        launch.seed, launch.seconds = seed & (2**64 - 1), device.seconds
        launch.interrupt = ctypes.pointer(self.interrupt)
        return launch

    def _describe_banks(self, launch: native.CLaunch) -> None:
        phases = sorted(self.device.bank_phases or default_phases(self.device.warp), key=lambda entry: entry.size)
        records = (native.CBankPhases * len(phases))()
        for record, entry in zip(records, phases, strict=True):
            record.size, record.banks, record.reads, record.writes = entry.size, entry.banks, entry.reads, entry.writes
            record.count = len(entry.masks)
            record.masks = (ctypes.c_uint64 * record.count)(*entry.masks)
        launch.bank_phases, launch.bank_phases_count = records, len(records)

    def _region_of(self) -> dict[int, int]:
        """The region of each tensor, by the tensor's id."""
        return {id(tensor): index for index, region in enumerate(self.regions) for tensor in region.tensors}

    def _words(self) -> Any:
        region_of, records = self._region_of(), (native.CWord * max(1, len(self.words)))()
        for record, word in zip(records, self.words, strict=False):
            record.tensor, record.target = region_of[id(word.table)], region_of[id(word.target)]
            record.at = word.table.address + word.at - self.regions[record.tensor].begin
            record.offset = word.target.address + word.offset - self.regions[record.target].begin
        return records

    def _slots(self) -> tuple[Any, Any, Any]:
        tensors = (native.CTensor * max(1, len(self.regions)))()
        for region_index, region in enumerate(self.regions):
            tensors[region_index] = native.CTensor(
                region.begin, region.end - region.begin, region.item, region.access, region.row
            )
        region_of = self._region_of()
        words: list[int] = []
        pointers = []
        for argument in self.arguments:
            for word in argument.words if isinstance(argument, Record) else (argument,):
                tensor, offset = word if isinstance(word, tuple) else (word, 0)
                if isinstance(tensor, Tensor):
                    region_index = region_of[id(tensor)]
                    offset += tensor.address - self.regions[region_index].begin
                    pointers.append(native.CPointer(len(words), region_index, offset % 2**64))
                words.append(0 if isinstance(tensor, Tensor) else tensor)
        slots = (ctypes.c_int64 * max(1, len(words)))(*words)
        return slots, tensors, (native.CPointer * max(1, len(pointers)))(*pointers)
