"""Lists the GPUs of this machine without torch and, where possible, without initializing CUDA in this process.

A process that has initialized CUDA cannot fork workers that use it, and listing targets should be quick. So the
management library (NVML) is asked first, and the driver only where NVML does not settle the answer.
"""

from __future__ import annotations

import ctypes
import functools
import os
from dataclasses import dataclass

from tile_cuda.driver import Driver, DriverError

MANAGEMENT = "libnvidia-ml.so.1"


@dataclass(frozen=True)
class Device:
    """One GPU: its name and compute capability."""

    name: str
    capability: tuple[int, int]


@functools.lru_cache(maxsize=1)
def visible_devices() -> tuple[tuple[Device, ...], str]:
    """The devices that CUDA would show, in CUDA's order where their capabilities differ; and why there are none."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in ("", "-1"):
        return (), f"CUDA_VISIBLE_DEVICES is {visible!r}"
    devices = _by_management()
    if devices and len({d.capability for d in devices}) == 1:
        count = len(devices) if visible is None else len([w for w in visible.split(",") if w.strip()])
        return devices[:count], ""
    return _by_driver()


def first_device() -> tuple[Device | None, str]:
    """The device 0 of CUDA and ""; or None and the reason why there is none."""
    devices, reason = visible_devices()
    return (devices[0], "") if devices else (None, reason)


def _by_management() -> tuple[Device, ...]:
    try:
        library = ctypes.CDLL(MANAGEMENT)
        if library.nvmlInit_v2() != 0:
            return ()
    except (OSError, AttributeError):
        return ()
    try:
        count = ctypes.c_uint()
        if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return ()
        devices = []
        for index in range(count.value):
            handle, major, minor = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
            name = ctypes.create_string_buffer(96)
            if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) != 0:
                return ()
            code = library.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor))
            if code != 0 or library.nvmlDeviceGetName(handle, name, 96) != 0:
                return ()
            devices.append(Device(name.value.decode(errors="replace"), (major.value, minor.value)))
        return tuple(devices)
    except AttributeError:
        return ()
    finally:
        library.nvmlShutdown()


def _by_driver() -> tuple[tuple[Device, ...], str]:
    try:
        driver = Driver.shared()
        devices = [Device(driver.device_name(i), driver.capability(i)) for i in range(driver.device_count())]
    except DriverError as error:
        return (), str(error)
    return tuple(devices), "" if devices else "the driver shows no device"
