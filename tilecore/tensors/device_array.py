"""Memory of a device as an array that other libraries take by DLPack: what outputs are where torch is not installed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from tilecore.dtypes import FACTS
from tilecore.tensors.dlpack import MAJOR, Device, ElementType, Managed, ManagedVersioned, Tensor

_NAMES = (b"dltensor", b"dltensor_versioned")  # of capsules, before and since version 1 of DLPack
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Destructor = ctypes.PYFUNCTYPE(
    None, ctypes.c_void_p
)  # of an object that is going away: no reference may be made to it
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _Destructor)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@dataclass(frozen=True)
class DeviceMemory:
    """address: of memory. device: DLPack's (type, index). release: gives it back, once the work on it has ended."""

    address: int
    device: tuple[int, int]
    release: Callable[[], Any]


class DeviceArray:
    """A contiguous array in the memory of a device. ``torch.from_dlpack(a)``, ``cupy.from_dlpack(a)`` and
    ``jax.numpy.from_dlpack(a)`` share its memory, which is given back when nobody has it any more.

    shape: in elements of ``dtype``, a name of the language. synchronize: waits for the work on the device; other
    libraries get the memory after it.
    """

    def __init__(
        self, memory: DeviceMemory, shape: tuple[int, ...], dtype: str, synchronize: Callable[[], Any]
    ) -> None:
        self._memory = memory
        self._synchronize = synchronize
        self.shape = shape
        self.dtype = dtype

    @property
    def device(self) -> tuple[int, int]:
        """DLPack's (type, index)."""
        return self._memory.device

    @property
    def address(self) -> int:
        """Of element 0."""
        return self._memory.address

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A DLPack capsule. stream: -1 for no order, else all work on the device is awaited. Raises BufferError for a
        copy and for another device."""
        if copy or (dl_device is not None and tuple(dl_device) != self.device):
            raise BufferError("a DeviceArray gives its own memory, on its own device")
        if stream != -1:
            self._synchronize()
        return _exported(self, is_versioned=max_version is not None and tuple(max_version) >= (MAJOR, 0))

    def __del__(self) -> None:
        memory = self.__dict__.get("_memory")
        if memory is not None:
            memory.release()

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype} {self.shape} on DLPack device {self.device[0]}:{self.device[1]}>"


_live: dict[int, tuple[Any, Any, DeviceArray]] = {}  # by address: descriptions that other libraries have


def _exported(array: DeviceArray, is_versioned: bool) -> Any:
    shape = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    code, bits = FACTS[array.dtype].dlpack
    pointer = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    tensor = Tensor(array.address, Device(*array.device), array.ndim, ElementType(code, bits, 1), pointer, None, 0)
    forget = ctypes.cast(_forget, ctypes.c_void_p)
    managed = ManagedVersioned(MAJOR, 0, None, forget, 0, tensor) if is_versioned else Managed(tensor, None, forget)
    address = ctypes.addressof(managed)
    _live[address] = managed, shape, array
    return _new(address, _NAMES[is_versioned], _unused)


@_Deleter
def _forget(address: int) -> None:
    """Called by the library that took the array, when it needs it no more."""
    _live.pop(address, None)


@_Destructor
def _unused(capsule: int) -> None:
    """Called for a capsule that goes away: a library that takes the array renames it."""
    for name in _NAMES:
        if _is_valid(capsule, name):
            _live.pop(_pointer(capsule, name), None)
