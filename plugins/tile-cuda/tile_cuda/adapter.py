"""The execution backends of ``cuda``. All of them launch through the driver API.

"cython" is the default. "nvrtc" and "nvcc" are the same with that compiler and no other. "dlpack" is another name of
"cython", as every launch accepts any tensor that has DLPack. "tvm_ffi" launches on the stream that the environment of
tvm_ffi sets, if it sets one, so that kernels run in order with other work that goes through tvm_ffi. "cutedsl" has
another language and another compiler (tile_cuda/cutedsl).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tile_cuda import nvcc, nvrtc
from tile_cuda.architectures import runs_on
from tile_cuda.array_interface import DEVICE
from tile_cuda.cutedsl.names import LANGUAGE
from tile_cuda.driver import Driver, DriverError
from tile_cuda.streams import current_stream_function, foreign_stream
from tile_cuda.target import architecture_of
from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import ForeignTensor, HostCode, KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.contract.timing import HostTimer, Timer
from tilecore.errors import LaunchError, OtherDeviceError, TargetError, ToolchainError, UnsupportedError
from tilecore.target import Target
from tilecore.tensors.device_array import DeviceMemory

NAMES = ("cython", "nvrtc", "nvcc", "tvm_ffi", "dlpack")
COMPILERS = {"nvrtc": nvrtc, "nvcc": nvcc}


class DriverAdapter(KernelAdapter):
    """Launches cubins through the driver API on torch's current stream.

    driver: returns the driver library; raises DriverError where there is none.
    """

    def __init__(self, name: str = "cython", driver: Callable[[], Driver] = Driver.shared) -> None:
        self.name = name
        self._driver = driver
        self._raw_stream: Callable[[int], int] | None = None
        self.tensor_streams = name != "tvm_ffi"

    def target(self, target: Target) -> Target:
        if target.get("language") == LANGUAGE:
            raise TargetError(
                f"execution backend {self.name!r} runs kernels in CUDA C++, and the target asks for CuTe DSL",
                found=str(target),
                expected=f'execution_backend="{LANGUAGE}", or a target with -language=c++',
            )
        return target

    def fit(self, compiled_for: Target, wanted: Target) -> int:
        """Cubins run on devices of the same major compute capability and of an equal or later minor one; those for an
        architecture with suffix a on that one alone."""
        if compiled_for == wanted:
            return 1000
        if compiled_for.with_attributes(arch="") != wanted.with_attributes(arch=""):
            return 0
        return runs_on(architecture_of(compiled_for), architecture_of(wanted))

    def available(self, target: Target) -> Presence:
        if target.get("language") == LANGUAGE:
            return Presence(False, "it runs kernels in CUDA C++, and the target asks for CuTe DSL")
        return self.device_present()

    def device_present(self) -> Presence:
        """Whether the driver and a device are here, and the compiler that the execution backend is named after."""
        try:
            driver = self._driver()
            count = driver.device_count()
            if not count:
                return Presence(False, "the driver shows no device")
            missing = self._missing_compiler()
            if missing:
                return Presence(False, missing)
            return Presence(True, driver.device_name(0) + (f" and {count - 1} more" if count > 1 else ""))
        except DriverError as error:
            return Presence(False, f"{error}; install NVIDIA's driver")

    def _missing_compiler(self) -> str:
        """Why the compiler that this execution backend is named after is not installed; "" where nothing is missing."""
        module = COMPILERS.get(self.name)
        if module is None:
            return ""
        try:
            module.load()
        except ToolchainError as error:
            return f"{error.message}; {error.hint}" if error.hint else error.message
        return ""

    def binary_formats(self) -> Sequence[str]:
        return ("cubin",)

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Loads the kernels on the current device; on other devices their first launch does. Kernels that were compiled
        for another GPU can be inspected and exported, and their launch raises OtherDeviceError. Raises LaunchError."""
        from tile_cuda.launch import module_of
        from tilecore.runtime.device_launch import launch_of

        try:
            driver = self._driver()
            module = module_of(artifact, driver)
            index = driver.current_device()
            if index is not None:
                with suppress(OtherDeviceError):
                    module.on_device(index)
        except DriverError as error:
            raise LaunchError(f"{artifact.name} cannot be loaded: {error}") from None
        launch, state, owner = launch_of(module)
        failures = module.failures
        return LoadedKernel(
            launch, state, failures.words, (owner, module), on_device=True, sizes=module.sizes, advice=failures.advice
        )

    def host_code(self, artifact: Artifact) -> HostCode | None:
        from tile_cuda.launch.host_code import host_code

        return host_code(artifact)

    def current_stream(self, device_index: int) -> int:
        """The current stream of torch on the device; the default stream where torch is not in use."""
        if self.name == "tvm_ffi":
            stream = foreign_stream(device_index)
            if stream:
                return stream
        raw = self._raw_stream
        if raw is None:
            raw = self._raw_stream = current_stream_function()
        return raw(device_index) if raw is not None else 0

    def capture(self, device_index: int, stream: int) -> int:
        return self._driver().capture(stream)

    def synchronize(self, device_index: int = 0) -> None:
        try:
            self._driver().synchronize(device_index)
        except DriverError as error:
            from tile_cuda.launch.failures import device_failed

            raise device_failed(error, device_index) from None

    def timer(self, device_index: int = 0, backend: str = "event") -> Timer:
        """A timer: "event" uses CUDA events on the current stream, "wall" the host's clock around a synchronization."""
        if backend == "event":
            from tile_cuda.events import EventTimer

            return EventTimer(self._driver(), device_index, self.current_stream(device_index))
        if backend == "wall":
            return HostTimer(lambda: self.synchronize(device_index))
        raise UnsupportedError(
            f"execution backend {self.name!r} cannot time by {backend!r}", expected='"event" or "wall"'
        )

    def allocate(self, size: int, device_index: int) -> DeviceMemory:
        driver = self._driver()
        try:
            address = driver.allocate(size, device_index)
        except DriverError as error:
            raise LaunchError(f"the device has no {size} bytes of memory left: {error}") from None
        return DeviceMemory(address, (DEVICE, device_index), lambda: driver.free(address, device_index))

    def foreign_tensor(self, value: Any, stream: Callable[[int], int]) -> ForeignTensor | None:
        """That of an object with ``__cuda_array_interface__``."""
        from tile_cuda.array_interface import read

        return read(value, self._driver, stream)

    def device_ranges(self) -> tuple[Callable[[str], Any], Callable[[], Any]]:
        from tile_cuda.ranges import functions

        return functions()

    def torch_device(self, device_index: int = 0) -> str:
        return f"cuda:{device_index}"
