"""The execution backend ``torch``: torch compiles the program (torch.mps.compile_shader) and launches on its stream."""

from __future__ import annotations

from collections.abc import Sequence

from tile_metal.runtime import machine
from tile_metal.runtime.checks import FORMAT, target_problem
from tile_metal.runtime.torch_module import LATE, LOCK, import_torch, installed, torch_problem
from tile_metal.target import fit
from tilecore.artifact.records import Artifact
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.contract.timing import HostTimer, Timer
from tilecore.errors import LaunchError, UnsupportedError
from tilecore.target import Target

OLDEST_MACOS = 14  # whose MSL 3.1 is the oldest that torch compiles


class TorchAdapter(KernelAdapter):
    """Launches kernels on tensors on torch's device "mps".

    A launch is encoded into torch's stream, behind the operations before it, and does not wait. Kernels that print or
    assert wait.
    """

    name = "torch"

    def available(self, target: Target) -> Presence:
        """Does not import torch: the first kernel does, and finds out whether that torch has the device "mps"."""
        reason = machine.problem() or target_problem(target)
        mac = machine.machine()
        if reason or mac is None:
            return Presence(False, reason)
        if mac.macos[0] < OLDEST_MACOS:
            return Presence(False, f"torch compiles kernels from macOS {OLDEST_MACOS} on: update macOS")
        version, reason = installed()
        if reason:
            return Presence(False, reason)
        return Presence(True, f"{mac.gpu}, macOS {mac.macos[0]}.{mac.macos[1]}, torch {version}")

    def fit(self, compiled_for: Target, wanted: Target) -> int:
        return fit(compiled_for, wanted)

    def binary_formats(self) -> Sequence[str]:
        return (FORMAT,)

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Compiles the program. Raises ToolchainError with the compiler's message at the user's line, LimitError for
        kernels that need more than the GPU has, LaunchError where torch cannot run them."""
        from tile_metal.runtime.torch_launch import TorchLaunch

        reason = torch_problem()
        if reason:
            raise LaunchError(f"{artifact.name} cannot be loaded: {reason}")
        launch = TorchLaunch(artifact, import_torch())
        return LoadedKernel(launch, owner=launch, takes_tensors=True)

    def current_stream(self, device_index: int) -> int:
        """The number of torch's current stream, which keeps workspaces apart; 0 in a torch with one stream."""
        current = getattr(import_torch().mps, "current_stream", None)
        return 0 if current is None else int(current().stream_id)

    def synchronize(self, device_index: int = 0) -> None:
        """Waits for torch's stream. Raises LaunchError with torch's message where a kernel failed."""
        try:
            with LOCK:
                import_torch().mps.synchronize()
        except RuntimeError as error:
            raise LaunchError(f"a kernel on the GPU failed: {error}", hint=LATE) from None

    def timer(self, device_index: int = 0, backend: str = "event") -> Timer:
        """A timer, for "event" and "wall" alike: the host's clock around a synchronization.

        torch's events have no better one: the host takes their time when it hears that they are over. So measure many
        launches between start and stop; execution backend "metal" has the GPU's own clock."""
        if backend not in ("event", "wall"):
            raise UnsupportedError(
                f"execution backend {self.name!r} cannot time by {backend!r}", expected='"event" or "wall"'
            )
        return HostTimer(lambda: self.synchronize(device_index))

    def torch_device(self, device_index: int = 0) -> str:
        return "mps"
