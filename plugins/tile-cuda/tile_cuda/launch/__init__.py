"""Loads kernels and launches those with launch attributes: by the compiled extension, or by ctypes without it."""

from __future__ import annotations

from typing import Any

from tile_cuda.driver import Driver
from tile_cuda.launch import plain
from tile_cuda.launch.module import KernelModule
from tilecore import settings
from tilecore.artifact.records import Artifact

__all__ = ["KernelModule", "built", "failed_map", "module_of"]


def _extension() -> tuple[Any, str]:
    if settings.pure_python():
        return None, "TILECORE_PURE_PYTHON is set"
    try:
        from tile_cuda.launch import _native
    except ImportError as error:
        return None, f"the extension tile_cuda.launch._native is not built ({error})"
    if _native.INTERFACE != 3:
        return None, "the extension tile_cuda.launch._native was built for another version"
    return _native, f"built: {_native.__file__}"


_native, _reason = _extension()


def built() -> tuple[bool, str]:
    """Whether the compiled extension is in use; its path, or the reason why not."""
    return _native is not None, _reason


def module_of(artifact: Artifact, driver: Driver) -> KernelModule:
    """The kernels of an artifact, not loaded yet. Raises LaunchError where the driver lacks a function they need."""
    module = KernelModule(artifact, driver, failed_map)
    module.require()
    module.start_with(plain.AttributesStart(module) if _native is None else _native.NativeStart(module))
    return module


def failed_map() -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """(the driver's code, address, shape, strides) of the tensor map that failed last in this thread."""
    return plain.failed_map() if _native is None else _native.failed_map()
