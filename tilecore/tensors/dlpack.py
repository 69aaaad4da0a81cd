"""Reads DLPack capsules, the results of ``__dlpack__``, as plain numbers. The capsule keeps the memory alive."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY
MAJOR = 1
HOST = 1  # kDLCPU
# DLPack's kinds of page-locked host memory: host kernels take them like any host memory.
HOST_KINDS = (1, 3, 11)
# DLPack's types of devices whose addresses are handles of buffers plus offsets in bytes. The handles are addresses of
# objects of a driver: those of two buffers may be closer to each other than the buffers' sizes.
HANDLE_KINDS = (4, 7, 8)
TORCH_DEVICES = {"cpu": HOST, "mps": 8}  # torch's names; some releases cannot tell the type of their second one


class Device(ctypes.Structure):
    """DLPack's DLDevice: the type of a device, and its index."""

    _fields_ = (("type", ctypes.c_int32), ("index", ctypes.c_int32))


class ElementType(ctypes.Structure):
    """DLPack's DLDataType: the kind, bits and lanes of an element."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    """DLPack's DLTensor: address, device, element type, shape and strides."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("rank", ctypes.c_int32),
        ("dtype", ElementType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLPack's DLManagedTensor: a tensor and the function that releases it."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class ManagedVersioned(ctypes.Structure):
    """DLPack's DLManagedTensorVersioned: as Managed, with the version of DLPack and flags."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


class Description(NamedTuple):
    """A tensor's memory. shape and strides count elements; dtype is (code, bits, lanes); device is (type, index)."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: tuple[int, int, int]
    device: tuple[int, int]
    read_only: bool


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_valid.restype = ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer.restype = ctypes.c_void_p


def capsule_address(capsule: Any, name: bytes) -> int:
    """The pointer in a capsule of that name; ValueError when it is none."""
    return _pointer(capsule, name) or 0


def read_capsule(capsule: Any) -> Description:
    """What a DLPack capsule describes. It stays the owner: keep it while the memory is used.

    Raises ValueError when it is no DLPack capsule, was consumed already, or has a major version that is not known.
    """
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = ManagedVersioned.from_address(capsule_address(capsule, b"dltensor_versioned"))
        if managed.major != MAJOR:
            raise ValueError(f"its DLPack version is {managed.major}.{managed.minor}; {MAJOR}.x is understood")
        return _describe(managed.tensor, bool(managed.flags & READ_ONLY))
    if _is_valid(capsule, b"dltensor"):
        return _describe(Managed.from_address(capsule_address(capsule, b"dltensor")).tensor, False)
    raise ValueError("its __dlpack__ gave no unused DLPack capsule")


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _describe(tensor: Tensor, read_only: bool) -> Description:
    shape = tuple(tensor.shape[: tensor.rank]) if tensor.rank else ()
    strides = tuple(tensor.strides[: tensor.rank]) if tensor.rank and tensor.strides else contiguous_strides(shape)
    dtype = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
    device = (tensor.device.type, tensor.device.index)
    return Description((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, device, read_only)
