"""Reads objects with ``__cuda_array_interface__``, version 3: those of Numba, PyCUDA, RAPIDS and others.

The protocol: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html. Versions 0 to 2 lack "stream" (and
0 "strides" of None): they are read the same, without an order of streams.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from tile_cuda.driver import Driver, DriverError
from tilecore.contract.adapter import ForeignTensor
from tilecore.errors import LaunchError, UnsupportedError

NAME = "__cuda_array_interface__"
DEVICE = 2  # kDLCUDA
_KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLPack's type codes of typestr's kinds; "b" is bool
_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_LEGACY = 1  # the legacy default stream, which the driver also calls 0
_DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING


def read(value: Any, driver: Callable[[], Driver], stream: Callable[[int], int]) -> ForeignTensor | None:
    """The tensor that an object describes; None where it has no such interface.

    stream: gives the stream of a device index on which the tensor will be used; it waits for the work on the stream
    that the interface names. Raises UnsupportedError for what kernels cannot use, LaunchError where the driver fails.
    """
    described = getattr(value, NAME, None)
    if described is None:
        return None
    if not isinstance(described, Mapping) or not {"shape", "typestr", "data", "version"} <= described.keys():
        raise UnsupportedError(f"its {NAME} lacks what the protocol requires", found=repr(described)[:200])
    if described.get("mask") is not None:
        raise UnsupportedError(f"its {NAME} has a mask, and kernels read what a mask leaves out, too")
    shape = tuple(int(size) for size in described["shape"])
    kind, size = _element(str(described["typestr"]))
    address, is_read_only = described["data"]
    try:
        index = _device_of(driver(), int(address or 0))
        _wait(driver(), described.get("stream"), stream(index), index)
    except DriverError as error:
        raise LaunchError(f"the memory of a {type(value).__name__} cannot be used: {error}") from None
    return ForeignTensor(
        int(address or 0),
        shape,
        _strides(described.get("strides"), shape, size),
        (_KINDS[kind], 8 * size, 1),
        (DEVICE, index),
        bool(is_read_only),
        (value, described),
    )


def _element(typestr: str) -> tuple[str, int]:
    """(kind, bytes) of ``<f4`` and the like."""
    order, kind, size = typestr[:1], typestr[1:2], typestr[2:]
    if order == ">" and size != "1":
        raise UnsupportedError("its bytes are in the other order than the device's", found=f"typestr {typestr!r}")
    if order not in "<>|=" or kind not in _KINDS or not size.isdecimal():
        raise UnsupportedError(
            "its element type has no name in the language",
            found=f"typestr {typestr!r}",
            expected="integers, floats and bools; others come by __dlpack__",
        )
    return kind, int(size)


def _strides(strides: Any, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """In elements; None stands for row-major."""
    if strides is None:
        steps, step = [], 1
        for extent in reversed(shape):
            steps.append(step)
            step *= extent
        return tuple(reversed(steps))
    if any(int(step) % size for step in strides):
        raise UnsupportedError(f"its strides {tuple(strides)} are not whole elements of {size} bytes")
    return tuple(int(step) // size for step in strides)


def _device_of(driver: Driver, address: int) -> int:
    """The device whose memory an address is; 0 for the null pointer of an empty array."""
    if not address:
        return 0
    index = ctypes.c_int()
    driver.call("cuPointerGetAttribute", ctypes.byref(index), _ORDINAL, ctypes.c_uint64(address))
    return index.value


def _wait(driver: Driver, theirs: Any, ours: int, index: int) -> None:
    """Lets our stream wait for what is queued on theirs: None for nothing to wait for, 1 for the legacy default stream,
    2 for that of the thread, else a stream."""
    if theirs is None:
        return
    if not isinstance(theirs, int) or theirs == 0:
        raise UnsupportedError(
            f"the stream of its {NAME} is wrong", found=repr(theirs), expected="None, 1, 2 or a stream: 0 is ambiguous"
        )
    if theirs == (ours or _LEGACY):
        return
    event = ctypes.c_void_p()
    with driver.inside(index):
        driver.call("cuEventCreate", ctypes.byref(event), _DISABLE_TIMING)
        try:
            driver.call("cuEventRecord", event, ctypes.c_void_p(theirs))
            driver.call("cuStreamWaitEvent", ctypes.c_void_p(ours), event, 0)
        finally:
            driver.call("cuEventDestroy_v2", event)  # released when the wait is over
