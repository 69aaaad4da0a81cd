"""The execution backends of ``hip``: code objects for a GPU, and the simulated device."""

from __future__ import annotations

from collections.abc import Sequence

from tile_hip.devices import visible_devices
from tile_hip.simulated import simulated_adapter
from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.errors import LaunchError
from tilecore.target import Target


class CodeObjectAdapter(KernelAdapter):
    """Compiles kernels to code objects. Launching them is not implemented yet, which ``available`` and ``load`` say."""

    name = "hip"

    def available(self, target: Target) -> Presence:
        devices, reason = visible_devices()
        if not devices:
            return Presence(False, f"there is no AMD GPU: {reason}")
        return Presence(False, "tile-hip compiles code objects, but does not launch them yet")

    def binary_formats(self) -> Sequence[str]:
        return ("hsaco",)

    def load(self, artifact: Artifact) -> LoadedKernel:
        raise LaunchError(
            f"{artifact.name} cannot be launched: tile-hip does not launch code objects yet",
            hint='execution_backend="sim" runs it on the simulated device',
        )

    def torch_device(self, device_index: int = 0) -> str:
        return f"cuda:{device_index}"


def adapters() -> list[KernelAdapter]:
    """All execution backends of the target, the default one first."""
    return [CodeObjectAdapter(), simulated_adapter()]
