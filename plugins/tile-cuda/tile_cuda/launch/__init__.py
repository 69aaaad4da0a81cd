"""Launching a loaded kernel: the built extension, or ctypes where it was not built."""

from __future__ import annotations

from typing import Any

from tile_cuda.launch.module import KernelModule
from tile_cuda.launch.plain import PlainLaunch
from tilecore import settings

__all__ = ["KernelModule", "built", "launch_of", "set_device"]


def _extension() -> tuple[Any, str]:
    if settings.pure_python():
        return None, "TILECORE_PURE_PYTHON is set"
    try:
        from tile_cuda.launch import _native
    except ImportError as error:
        return None, f"the extension tile_cuda.launch._native is not built ({error})"
    if _native.INTERFACE != 1:
        return None, "the extension tile_cuda.launch._native is of another version"
    return _native, f"built: {_native.__file__}"


_native, _reason = _extension()


def built() -> tuple[bool, str]:
    """Whether the built launch is in use, and where it is or why it is not."""
    return _native is not None, _reason


def launch_of(module: KernelModule) -> tuple[Any, int, Any]:
    """(launch, state, owner) of a LoadedKernel."""
    if _native is None:
        plain = PlainLaunch(module)
        return plain, 0, plain
    made = _native.NativeLaunch(module)
    return made.capsule, made.state, made


def set_device(index: int) -> None:
    """The device of this thread's next launches."""
    if _native is None:
        PlainLaunch.device.index = index
    else:
        _native.set_device(index)
