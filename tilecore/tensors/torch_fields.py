"""Addresses of torch's C functions that read one field of a tensor, for the built launcher.

They belong to the C interface that torch keeps stable for its ahead-of-time compiler (``aoti_torch_*`` in
``torch/csrc/inductor/aoti_torch/c/shim.h``). Eight of them take 20 ns, torch's DLPack exchange 50 to 70. Each takes a
tensor's handle and the place of its result, and returns 0 where it succeeded.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, NamedTuple


class TorchFields(NamedTuple):
    """layout, strided: the layout's code, and that of a tensor with strides. dtype, device_type: torch's own codes.
    device_index: -1 where the device has no number. rank: int64. sizes, strides: int64 pointers, in elements. data:
    the address of the first element."""

    layout: int
    strided: int
    dtype: int
    device_type: int
    device_index: int
    rank: int
    sizes: int
    strides: int
    data: int


_SYMBOLS = {
    "layout": "aoti_torch_get_layout",
    "dtype": "aoti_torch_get_dtype",
    "device_type": "aoti_torch_get_device_type",
    "device_index": "aoti_torch_get_device_index",
    "rank": "aoti_torch_get_dim",
    "sizes": "aoti_torch_get_sizes",
    "strides": "aoti_torch_get_strides",
    "data": "aoti_torch_get_data_ptr",
}


def torch_fields(library: Any, offset: int) -> TorchFields | None:
    """The functions of torch's loaded library, each checked on tensors first; None where one is missing or gives
    another result. offset: bytes from a tensor's Python object to its handle."""
    try:
        functions = {name: getattr(library, symbol) for name, symbol in _SYMBOLS.items()}
        addresses = {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in functions.items()}
        strided = ctypes.CFUNCTYPE(ctypes.c_int32)(("aoti_torch_layout_strided", library))()
        fields = TorchFields(strided=strided, **addresses)
        return fields if _are_right(fields, offset) else None
    except Exception:
        return None


def _are_right(fields: TorchFields, offset: int) -> bool:
    torch = sys.modules["torch"]
    base = torch.zeros(4, 6, dtype=torch.int16, device="cpu")
    tensors = [base, base.t(), base[1:, ::2], base[0, 0], torch.zeros(3, 0, 2, device="cpu")]
    dtypes = {_asked(fields.dtype, ctypes.c_int32, tensor, offset) for tensor in tensors}
    if len(dtypes) != 2 or _asked(fields.dtype, ctypes.c_int32, base, offset) == _asked(
        fields.dtype, ctypes.c_int32, tensors[-1], offset
    ):
        return False
    return all(_is_right(fields, tensor, offset) for tensor in tensors)


def _is_right(fields: TorchFields, tensor: Any, offset: int) -> bool:
    numbers = ctypes.POINTER(ctypes.c_int64)
    rank = _asked(fields.rank, ctypes.c_int64, tensor, offset)
    if rank != tensor.dim():
        return False
    sizes, strides = (_asked(f, numbers, tensor, offset) for f in (fields.sizes, fields.strides))
    return (
        tuple(sizes[axis] for axis in range(rank)) == tuple(tensor.shape)
        and tuple(strides[axis] for axis in range(rank)) == tuple(tensor.stride())
        and (_asked(fields.data, ctypes.c_void_p, tensor, offset) or 0) == tensor.data_ptr()
        and _asked(fields.device_index, ctypes.c_int32, tensor, offset) == -1
        and _asked(fields.layout, ctypes.c_int32, tensor, offset) == fields.strided
        and 0 <= _asked(fields.device_type, ctypes.c_int32, tensor, offset) < 32
    )


def _asked(address: int, kind: Any, tensor: Any, offset: int) -> Any:
    """The field that a function reads. Raises ValueError where it fails."""
    field = kind()
    if ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address)(
        id(tensor) + offset, ctypes.addressof(field)
    ):
        raise ValueError("a function that reads a field of a tensor failed")
    return field if isinstance(field, ctypes._Pointer) else field.value
