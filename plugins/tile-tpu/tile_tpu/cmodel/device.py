"""CModelDevice: runs kernels on the CModel of a chip."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from tile_tpu.chips import Chip
from tile_tpu.cmodel import pool
from tile_tpu.cmodel.crash import crashed, not_started
from tile_tpu.cmodel.kernel_files import KernelLibrary
from tile_tpu.cmodel.memory import place
from tile_tpu.cmodel.process import Worker, WorkerConfig, WorkerEnded
from tile_tpu.runtimes.records import Block, Launch
from tile_tpu.toolchain.sdk import CModel
from tile_tpu.toolchain.search import find_cmodel
from tilecore import settings
from tilecore.errors import LaunchError, UnsupportedError


class CModelDevice:
    """One chip. files: the files of its CModel; by default those of an installed SDK (raises ToolchainError without
    one)."""

    def __init__(self, chip: Chip, files: CModel | None = None) -> None:
        self.chip = chip
        self.files = files or find_cmodel(chip)

    @property
    def most_items(self) -> int:
        """The most work items of a launch: one for each core. bmlib's CModel runs one only."""
        return self.chip.cores if self.chip.runtime == "tpurt" else 1

    def require_items(self, entry: str, items: int) -> None:
        """Raises UnsupportedError where the CModel cannot launch ``items`` work items. Code for more work items than
        are launched would leave work undone."""
        if items > self.most_items:
            name, most = self.chip.name, self.most_items
            raise UnsupportedError(
                f"{entry} is launched on {items} cores, and the CModel of {name} launches on {most}",
                hint=f'compile it for one core: target="tpu -chip={name} -cores=1"; or use execution_backend="sim"',
            )

    def run(self, kernels: KernelLibrary, blocks: Sequence[Block], launches: Sequence[Launch]) -> None:
        """Runs ``launches`` in order on the same memory. The output of kernels goes to stdout.

        Raises UnsupportedError for too many work items, and LaunchError for an assertion of the CModel, a crash, a
        kernel that does not return 0, a timeout, or a write outside of a block. The next call starts a new process.
        """
        for launch in launches:
            kernels.require(launch.entry)
            self.require_items(launch.entry, launch.items)
        slot = pool.slot(self._config(kernels))
        with slot.lock:
            try:
                worker = slot.ready(kernels)
            except WorkerEnded as ended:
                raise not_started(self.chip, self.files, ended) from None
            self._run(worker, kernels, blocks, launches)

    def _run(self, worker: Worker, kernels: KernelLibrary, blocks: Sequence[Block], launches: Sequence[Launch]) -> None:
        staging = worker.staging
        placed, nbytes = place(blocks)
        staging.reserve(nbytes)
        for block, where in zip(blocks, placed, strict=True):
            if block.copy_in:
                staging.write(block, where.at)
        request = {
            "library": os.fspath(kernels.path),
            "bytes": nbytes,
            "blocks": placed,
            "launches": [(x.entry, x.arguments.hex(), x.pointers, x.items) for x in launches],
        }
        worker.output.skip()
        try:
            answer = worker.ask(request, settings.simulate_timeout())
        except WorkerEnded as ended:
            raise crashed(self.chip, kernels, launches, ended) from None
        self._check(worker, kernels, answer)
        for block, where in zip(blocks, placed, strict=True):
            if block.copy_out:
                staging.read(block, where.at)

    def _check(self, worker: Worker, kernels: KernelLibrary, answer: dict[str, Any]) -> None:
        """Prints the output of the kernels. Raises LaunchError where a kernel failed."""
        _show(worker.output.printed())
        code = worker.output.task_code()
        if code is not None:
            raise self._returned(kernels, code)
        if "failed" in answer:
            raise LaunchError(f"{kernels.name} failed on the CModel of {self.chip.name}: {answer['failed']}")

    def _returned(self, kernels: KernelLibrary, code: int) -> LaunchError:
        """The error where a launch returned ``code``, which is not 0."""
        chip = self.chip.name
        if code == -1:
            return LaunchError(
                f"{kernels.name} was not run, or returned -1, on the CModel of {chip}: "
                "the vendor's runtime returns -1 for a kernel whose name it does not find"
            )
        return LaunchError(f"{kernels.name} failed on the CModel of {chip}: it returned {code}, not 0")

    def _config(self, kernels: KernelLibrary) -> WorkerConfig:
        files, libraries = self.files, [self.files.device.parent, self.files.runtime.parent]
        if files.scalar is not None:  # tpurt
            env = {
                "TPU_EMULATOR_PATH": os.fspath(files.device),
                "TPU_SCALAR_EMULATOR_PATH": os.fspath(files.scalar),
                "TPU_RT_CORE_NUM": str(self.chip.cores),
            }
        else:  # the kernels are the firmware
            libraries.insert(0, kernels.path.parent)
            env = {"TPUKERNEL_FIRMWARE_PATH": os.fspath(kernels.firmware)}
        env["LD_LIBRARY_PATH"] = ":".join(dict.fromkeys([*map(os.fspath, libraries), *_users_libraries()]))
        return WorkerConfig(self.chip.runtime, os.fspath(files.runtime), tuple(sorted(env.items())))


def _users_libraries() -> list[str]:
    """The folders of this process's LD_LIBRARY_PATH, without those that have a C library, as the vendor's setup adds
    one."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return [folder for folder in folders if folder and not os.path.exists(os.path.join(folder, "libc.so.6"))]


def _show(printed: str) -> None:
    if printed:
        sys.stdout.write(printed)
        sys.stdout.flush()
