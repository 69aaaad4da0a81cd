"""The execution backend ``metal``: compiles and launches by Metal itself, with or without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tile_metal.runtime import machine
from tile_metal.runtime.checks import FORMAT, target_problem
from tile_metal.runtime.clock import Clock, GpuTimer
from tile_metal.target import fit
from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.contract.timing import HostTimer, Timer
from tilecore.errors import LaunchError, UnsupportedError
from tilecore.target import Target

if TYPE_CHECKING:
    from tile_metal.runtime.device import Device


class MetalAdapter(KernelAdapter):
    """Launches kernels on torch's tensors on "mps", without a copy, and on numpy's and other tensors on the host.

    A launch waits until it is done. Tensors on the host are copied to the GPU's buffers and back, but for those that
    ``empty`` returned, which lie in such a buffer: both have one memory, but a buffer must consist of whole pages, on
    which other objects of the program may lie.
    """

    name = "metal"
    host_tensors = True

    def __init__(self) -> None:
        self.clock = Clock()

    def available(self, target: Target) -> Presence:
        reason = machine.problem() or target_problem(target)
        mac = machine.machine()
        if reason or mac is None:
            return Presence(False, reason)
        return Presence(True, f"{mac.gpu}, macOS {mac.macos[0]}.{mac.macos[1]}")

    def fit(self, compiled_for: Target, wanted: Target) -> int:
        return fit(compiled_for, wanted)

    def binary_formats(self) -> Sequence[str]:
        return (FORMAT,)

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Compiles the program; its pipelines come from tilecore's cache where another process has left them there
        (:mod:`tile_metal.runtime.archive`). Raises ToolchainError with the compiler's message at the user's line,
        LimitError for kernels that need more than the GPU has."""
        from tile_metal.runtime.metal_launch import MetalLaunch

        launch = MetalLaunch(artifact, _device(artifact.name), self.clock)
        return LoadedKernel(launch, owner=launch, takes_tensors=True)

    def timer(self, device_index: int = 0, backend: str = "event") -> Timer:
        """A timer: "event" by the GPU's clock (GPUStartTime and GPUEndTime), "wall" by the host's."""
        if backend == "event":
            return GpuTimer(self.clock)
        if backend == "wall":
            return HostTimer()
        raise UnsupportedError(
            f"execution backend {self.name!r} cannot time by {backend!r}", expected='"event" or "wall"'
        )

    def empty(self, shape: tuple[int, ...], dtype: str, device_index: int = 0) -> Any:
        """A tensor of torch on "mps" where the program uses torch, else a numpy array in memory of the GPU."""
        from tile_metal.runtime.torch_module import torch_in_use

        if torch_in_use() is not None:
            return super().empty(shape, dtype, device_index)
        from tile_metal.runtime.host_memory import empty_array

        return empty_array(_device("an output"), shape, dtype)

    def torch_device(self, device_index: int = 0) -> str:
        return "mps"


def _device(name: str) -> Device:
    """The GPU. Raises LaunchError. name: of what needs it."""
    from tile_metal.runtime.device import NoDevice, default_device
    from tile_metal.runtime.objc import ObjectiveCError

    reason = machine.problem()
    if not reason:
        try:
            return default_device()
        except (NoDevice, ObjectiveCError) as error:
            reason = str(error)
    raise LaunchError(f"{name} needs Metal: {reason}")
