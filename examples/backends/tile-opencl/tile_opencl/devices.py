"""The OpenCL devices of this machine. pyopencl is imported when a device is asked for."""

from __future__ import annotations

import functools
from typing import Any

INSTALL = "pip install pyopencl, and a driver; PoCL runs kernels on the CPU: apt-get install pocl-opencl-icd"


class NoDevice(Exception):
    """There is no usable OpenCL device. The message says why, and what to do."""


@functools.cache
def device(place: str) -> Any:
    """The device of pyopencl with the indices ``platform:device``, both from 0. Raises NoDevice."""
    try:
        import pyopencl as cl
    except ImportError as error:
        raise NoDevice(f"pyopencl cannot be imported ({error}); {INSTALL}") from None
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        raise NoDevice(f"there is no OpenCL platform ({error}); {INSTALL}") from None
    devices = {
        f"{p}:{d}": cl_device
        for p, platform in enumerate(platforms)
        for d, cl_device in enumerate(platform.get_devices())
    }
    if place not in devices:
        available = ", ".join(f"{where} {cl_device.name.strip()}" for where, cl_device in devices.items()) or "none"
        raise NoDevice(f"there is no OpenCL device {place} (there are: {available}); {INSTALL}")
    return devices[place]


@functools.cache
def working(place: str) -> Any:
    """The device, after its driver has compiled a kernel. Raises NoDevice."""
    cl_device = device(place)
    import pyopencl as cl

    try:
        cl.Program(queue(place).context, "kernel void nothing(global int* x) { x[0] = 1; }").build()
    except cl.Error as error:
        driver_message = " ".join(str(error).split())[:300]
        raise NoDevice(
            f"the driver of {words(cl_device)} cannot compile a kernel ({driver_message}); "
            f"try another driver: {INSTALL}"
        ) from None
    return cl_device


def words(cl_device: Any) -> str:
    """A description of the device: its name, platform, driver and language."""
    parts = (cl_device.name, cl_device.platform.name, cl_device.driver_version, cl_device.opencl_c_version)
    return ", ".join(part.strip() for part in parts)


def on_cpu(cl_device: Any) -> bool:
    """Whether the device is the host's processor."""
    return bool(cl_device.type & 2)  # CL_DEVICE_TYPE_CPU


@functools.cache
def queue(place: str) -> Any:
    """The command queue of a device, in a context of its own."""
    import pyopencl as cl

    return cl.CommandQueue(cl.Context([device(place)]))
