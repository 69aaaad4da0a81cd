"""What went wrong in a launch: the driver's own name for it, the limit that was hit, and what to do about it."""

from __future__ import annotations

import threading
from math import prod
from typing import TYPE_CHECKING

from tile_cuda import driver as api
from tile_cuda.driver import DriverError
from tilecore.errors import LaunchError

if TYPE_CHECKING:
    from tile_cuda.launch.module import KernelModule

# results of our own, beside the driver's; launch_native.h has the same
BAD_DEVICE, BAD_GRID, NO_MEMORY, LOAD_FAILED, BAD_CLUSTER, BAD_MAP = 1001, 1002, 1003, 1004, 1005, 1100
MAX_MAPS = 16  # of one kernel
ENTRY_STEP = 10000
MAX_GRID = (2**31 - 1, 65535, 65535)
_INVALID_IMAGE, _NO_BINARY, _UNSUPPORTED_PTX = 200, 209, 222
_INVALID_VALUE, _OUT_OF_RESOURCES, _TOO_LARGE_TOGETHER = 1, 701, 720

_SIMULATE = 'execution_backend="sim" runs the kernel on the host and names the access'
_LATE = (
    "a kernel that ran before this call did it, which need not be this one: the device reports it late. "
    f"{_SIMULATE}; CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer finds the launch. The process must be started again"
)
_HINTS = {
    1: "the grid, the threads of a block and the shared memory must fit the device",
    2: "free device memory, or tensors that other processes keep",
    400: "the stream must be of the device that the tensors are on",
    700: _LATE,
    701: "fewer threads a block, or -max_registers=N in the target",
    702: "the device is one that also drives a display, which ends long kernels",
    710: _LATE,
    715: _LATE,
    716: _LATE,
    717: _LATE,
    718: _LATE,
    719: _LATE,
    720: "fewer blocks: all blocks of a cooperative launch must fit on the device at once",
    900: "capture on a stream of its own: with torch.cuda.graph(...), or on torch.cuda.Stream()",
    906: "capture on a stream of its own: with torch.cuda.graph(...), or on torch.cuda.Stream()",
    912: "a cluster has at most 8 blocks, 16 where the device allows it",
}


class Failures:
    """The failures of one kernel's launches."""

    def __init__(self, module: KernelModule) -> None:
        self._module = module
        self._mine = threading.local()

    def keep(self, error: BaseException) -> None:
        """Keep what a load raised inside a launch, for :meth:`words`."""
        self._mine.error = error

    def words(self, code: int) -> str:
        """What the code of a launch means: the kernel, the driver's name for it and the limit that was hit."""
        number, result = divmod(code, ENTRY_STEP)
        if result == LOAD_FAILED:
            error = self._mine.__dict__.pop("error", None)
            return str(error) if error is not None else "the kernel could not be loaded"
        entries = self._module.artifact.entries
        symbol = entries[number].symbol if number < len(entries) else self._module.artifact.name
        own = {
            BAD_DEVICE: "there is no such device",
            BAD_GRID: f"the grid is too large: at most {MAX_GRID[0]} blocks along x, {MAX_GRID[1]} along y and z",
            NO_MEMORY: "out of memory on the host",
        }
        if result in own:
            return f"{symbol}: {own[result]}"
        if result == BAD_CLUSTER:
            return f"{symbol}: the grid is no multiple of its clusters of {self._module.entries[number].cluster} blocks"
        if BAD_MAP <= result < BAD_MAP + MAX_MAPS:
            return f"{symbol}: {self._map_words(number, result - BAD_MAP)}"
        more = self._limits_hit(number, result) + self._assertions(number, result)
        return f"{symbol}: {self._module.driver.words(result)}" + "".join(f"; {words}" for words in more)

    def advice(self, code: int) -> str:
        """What to do about it; "" where nothing is known."""
        result = code % ENTRY_STEP
        if result == BAD_GRID:
            return "more work for each block, or a grid that is longer along x and shorter along y and z"
        if BAD_MAP <= result < BAD_MAP + MAX_MAPS:
            return "pass a tensor of its own, such as t.contiguous() or t.clone(), instead of a view"
        return _HINTS.get(result, "")

    def _map_words(self, number: int, which: int) -> str:
        from tile_cuda.launch import failed_map

        made = self._module.entries[number].tensor_maps[which]
        code, address, shape, strides = failed_map()
        what = f"no tensor map can be made of {made.name or f'slot {made.slot}'}"
        fault = made.fault_of_call(address, shape[: made.rank], strides[: made.rank - 1])
        if fault is not None:
            return f"{what}: {fault[0]}, must be {fault[1]}"
        return f"{what}: {self._module.driver.words(code)} (address {address:#x}, shape {shape[: made.rank]})"

    def _assertions(self, number: int, result: int) -> list[str]:
        entries = self._module.artifact.entries
        known = entries[number].attributes.get("assertions", ()) if number < len(entries) else ()
        if result in (710, 719) and known:
            return ["a device assertion may have failed: " + " | ".join(map(str, known))]
        return []

    def _limits_hit(self, number: int, result: int) -> list[str]:
        """Limits of the device or of the compiled kernel that the launch went beyond."""
        if result not in (_INVALID_VALUE, _OUT_OF_RESOURCES, _TOO_LARGE_TOGETHER):
            return []
        for index in self._module.loaded:
            try:
                return self._limits_on(index, number, result)
            except DriverError:
                continue
        return []

    def _limits_on(self, index: int, number: int, result: int) -> list[str]:
        driver, entry = self._module.driver, self._module.artifact.entries[number]
        function = self._module.loaded[index].functions[number]
        limit, threads = driver.limits(index), prod(entry.threads)
        made = []
        with driver.inside(index):
            most = driver.function_attribute(function, api.FUNCTION_THREADS)
            registers = driver.function_attribute(function, api.FUNCTION_REGISTERS)
            if result == _TOO_LARGE_TOGETHER and isinstance(entry.shared_bytes, int):
                blocks = driver.blocks_at_once(function, threads, entry.shared_bytes, index)
                made.append(f"{blocks} blocks of {threads} threads run at once")
        if threads > limit["threads"]:
            made.append(f"{threads} threads a block, the limit is {limit['threads']}")
        elif threads > most:
            made.append(f"{threads} threads a block, with {registers} registers each at most {most} fit")
        if isinstance(entry.shared_bytes, int) and entry.shared_bytes > limit["shared"]:
            made.append(f"{entry.shared_bytes} bytes of shared memory, the limit is {limit['shared']}")
        return made


def refused_binary(module: KernelModule, error: DriverError, index: int) -> LaunchError:
    """The error of a module that the driver does not load."""
    name = module.artifact.name
    if error.code in (_NO_BINARY, _INVALID_IMAGE, _UNSUPPORTED_PTX):
        major, minor = module.driver.capability(index)
        return LaunchError(
            f"{name} was compiled for another GPU: {error}",
            found=f"{module.artifact.target}; the device is {module.driver.device_name(index)}, sm_{major}{minor}",
            hint=f'target="cuda -arch=sm_{major}{minor}"',
        )
    return LaunchError(f"{name} cannot be loaded on device {index}: {error}", hint=_HINTS.get(error.code))


def device_failed(error: DriverError, index: int) -> LaunchError:
    """The error of waiting for a device."""
    return LaunchError(f"a kernel failed on device {index}: {error}", hint=_HINTS.get(error.code))
