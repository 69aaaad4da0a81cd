"""Errors of launches: the driver's name for the failure, the limit that was exceeded, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

from tile_cuda import driver as api
from tile_cuda.driver import DriverError
from tilecore.errors import LaunchError, OtherDeviceError
from tilecore.runtime.device_kernels import LaunchFailures

if TYPE_CHECKING:
    from tile_cuda.launch.module import KernelModule

# codes of the launch beside those of the driver (CUresult) and of the core; launch_native.h defines the same
BAD_CLUSTER, BAD_MAP = 1101, 1200
MAX_MAPS = 16  # of one kernel
MAX_GRID = (2**31 - 1, 65535, 65535)
_INVALID_IMAGE, _NO_BINARY, _UNSUPPORTED_PTX = 200, 209, 222
_INVALID_VALUE, _OUT_OF_RESOURCES, _TOO_LARGE_TOGETHER = 1, 701, 720

_SIMULATE = 'execution_backend="sim" runs the kernel on the host and reports the access'
_LATE = (
    "an earlier kernel may be the cause, as the device reports this failure late. "
    f"{_SIMULATE}; CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer finds the launch. Restart the process"
)
_HINTS = {
    1: "reduce the grid, the threads of a block or the shared memory to what the device has",
    2: "free device memory: delete tensors, or end other processes that use the device",
    400: "use a stream of the device that the tensors are on",
    700: _LATE,
    701: "use fewer threads in a block, or set -max_registers=N in the target",
    702: "the device also drives a display, and its driver ends long kernels: use another device or a shorter kernel",
    710: _LATE,
    715: _LATE,
    716: _LATE,
    717: _LATE,
    718: _LATE,
    719: _LATE,
    720: "use fewer blocks: all blocks of a cooperative launch must fit on the device at once",
    900: "capture on a separate stream: with torch.cuda.graph(...), or on torch.cuda.Stream()",
    906: "capture on a separate stream: with torch.cuda.graph(...), or on torch.cuda.Stream()",
    912: "a cluster has at most 8 blocks, 16 where the device allows it",
}


FailedMap = Callable[[], tuple[int, int, tuple[int, ...], tuple[int, ...]]]


class Failures(LaunchFailures):
    """The failures of one kernel's launches. failed_map: describes the tensor map that failed last in this thread."""

    def __init__(self, module: KernelModule, failed_map: FailedMap) -> None:
        artifact = module.artifact
        most = f"{MAX_GRID[0]} blocks along x, {MAX_GRID[1]} along y and z"
        super().__init__(artifact.name, [e.symbol for e in artifact.entries], [most] * len(artifact.entries))
        self._module = module
        self._failed_map = failed_map

    def driver_words(self, number: int, result: int) -> str:
        if result == BAD_CLUSTER:
            cluster = self._module.launch_entries[number].cluster
            return f"the grid is not a multiple of its clusters of {cluster} blocks"
        if BAD_MAP <= result < BAD_MAP + MAX_MAPS:
            return self._map_words(number, result - BAD_MAP)
        details = self._limits_hit(number, result) + self._assertions(number, result)
        return self._module.driver.words(result) + "".join(f"; {detail}" for detail in details)

    def driver_advice(self, result: int) -> str:
        if BAD_MAP <= result < BAD_MAP + MAX_MAPS:
            return "pass t.contiguous() or t.clone() instead of a view"
        return _HINTS.get(result, "")

    def _map_words(self, entry_index: int, map_index: int) -> str:
        tensor_map = self._module.launch_entries[entry_index].tensor_maps[map_index]
        code, address, shape, strides = self._failed_map()
        message = f"no tensor map can describe {tensor_map.name or f'slot {tensor_map.slot}'}"
        fault = tensor_map.fault_of_call(address, shape[: tensor_map.rank], strides[: tensor_map.rank - 1])
        if fault is not None:
            return f"{message}: {fault[0]}, must be {fault[1]}"
        return f"{message}: {self._module.driver.words(code)} (address {address:#x}, shape {shape[: tensor_map.rank]})"

    def _assertions(self, entry_index: int, result: int) -> list[str]:
        entries = self._module.artifact.entries
        assertions = entries[entry_index].attributes.get("assertions", ()) if entry_index < len(entries) else ()
        if result in (710, 719) and assertions:
            return ["a device assertion may have failed: " + " | ".join(map(str, assertions))]
        return []

    def _limits_hit(self, entry_index: int, result: int) -> list[str]:
        """The limits of the device or of the compiled kernel that the launch exceeds."""
        if result not in (_INVALID_VALUE, _OUT_OF_RESOURCES, _TOO_LARGE_TOGETHER):
            return []
        for index in self._module.loaded:
            try:
                return self._limits_on(index, entry_index, result)
            except DriverError:
                continue
        return []

    def _limits_on(self, index: int, entry_index: int, result: int) -> list[str]:
        driver, entry = self._module.driver, self._module.artifact.entries[entry_index]
        function = self._module.loaded[index].functions[entry_index]
        limit, threads = driver.limits(index), prod(entry.threads)
        limits_hit = []
        with driver.inside(index):
            most_threads = driver.function_attribute(function, api.FUNCTION_THREADS)
            registers = driver.function_attribute(function, api.FUNCTION_REGISTERS)
            if result == _TOO_LARGE_TOGETHER and isinstance(entry.shared_bytes, int):
                blocks = driver.blocks_at_once(function, threads, entry.shared_bytes, index)
                limits_hit.append(f"{blocks} blocks of {threads} threads run at once")
        if threads > limit["threads"]:
            limits_hit.append(f"{threads} threads in a block, and the limit is {limit['threads']}")
        elif threads > most_threads:
            limits_hit.append(
                f"{threads} threads in a block, and with {registers} registers each at most {most_threads} fit"
            )
        if isinstance(entry.shared_bytes, int) and entry.shared_bytes > limit["shared"]:
            limits_hit.append(f"{entry.shared_bytes} bytes of shared memory, and the limit is {limit['shared']}")
        return limits_hit


def refused_binary(module: KernelModule, error: DriverError, index: int) -> LaunchError:
    """The error for a module that the driver cannot load: OtherDeviceError where it is for another GPU."""
    name = module.artifact.name
    if error.code in (_NO_BINARY, _INVALID_IMAGE, _UNSUPPORTED_PTX):
        major, minor = module.driver.capability(index)
        return OtherDeviceError(
            f"{name} was compiled for another GPU: {error}",
            found=f"{module.artifact.target}; the device is {module.driver.device_name(index)}, sm_{major}{minor}",
            hint=f'target="cuda -arch=sm_{major}{minor}"',
        )
    return LaunchError(f"{name} cannot be loaded on device {index}: {error}", hint=_HINTS.get(error.code))


def device_failed(error: DriverError, index: int) -> LaunchError:
    """The error where a synchronization with the device fails."""
    return LaunchError(f"a kernel failed on device {index}: {error}", hint=_HINTS.get(error.code))
