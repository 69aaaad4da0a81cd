"""Launches kernels through a GPU driver: by the compiled extension, or through ctypes where that is not built."""

from __future__ import annotations

from typing import Any

from tilecore import settings
from tilecore.runtime.device_kernels import DeviceKernels
from tilecore.runtime.device_launch_py import PlainDeviceLaunch

INTERFACE = 1  # changes when the extension and its Python callers must change together


def _extension() -> tuple[Any, str]:
    if settings.pure_python():
        return None, "TILECORE_PURE_PYTHON is set"
    try:
        from tilecore.runtime import _device_launch  # type: ignore[attr-defined]
    except ImportError as error:
        return None, f"the extension tilecore.runtime._device_launch is not built ({error})"
    if _device_launch.INTERFACE != INTERFACE:
        return None, "the extension tilecore.runtime._device_launch was built for another version"
    return _device_launch, f"built: {_device_launch.__file__}"


_native, _reason = _extension()


def built() -> tuple[bool, str]:
    """Whether the compiled extension is in use; its path, or the reason why not."""
    return _native is not None, _reason


def launch_of(kernels: DeviceKernels) -> tuple[Any, int, Any]:
    """The (launch, state, owner) of a LoadedKernel that runs ``on_device``.

    Entries with a ``plain_start`` and no ``start`` are launched through ctypes, and so are all of their artifact.
    """
    compiled = all(entry.start or entry.plain_start is None for entry in kernels.entries)
    if _native is None or not compiled:
        launch = PlainDeviceLaunch(kernels)
        return launch, 0, launch
    native = _native.DeviceLaunch(kernels)
    return native.capsule, native.state, native
