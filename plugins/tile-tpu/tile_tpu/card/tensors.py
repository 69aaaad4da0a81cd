"""Creates torch tensors over device memory at a given address, through DLPack."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from tilecore.dtypes import FACTS, dtype
from tilecore.tensors.dlpack import Device, ElementType, Managed, Tensor

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_new_capsule.restype = ctypes.py_object
_alive: dict[int, Any] = {}


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _delete(address: int) -> None:
    _alive.pop(address, None)


def tensor_at(address: int, shape: Sequence[int], strides: Sequence[int], kind: str, device: tuple[int, int]) -> Any:
    """A tensor over memory that it does not own: at ``address`` on ``device`` (DLPack's device type and index). Strides
    are in elements."""
    from torch.utils.dlpack import from_dlpack

    code, bits = FACTS[str(dtype(kind))].dlpack
    rank = len(shape)
    sizes, steps = (ctypes.c_int64 * max(rank, 1))(*shape), (ctypes.c_int64 * max(rank, 1))(*strides)
    tensor = Tensor(address, Device(*device), rank, ElementType(code, bits, 1), sizes, steps, 0)
    managed = Managed(tensor, None, ctypes.cast(_delete, ctypes.c_void_p))
    record_address = ctypes.addressof(managed)
    _alive[record_address] = (managed, sizes, steps)
    return from_dlpack(_new_capsule(record_address, b"dltensor", None))
