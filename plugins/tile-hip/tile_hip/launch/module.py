"""The kernels of one code object on all devices: the first launch on a device loads them there."""

from __future__ import annotations

from typing import Any

from tile_hip import driver as api
from tile_hip.architectures import ARCHITECTURES
from tile_hip.driver import Driver, DriverError
from tile_hip.launch.failures import Failures, refused_binary
from tile_hip.launch.limits import most_blocks
from tile_hip.target import architecture_of
from tilecore.artifact.records import Artifact, Entry
from tilecore.errors import LaunchError
from tilecore.runtime.device_kernels import DeviceEntry, DeviceKernels, LoadedDevice
from tilecore.target import Target

_MOST_BYTES = 2**31 - 1  # of LDS that a launch can ask for


class KernelModule(DeviceKernels):
    """The kernels of an artifact. modules: the handles of the loaded code objects, by device."""

    def __init__(self, artifact: Artifact, driver: Driver) -> None:
        super().__init__(artifact, driver.functions())
        self.driver = driver
        self.failures: Failures = Failures(self)
        self.entries = [DeviceEntry(entry.threads, (*most_blocks(entry), _MOST_BYTES)) for entry in artifact.entries]
        self.modules: dict[int, int] = {}

    def load_on(self, index: int) -> LoadedDevice:
        driver = self.driver
        try:
            self._check_architecture(index)
            with driver.inside(index):
                module = driver.load_module(self.artifact.binary)
                functions = [driver.function(module, entry.symbol) for entry in self.artifact.entries]
                for entry, function in zip(self.artifact.entries, functions, strict=True):
                    self._check_shared(entry, function, index)
        except DriverError as error:
            raise refused_binary(self, error, index) from None
        self.modules[index] = module
        return LoadedDevice(index, functions)

    def _check_architecture(self, index: int) -> None:
        compiled = architecture_of(Target.parse(self.artifact.target)).name
        arch = self.driver.arch(index)
        if arch == compiled:
            return
        raise LaunchError(
            f"{self.artifact.name} was compiled for {compiled}",
            found=f"device {index}, {self.driver.device_name(index)}",
            hint=f'target="hip -arch={arch}"' if arch in ARCHITECTURES else f"tile-hip does not support {arch}",
        )

    def _check_shared(self, entry: Entry, function: int, index: int) -> None:
        static = self.driver.function_attribute(function, api.FUNCTION_STATIC_SHARED)
        most = self.driver.limits(index)["shared"] - static
        if isinstance(entry.shared_bytes, int) and entry.shared_bytes > most:
            raise LaunchError(
                f"{entry.symbol} needs {entry.shared_bytes} bytes of LDS",
                found=f"{self.driver.device_name(index)}, which has {most} for a block",
                hint="use smaller tiles or fewer stages",
            )


def describe(module: KernelModule, index: int) -> dict[str, Any]:
    """The registers, bytes of scratch and bytes of static LDS of each kernel, as the runtime reports."""
    functions = module.on_device(index).functions
    usage_by_kernel: dict[str, Any] = {}
    with module.driver.inside(index):
        for entry, function in zip(module.artifact.entries, functions, strict=True):
            usage_by_kernel[entry.symbol] = {
                "registers": module.driver.function_attribute(function, api.FUNCTION_REGISTERS),
                "scratch_bytes": module.driver.function_attribute(function, api.FUNCTION_LOCAL_BYTES),
                "static_shared_bytes": module.driver.function_attribute(function, api.FUNCTION_STATIC_SHARED),
            }
    return usage_by_kernel
