"""Defines kernels for a device that this machine lacks: they can be inspected and exported, but not launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.jit.kernel import JITKernel, not_here

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.contract.records import Backend
    from tilecore.target import Target


class AbsentKernel(JITKernel):
    """A kernel whose device is on another machine. To call or to profile it raises LaunchError, which says what is
    missing."""

    def _load(self, artifact: Artifact, adapter: KernelAdapter) -> LoadedKernel:
        return LoadedKernel(self._no_launch)

    def _require_device(self, artifact: Artifact, backend: Backend, target: Target) -> None:
        """Do nothing: the device is known to be absent."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._no_launch()

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        super().__getitem__(grid)  # raises an error for a wrong grid
        return self

    def get_profiler(self, tensor_supply_type: Any = None) -> Any:
        return self._no_launch()

    def _no_launch(self, *args: Any) -> int:
        missing = self._execution.available(self.target).detail
        raise not_here(self.artifact, self.backend, self.target, missing, is_loaded=self._make_ir is None)


def made_here(
    artifact: Artifact, backend: Backend, target: Target, make_ir: Callable[[], Any] | None = None
) -> JITKernel:
    """A kernel that need not run on this machine: loaded, if its device is here."""
    from tilecore.jit.ranged_kernel import kernel_class

    present = backend.adapters[artifact.adapter].available(target).present
    return (kernel_class() if present else AbsentKernel)(artifact, backend, target, make_ir)
