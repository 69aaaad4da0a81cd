"""The execution backend ``cutedsl``: launches kernels by the functions that the package nvidia-cutlass-dsl compiled."""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from typing import Any

from tile_cuda.adapter import DriverAdapter
from tile_cuda.cutedsl import package
from tile_cuda.cutedsl.names import LANGUAGE
from tile_cuda.driver import Driver
from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import HostCode, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.errors import LaunchError
from tilecore.target import Target

_WORD = 8  # bytes of a slot


class CuteDslAdapter(DriverAdapter):
    """Launches kernels in CuTe DSL on torch's current stream."""

    def __init__(self) -> None:
        super().__init__(LANGUAGE)

    def target(self, target: Target) -> Target:
        return target.with_attributes(language=LANGUAGE)

    def available(self, target: Target) -> Presence:
        reason = package.missing()
        if reason:
            return Presence(False, reason)
        return self.device_present()

    def binary_formats(self) -> tuple[str, ...]:
        return (package.FORMAT,)

    def host_code(self, artifact: Artifact) -> HostCode | None:
        """None: the functions that launch the kernels need the package."""
        return None

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Loads the functions that launch the kernels. Raises LaunchError."""
        try:
            compiled = {kernel.symbol: kernel for kernel in package.unpack(artifact.binary)}
            launches = [package.LoadedLaunch(compiled[entry.symbol]) for entry in artifact.entries]
        except Exception as error:
            raise LaunchError(f"{artifact.name} cannot be loaded: {error}") from error
        loaded = _Launches(artifact, launches, self._driver)
        return LoadedKernel(loaded, error=self._words, owner=loaded, on_device=True)

    def _words(self, code: int) -> str:
        return f"CUDA's runtime returned error {code} to the launch by CuTe DSL"


class _Launches:
    """The launch of all kernels of an artifact: ``launches(slots, grids, device, stream)``."""

    def __init__(self, artifact: Artifact, launches: list[package.LoadedLaunch], driver: Any) -> None:
        self._launches = launches
        self._count = _slots_of(artifact)
        self._driver = driver

    def __call__(self, slots: int, grids: int, device: int, stream: int) -> int:
        driver: Driver = self._driver()
        with nullcontext() if driver.current_device() == device else driver.inside(device):
            for number, launch in enumerate(self._launches):
                code = self._one(launch, slots, grids + 4 * _WORD * number, stream)
                if code:
                    return code
        return 0

    def _one(self, launch: package.LoadedLaunch, slots: int, grid: int, stream: int) -> int:
        """The launch of one kernel. Its arguments are read at addresses: of the slots, and of the blocks along x, y and
        z, whose lower four bytes they are."""
        if 0 in (ctypes.c_int64 * 3).from_address(grid):
            return 0
        handle, error = ctypes.c_void_p(stream), ctypes.c_int32(0)
        addresses = [slots + _WORD * number for number in range(self._count)]
        addresses += [grid + _WORD * axis for axis in range(3)]
        addresses += [ctypes.addressof(handle), ctypes.addressof(error)]
        launch.function()((ctypes.c_void_p * len(addresses))(*addresses))
        return error.value


def _slots_of(artifact: Artifact) -> int:
    """The number of slots that kernels take: parameters, workspaces, and the sizes that are no scalar parameters."""
    sizes = [symbol for symbol in artifact.symbols if symbol.source[0] != "scalar"]
    return len(artifact.params) + len(artifact.workspaces) + len(sizes)
