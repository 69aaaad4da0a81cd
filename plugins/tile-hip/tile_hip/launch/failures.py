"""Errors of launches: the runtime's name for the failure, the limit that was exceeded, and what to do."""

from __future__ import annotations

import threading
from math import prod
from typing import TYPE_CHECKING

from tile_hip import driver as api
from tile_hip.driver import DriverError
from tile_hip.launch.limits import most_blocks
from tilecore.errors import LaunchError, OtherDeviceError
from tilecore.runtime.device_kernels import LaunchFailures

if TYPE_CHECKING:
    from tile_hip.launch.module import KernelModule

ASSERTION = 1301  # a code beside those of the runtime (hipError_t) and of the core: a T.device_assert failed
_INVALID_VALUE, _INVALID_CONFIGURATION, _OUT_OF_RESOURCES = 1, 9, 701
_OUT_OF_MEMORY = 2
_REFUSED = {98, 200, 209, 218}  # hipErrorInvalidDeviceFunction, InvalidImage, NoBinaryForGpu, InvalidKernelFile

_SIMULATE = 'execution_backend="sim" runs the kernel on the host and reports the access'
_LATE = (
    "an earlier kernel may be the cause, as the device reports this failure late. "
    f"{_SIMULATE}; AMD_SERIALIZE_KERNEL=3 finds the launch. Restart the process"
)
_TOO_LARGE = "reduce the grid, the threads of a block or the LDS to what the device has"
_CAPTURE = "capture on a separate stream: with torch.cuda.graph(...), or on torch.cuda.Stream()"
_HINTS = {
    _INVALID_VALUE: _TOO_LARGE,
    _OUT_OF_MEMORY: "free device memory: delete tensors, or end other processes that use the device",
    _INVALID_CONFIGURATION: _TOO_LARGE,
    209: "install a ROCm that supports the GPU, with the torch that is built for it",
    400: "use a stream of the device that the tensors are on",
    700: _LATE,
    _OUT_OF_RESOURCES: "use fewer threads in a block, or smaller tiles",
    702: "the device also drives a display, and its driver ends long kernels: use another device or a shorter kernel",
    710: _LATE,
    719: _LATE,
    720: "use fewer blocks: all blocks of a cooperative launch must fit on the device at once",
    900: _CAPTURE,
    906: _CAPTURE,
    999: _LATE,
}


class Failures(LaunchFailures):
    """The failures of the launches of one artifact's kernels."""

    def __init__(self, module: KernelModule) -> None:
        artifact = module.artifact
        most = ["{} blocks along x, {} along y and {} along z".format(*most_blocks(e)) for e in artifact.entries]
        super().__init__(artifact.name, [entry.symbol for entry in artifact.entries], most)
        self._module = module
        self._assertions = threading.local()

    def keep_assertion(self, words: str) -> None:
        """Stores what the kernel wrote about a failed assertion, for :meth:`words`."""
        self._assertions.words = words

    def driver_words(self, number: int, result: int) -> str:
        if result == ASSERTION:
            words: str = self._assertions.__dict__.pop("words", "a device assertion failed")
            return words
        self._module.driver.forget_error()
        return "; ".join([self._module.driver.words(result), *self._limits_hit(number, result)])

    def driver_advice(self, result: int) -> str:
        return _HINTS.get(result, "")

    def _limits_hit(self, number: int, result: int) -> list[str]:
        """The limits of the device or of the compiled kernel that the launch exceeds."""
        if result not in (_INVALID_VALUE, _INVALID_CONFIGURATION, _OUT_OF_RESOURCES):
            return []
        for index in self._module.loaded:
            try:
                return self._limits_on(index, number)
            except DriverError:
                continue
        return []

    def _limits_on(self, index: int, number: int) -> list[str]:
        driver, entry = self._module.driver, self._module.artifact.entries[number]
        function = self._module.loaded[index].functions[number]
        limit, threads = driver.limits(index), prod(entry.threads)
        with driver.inside(index):  # the runtime looks functions up on the current device, without checking
            most_threads = driver.function_attribute(function, api.FUNCTION_THREADS)
            registers = driver.function_attribute(function, api.FUNCTION_REGISTERS)
        limits_hit = []
        if threads > limit["threads"]:
            limits_hit.append(f"{threads} threads in a block, and the limit is {limit['threads']}")
        elif threads > most_threads:
            limits_hit.append(
                f"{threads} threads in a block, and with {registers} registers each at most {most_threads} fit"
            )
        if isinstance(entry.shared_bytes, int) and entry.shared_bytes > limit["shared"]:
            limits_hit.append(f"{entry.shared_bytes} bytes of LDS, and the limit is {limit['shared']}")
        x, y, z = limit["grid"]
        limits_hit.append(f"the device has grids of at most {x} x {y} x {z} blocks")
        return limits_hit


def refused_binary(module: KernelModule, error: DriverError, index: int) -> LaunchError:
    """The error for a code object that the runtime cannot load: OtherDeviceError where it is for another GPU."""
    name, driver = module.artifact.name, module.driver
    if error.code in _REFUSED:
        major, minor = driver.version
        return OtherDeviceError(
            f"{name} cannot be loaded on device {index}: {error}",
            found=f"a code object for {module.artifact.target}, and the HIP runtime {driver.path} {major}.{minor}",
            hint=_HINTS[209],
        )
    return LaunchError(f"{name} cannot be loaded on device {index}: {error}", hint=_HINTS.get(error.code))


def device_failed(error: DriverError, index: int) -> LaunchError:
    """The error where a synchronization with the device fails."""
    return LaunchError(f"a kernel failed on device {index}: {error}", hint=_HINTS.get(error.code))
