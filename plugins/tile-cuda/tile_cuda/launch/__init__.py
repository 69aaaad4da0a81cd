"""Launches loaded kernels: through the compiled extension, or through ctypes where that is not built."""

from __future__ import annotations

from typing import Any

from tile_cuda.launch import plain
from tile_cuda.launch.module import KernelModule
from tilecore import settings

__all__ = ["KernelModule", "built", "failed_map", "launch_of"]


def _extension() -> tuple[Any, str]:
    if settings.pure_python():
        return None, "TILECORE_PURE_PYTHON is set"
    try:
        from tile_cuda.launch import _native
    except ImportError as error:
        return None, f"the extension tile_cuda.launch._native is not built ({error})"
    if _native.INTERFACE != 2:
        return None, "the extension tile_cuda.launch._native was built for another version"
    return _native, f"built: {_native.__file__}"


_native, _reason = _extension()


def built() -> tuple[bool, str]:
    """Whether the compiled extension is in use; its path, or the reason why not."""
    return _native is not None, _reason


def launch_of(module: KernelModule) -> tuple[Any, int, Any]:
    """The (launch, state, owner) of a LoadedKernel that runs ``on_device``."""
    if _native is None:
        launch = plain.PlainLaunch(module)
        return launch, 0, launch
    native = _native.NativeLaunch(module)
    return native.capsule, native.state, native


def failed_map() -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """(the driver's code, address, shape, strides) of the tensor map that failed last in this thread."""
    return plain.failed_map() if _native is None else _native.failed_map()
