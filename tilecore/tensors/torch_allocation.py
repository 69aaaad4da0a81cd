"""Addresses of torch's C functions that make a tensor, for outputs that the built launcher allocates.

``aoti_torch_empty_strided`` belongs to the same stable C interface as the functions of ``torch_fields.py``. It takes
170 ns with the release of the memory, and the Python object 100 more; ``torch.empty(shape, dtype=, device=)`` takes
1,600, most of it to read its arguments.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class TorchAllocation(NamedTuple):
    """empty: makes an uninitialised tensor of a rank, sizes, strides, torch's codes of the element type and the device,
    and a number of the device; gives its handle. adopt: the Python object of a handle in a capsule. release: deletes a
    handle that has been adopted; 0 where adopt takes the handle's reference to the tensor, rather than one of its own.
    context, deterministic: torch's context, and whether it asks for deterministic results: then ``torch.empty`` also
    fills what it makes."""

    empty: int
    adopt: Callable[[Any], Any]
    release: int
    context: int
    deterministic: int


def torch_allocation(library: Any) -> TorchAllocation | None:
    """The functions of torch's loaded library, tried first; None where one is missing or gives another result."""
    try:
        torch = sys.modules["torch"]
        context = library._ZN2at13globalContextEv
        context.restype = ctypes.c_void_p
        names = (
            "aoti_torch_empty_strided",
            "aoti_torch_delete_tensor_object",
            "_ZNK2at7Context23deterministicAlgorithmsEv",
        )
        functions = (getattr(library, name) for name in names)
        empty, release, deterministic = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)
        adopt = torch._C._aoti.alloc_tensor_by_stealing_from_void_ptr
        allocation = TorchAllocation(empty, adopt, release, context() or 0, deterministic)
        return _checked(allocation, library)
    except Exception:
        return None


def _checked(allocation: TorchAllocation, library: Any) -> TorchAllocation | None:
    """The functions if they make the right tensors, which nothing but their Python objects refers to; else None.

    Torch says that ``alloc_tensor_by_stealing_from_void_ptr`` takes the handle's reference. Torch 2.11 and 2.13 take
    one more: every tensor would stay in memory unless its handle is deleted.
    """
    torch = sys.modules["torch"]
    asked = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(allocation.deterministic)(allocation.context)
    if asked != torch.are_deterministic_algorithms_enabled():
        return None
    sizes, strides, handle = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(3, 1), ctypes.c_void_p()
    pointer, number = ctypes.c_void_p, ctypes.c_int32
    kinds = (ctypes.c_int64, pointer, pointer, number, number, number, pointer)
    codes = library.aoti_torch_dtype_int16(), library.aoti_torch_device_type_cpu()
    make = ctypes.CFUNCTYPE(number, *kinds)(allocation.empty)
    if make(2, ctypes.addressof(sizes), ctypes.addressof(strides), *codes, 0, ctypes.addressof(handle)):
        return None
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (pointer, ctypes.c_char_p, pointer)
    tensor = allocation.adopt(capsule(handle, None, None))
    references, usual = tensor._use_count(), torch.empty(1)._use_count()
    if references == usual:
        allocation = allocation._replace(release=0)
    elif references != usual + 1 or ctypes.CFUNCTYPE(number, pointer)(allocation.release)(handle):
        return None
    tensor.fill_(7)
    facts = (
        type(tensor) is torch.Tensor,
        tensor.dtype == torch.int16,
        tensor.stride() == (3, 1),
        tensor.device.type == "cpu",
    )
    is_right = all(facts) and tensor.tolist() == [[7] * 3] * 2 and not tensor.requires_grad
    return allocation if is_right and tensor._use_count() == usual else None
