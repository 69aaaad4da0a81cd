"""Kernels whose launches are ranges in profilers, by TILECORE_RANGES; the launches of others cost nothing more."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore import settings
from tilecore.errors import UnsupportedError
from tilecore.jit.kernel import JITKernel

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.contract.adapter import KernelAdapter


class RangedKernel(JITKernel):
    """A kernel each of whose calls is in a range of the profilers that TILECORE_RANGES names, under the names of its
    device functions."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        name = self.range_name
        opened: list[Callable[[], Any]] = []
        try:
            for start in self._starts():
                opened.append(start(name))
            return super().__call__(*args, **keywords)
        finally:
            for stop in reversed(opened):
                stop()

    @property
    def range_name(self) -> str:
        """The names of the functions on the device, which profilers show for their launches."""
        return " + ".join(entry.symbol for entry in self.artifact.entries) or self.artifact.name

    def _starts(self) -> list[Callable[[str], Callable[[], Any]]]:
        starts = self.__dict__.get("_range_starts")
        if starts is None:
            starts = self.__dict__["_range_starts"] = _starts(settings.ranges() or (), self.artifact, self.execution)
        return starts


def kernel_class() -> type[JITKernel]:
    """The class of kernels that are loaded now."""
    return RangedKernel if settings.ranges() else JITKernel


def _starts(
    profilers: tuple[str, ...], artifact: Artifact, adapter: KernelAdapter
) -> list[Callable[[str], Callable[[], Any]]]:
    """For each profiler the function that opens a range and returns the one that closes it."""
    starts: list[Callable[[str], Callable[[], Any]]] = []
    for profiler in profilers:
        if profiler == "torch":
            starts.append(_torch_range)
            continue
        functions = adapter.device_ranges()
        if functions is not None:
            push, pop = functions
            starts.append(lambda name, push=push, pop=pop: (push(name), pop)[1])  # type: ignore[misc]
        else:
            message = f"TILECORE_RANGES=device has no effect on kernels of execution backend {artifact.adapter!r}"
            warnings.warn(f"{message}: it knows no profiler of a device; TILECORE_RANGES=torch works", stacklevel=4)
    return starts


def _torch_range(name: str) -> Callable[[], Any]:
    try:
        from torch.profiler import record_function
    except ImportError as error:
        raise UnsupportedError("TILECORE_RANGES=torch needs torch, which is not installed", found=str(error)) from None
    opened = record_function(name)
    opened.__enter__()
    return lambda: opened.__exit__(None, None, None)
