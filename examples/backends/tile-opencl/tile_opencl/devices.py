"""The OpenCL devices of this machine. pyopencl is imported when one is asked for."""

from __future__ import annotations

import functools
from typing import Any

INSTALL = "pip install pyopencl, and a driver; PoCL runs kernels on the CPU: apt-get install pocl-opencl-icd"


class NoDevice(Exception):
    """There is no usable OpenCL device; the message says why, and what to do."""


@functools.cache
def device(place: str) -> Any:
    """pyopencl's device at ``platform:device``, both counted from 0. Raises NoDevice."""
    try:
        import pyopencl as cl
    except ImportError as error:
        raise NoDevice(f"pyopencl cannot be imported ({error}); {INSTALL}") from None
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        raise NoDevice(f"there is no OpenCL platform ({error}); {INSTALL}") from None
    devices = {f"{p}:{d}": one for p, platform in enumerate(platforms) for d, one in enumerate(platform.get_devices())}
    if place not in devices:
        available = ", ".join(f"{where} {one.name.strip()}" for where, one in devices.items()) or "none"
        raise NoDevice(f"there is no OpenCL device {place} (there are: {available}); {INSTALL}")
    return devices[place]


@functools.cache
def working(place: str) -> Any:
    """The device, after its driver has compiled a kernel. Raises NoDevice."""
    one = device(place)
    import pyopencl as cl

    try:
        cl.Program(queue(place).context, "kernel void nothing(global int* x) { x[0] = 1; }").build()
    except cl.Error as error:
        said = " ".join(str(error).split())[:300]
        raise NoDevice(
            f"the driver of {words(one)} cannot compile a kernel ({said}); try another driver: {INSTALL}"
        ) from None
    return one


def words(one: Any) -> str:
    """The device in words: its name, platform, driver and language."""
    parts = (one.name, one.platform.name, one.driver_version, one.opencl_c_version)
    return ", ".join(part.strip() for part in parts)


def on_cpu(one: Any) -> bool:
    """Whether the device is the host's processor."""
    return bool(one.type & 2)  # CL_DEVICE_TYPE_CPU


@functools.cache
def queue(place: str) -> Any:
    """The queue of a device, in a context of its own."""
    import pyopencl as cl

    return cl.CommandQueue(cl.Context([device(place)]))
