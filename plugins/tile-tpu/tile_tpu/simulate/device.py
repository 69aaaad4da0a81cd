"""SimulatedTpu: runs one kernel at a time, and raises an error for what the kernel does wrong."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tile_tpu.chips import Chip, find_chip
from tile_tpu.simulate import native
from tile_tpu.simulate.arguments import Placed, Tensor, pack, place, split
from tile_tpu.simulate.build import KernelLibrary, simulator_library
from tile_tpu.simulate.errors import TpuSimulationError
from tile_tpu.simulate.report import CoreCounts, Report
from tilecore.errors import LaunchError
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.interruptible import run_interruptible

_LOCK = threading.Lock()
_WHOLE = {"bytes_in", "bytes_out", "bytes_l2", "bytes_local", "commands", "bank_conflicts", "regions", "high_water"}


@dataclass(frozen=True)
class SimulatedTpu:
    """A simulated chip.

    chip: its name or record. command_limit: the most commands of one core. seconds: the timeout of a run; 0: no limit.
    """

    chip: str | Chip = "bm1690"
    command_limit: int = 50_000_000
    seconds: float = 600.0

    @property
    def facts(self) -> Chip:
        return find_chip(self.chip) if isinstance(self.chip, str) else self.chip

    def run(
        self, library: KernelLibrary | str | Path, entry: str, arguments: Sequence[Any], block_num: int = 1
    ) -> Report:
        """Launches ``entry`` as ``block_num`` work items, each on its own core.

        arguments: numpy arrays (any element type, C-contiguous), Tensors and ctypes scalars, in the order of the
        kernel's struct. Tensors are copied to the device and, unless the run fails, back. Raises TpuSimulationError for
        an error of the kernel, and LaunchError for a wrong launch.
        """
        if not isinstance(library, KernelLibrary):
            library = _opened(Path(library))
        cores = self.facts.cores
        if not 1 <= block_num <= cores:
            raise LaunchError(
                f"{entry} cannot be launched with this many work items",
                found=str(block_num),
                expected=f"1 to {cores}: one for each core",
            )
        with _LOCK:
            return _Launch(self, library, entry, arguments, block_num).run()


_libraries: dict[str, KernelLibrary] = {}


def _opened(path: Path) -> KernelLibrary:
    return _libraries.setdefault(os.fspath(path), KernelLibrary(path))


class _Launch:
    """One launch: creates the records that the simulator reads, and runs it."""

    def __init__(
        self, device: SimulatedTpu, library: KernelLibrary, entry: str, arguments: Sequence[Any], block_num: int
    ) -> None:
        self.device, self.library, self.entry, self.block_num = device, library, entry, block_num
        self.chip = device.facts
        values = split(arguments)
        tensors = [value for value in values if isinstance(value, Tensor)]
        self.placed, addresses = place(tensors, self.chip.global_base)
        at = iter(addresses)
        slots = [ctypes.c_uint64(next(at)) if isinstance(value, Tensor) else value for value in values]
        self.struct = pack(slots)
        self.owners = values
        self.interrupt = ctypes.c_int32(0)

    def run(self) -> Report:
        simulator = native.load_simulator(simulator_library(find_compiler()))
        record, report = self._record(), native.CReport()
        failed = self._call(simulator, record, report)
        printed = simulator.tpu_sim_printed().decode(errors="replace")
        if printed:
            sys.stdout.write(printed)
            sys.stdout.flush()  # the process may end at once
        if failed:
            raise self._error(report)
        functions = dict(line.split() for line in simulator.tpu_sim_functions().decode().splitlines())
        cores = tuple(_counts(report.counts[i]) for i in range(self.block_num))
        return Report(self.chip, cores, {name: int(count) for name, count in functions.items()}, printed)

    def _record(self) -> native.CLaunch:
        launch = native.CLaunch()
        launch.chip = native.chip_record(self.chip)
        launch.entry = self.library.entry(self.entry)
        # a copy, as the kernel gets the address, and the memory of a bytes object must not be written
        structs = self.struct * self.block_num
        self.structs = (ctypes.c_char * len(structs)).from_buffer_copy(structs)
        launch.arguments, launch.argument_bytes = ctypes.addressof(self.structs), len(self.struct)
        tensors = (native.CTensor * max(len(self.placed), 1))()
        for record, block in zip(tensors, self.placed, strict=False):
            _fill(record, block)
        launch.tensors, launch.tensor_count = tensors, len(self.placed)
        launch.work_items, launch.command_limit = self.block_num, self.device.command_limit
        launch.seconds, launch.interrupt = self.device.seconds, ctypes.pointer(self.interrupt)
        return launch

    def _call(self, simulator: Any, record: native.CLaunch, report: native.CReport) -> int:
        """Runs the simulator in a way that Ctrl-C can interrupt. Returns whether it failed."""
        return run_interruptible(
            lambda: simulator.tpu_sim_run(ctypes.byref(record), ctypes.byref(report)),
            self.interrupt,
            "simulated tpu",
        )

    def _error(self, report: native.CReport) -> TpuSimulationError:
        words = {
            name: getattr(report, name).decode(errors="replace") or None
            for name in ("function", "found", "expected", "hint", "tensor")
        }
        function = words.pop("function") or ""
        line = int(report.line)
        user_line = self.library.user_line(line) if line else None
        where = f", line {line}" if line else ""
        called = f", in {function}" if function else ""
        core = f", core {report.core}" if self.block_num > 1 else ""
        source = f" ({user_line})" if user_line else ""
        message = f"{self.entry}{where}{source}{core}{called}: {report.message.decode(errors='replace')}"
        return TpuSimulationError(
            message, kind=report.kind.decode(), kernel=self.entry, function=function, line=line, core=int(report.core),
            user_line=user_line, **words,
        )  # fmt: skip


def _fill(record: native.CTensor, block: Placed) -> None:
    record.name = block.name.encode()[:63]
    record.host, record.bytes = block.host, block.nbytes
    record.address, record.access = block.address, block.access


def _counts(values: Any) -> CoreCounts:
    named = zip(native.COUNTS, values, strict=False)
    counts: dict[str, Any] = {name: int(value) if name in _WHOLE else float(value) for name, value in named}
    return CoreCounts(**counts)
