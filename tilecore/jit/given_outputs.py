"""``kernel[(grid,)](a, b, c)`` of a kernel that allocates its outputs: the call may pass them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore.runtime.launcher import Launcher

if TYPE_CHECKING:
    from tilecore.jit.kernel import JITKernel


class GivenOutputs:
    """Of a kernel with ``out_idx``. Called with an argument for every parameter it writes to the outputs among them and
    returns None; called with the inputs alone it is the kernel. Everything else is the kernel's."""

    def __init__(self, kernel: JITKernel) -> None:
        self._kernel = kernel
        self._launcher: Launcher | None = None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        kernel = self._kernel
        if len(args) + len(keywords) != len(kernel.artifact.params):
            return kernel(*args, **keywords)
        if self._launcher is None:
            artifact = replace(kernel.artifact, out_idx=())
            self._launcher = Launcher(artifact, kernel.loaded, kernel.execution, kernel.device_type)
        return self._launcher(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # not there yet, as when it is copied
            raise AttributeError(name)
        return getattr(self._kernel, name)
