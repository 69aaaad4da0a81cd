"""The execution backends of ``hip``: code objects that the HIP runtime launches, and the simulated device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tile_hip.architectures import parse
from tile_hip.devices import visible_devices
from tile_hip.driver import Driver, DriverError
from tile_hip.simulated import simulated_adapter
from tile_hip.torch_build import build_problem, current_stream_function
from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.contract.timing import HostTimer, Timer
from tilecore.errors import LaunchError, OtherDeviceError, UnsupportedError
from tilecore.target import Target

_TORCH = "install torch for ROCm (pytorch.org has its packages), or pass the outputs instead of out_idx"


class CodeObjectAdapter(KernelAdapter):
    """Launches code objects through the HIP runtime on torch's current stream.

    driver: returns the runtime; raises DriverError where there is none. The streams of tensors' libraries are not read
    from their DLPack exchange tables: on ROCm, that of torch may name another stream (pytorch pull request 175432).
    """

    name = "hip"

    def __init__(self, driver: Callable[[], Driver] = Driver.shared) -> None:
        self._driver = driver
        self._raw_stream: Callable[[int], int] | None = None

    def available(self, target: Target) -> Presence:
        devices, reason = visible_devices()
        if not devices:
            return Presence(False, f"there is no AMD GPU: {reason}")
        try:
            driver = self._driver()
            count = driver.device_count()
            if not count:
                return Presence(False, f"the HIP runtime {driver.path} shows no GPU")
            archs = [driver.arch(index) for index in range(count)]
            name = driver.device_name(0)
        except DriverError as error:
            return Presence(False, str(error))
        wanted = target.get("arch", "auto")
        if wanted != "auto" and parse(wanted).name not in archs:
            shown = ", ".join(dict.fromkeys(archs))
            return Presence(False, f'there is no {parse(wanted).name} here, but {shown}: use target="hip"')
        detail = name + (f" and {count - 1} more" if count > 1 else "")
        major, minor = driver.version
        problem = build_problem()
        return Presence(True, f"{detail}, HIP {major}.{minor}" + (f"; {problem}" if problem else ""))

    def binary_formats(self) -> Sequence[str]:
        return ("hsaco",)

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Loads the kernels on the current device; on other devices their first launch does. Kernels that were compiled
        for another GPU can be inspected and exported, and their launch raises OtherDeviceError.

        Raises LaunchError, and LimitError for kernels that need more LDS or threads than the chip has.
        """
        from tile_hip.figures import remarks
        from tile_hip.launch.messages import MessageLaunch, has_messages
        from tile_hip.launch.module import KernelModule
        from tilecore.runtime.device_launch import launch_of
        from tilecore.runtime.device_launch_py import PlainDeviceLaunch

        remarks.check(artifact)
        try:
            module = KernelModule(artifact, self._driver())
            with suppress(OtherDeviceError):
                module.on_device(module.driver.current_device())
        except DriverError as error:
            raise LaunchError(f"{artifact.name} cannot be loaded: {error}") from None
        if has_messages(artifact.binary):
            launch: Any = MessageLaunch(module, PlainDeviceLaunch(module))
            state, owner = 0, launch
        else:
            launch, state, owner = launch_of(module)
        failures = module.failures
        return LoadedKernel(launch, state, failures.words, (owner, module), on_device=True, advice=failures.advice)

    def current_stream(self, device_index: int) -> int:
        """The current stream of torch on the device; the default stream where torch is not in use."""
        raw = self._raw_stream
        if raw is None:
            raw = self._raw_stream = current_stream_function()
        return raw(device_index) if raw is not None else 0

    def capture(self, device_index: int, stream: int) -> int:
        return self._driver().capture(stream)

    def synchronize(self, device_index: int = 0) -> None:
        """Waits for the device, and prints what kernels of replayed graphs wrote. Raises LaunchError."""
        from tile_hip.launch.failures import device_failed
        from tile_hip.launch.messages import read_all

        try:
            self._driver().synchronize(device_index)
        except DriverError as error:
            raise device_failed(error, device_index) from None
        failure = read_all(device_index, self.current_stream(device_index))
        if failure:
            raise LaunchError(f"a kernel failed on device {device_index}: {failure}")

    def timer(self, device_index: int = 0, backend: str = "event") -> Timer:
        """A timer: "event" uses HIP events on the current stream, "wall" the host's clock around a synchronization."""
        if backend == "event":
            from tile_hip.events import EventTimer

            return EventTimer(self._driver(), device_index, self.current_stream(device_index))
        if backend == "wall":
            return HostTimer(lambda: self.synchronize(device_index))
        raise UnsupportedError(
            f"execution backend {self.name!r} cannot time by {backend!r}", expected='"event" or "wall"'
        )

    def empty(self, shape: tuple[int, ...], dtype: str, device_index: int = 0) -> Any:
        """A tensor of torch on the device. Raises LaunchError where the installed torch has none there."""
        from tilecore.tensors.views import device_problem, empty

        device = self.torch_device(device_index)
        try:
            return empty(shape, dtype, device)
        except Exception as error:
            problem = build_problem() or device_problem(device)
            if not problem:
                raise
            raise LaunchError("the outputs of kernels on AMD GPUs are torch's", found=problem, hint=_TORCH) from error

    def device_ranges(self) -> tuple[Callable[[str], Any], Callable[[], Any]]:
        from tile_hip.ranges import functions

        return functions()

    def torch_device(self, device_index: int = 0) -> str:
        return f"cuda:{device_index}"


def adapters() -> list[KernelAdapter]:
    """All execution backends of the target, the default one first."""
    simulated = simulated_adapter()
    return [CodeObjectAdapter()] if simulated is None else [CodeObjectAdapter(), simulated]
