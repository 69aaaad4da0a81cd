"""Reads the memory layout of other libraries' tensors, and allocates new tensors.

torch tensors, numpy arrays (those of ml_dtypes too) and anything with ``__dlpack__`` are read without a copy.
Importing this module imports none of those libraries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from tilecore.dtypes import DLPACK_PAIRS, FACTS
from tilecore.tensors import dlpack, torch_state
from tilecore.tensors.device_array import DeviceArray
from tilecore.tensors.libraries import is_immutable

MOST_OF_A_REASON = 200  # characters of another library's message that an error repeats
UNKNOWN = (255, 0, 0)  # an element type without a DLPack code, such as numpy's strings


class UnreadableTensor(Exception):
    """A tensor whose memory cannot be used. ``reason`` continues "A cannot be used: "; ``hint`` says what to do."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


@dataclass(slots=True)
class TensorView:
    """A tensor's memory.

    address: of element 0. shape, strides: in elements. dtype: DLPack (code, bits, lanes). device: DLPack (type, index).
    library: "torch", "numpy" or "dlpack". tensor: what was passed. owner: keeps the memory alive. buffer: the handle of
    the buffer that the tensor lies in, on devices whose addresses are a handle plus an offset; 0 elsewhere. Tensors of
    different buffers share no memory, whatever their addresses are.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: tuple[int, int, int]
    device: tuple[int, int]
    library: str
    tensor: Any
    owner: Any
    read_only: bool = False
    buffer: int = 0

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype[1] * self.dtype[2] // 8

    @property
    def is_contiguous(self) -> bool:
        """Row-major and dense; axes of size 1 may have any stride."""
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return True

    @property
    def is_negated(self) -> bool:
        """Whether torch flips the sign of the stored values when it reads them."""
        return self.library == "torch" and self.tensor.is_neg()

    @property
    def loses_gradient(self) -> bool:
        """Whether torch needs a derivative of values that are computed from the tensor."""
        return self.library == "torch" and torch_state.loses_gradient(self.tensor)

    @property
    def dtype_name(self) -> str:
        """The element type, for people."""
        if self.library == "dlpack":
            return _dlpack_name(self.dtype)
        return str(self.tensor.dtype).removeprefix("torch.")

    @property
    def device_name(self) -> str:
        """The device, for people."""
        if self.library == "torch":
            return str(self.tensor.device)
        return "cpu" if self.device[0] in dlpack.HOST_KINDS else f"DLPack device {self.device[0]}:{self.device[1]}"

    def span(self) -> tuple[int, int]:
        """First byte and one past the last byte that its elements take; equal when it has no elements."""
        if 0 in self.shape:
            return self.address, self.address
        low = high = 0
        for size, stride in zip(self.shape, self.strides, strict=True):
            reach = (size - 1) * stride
            if reach < 0:
                low += reach
            else:
                high += reach
        size = self.itemsize
        return self.address + low * size, self.address + (high + 1) * size


def is_tensor(value: Any) -> bool:
    return _is_torch(value) or is_array(value) or hasattr(type(value), "__dlpack__") or _has_interface(value)


def view(value: Any, stream: Callable[[int], int] | None = None) -> TensorView:
    """How ``value`` lies in memory.

    stream: for tensors that come by ``__dlpack__`` alone, gives the stream (0: the default one) of a device index
    on which the memory will be used. Raises UnreadableTensor; TypeError when ``value`` is no tensor.
    """
    if _is_torch(value):
        return _torch_view(value)
    if is_array(value):
        return _numpy_view(value)
    if isinstance(value, DeviceArray):
        kind, strides = (*FACTS[value.dtype].dlpack, 1), dlpack.contiguous_strides(value.shape)
        return TensorView(value.address, value.shape, strides, kind, value.device, "dlpack", value, value)
    if hasattr(type(value), "__dlpack__"):
        return _dlpack_view(value, stream)
    if _has_interface(value):
        return _interface_view(value)
    raise TypeError(f"{type(value).__name__} is not a tensor")


def empty(shape: tuple[int, ...], dtype: str, device: str = "cpu") -> Any:
    """An uninitialised, contiguous tensor: torch's when torch is installed, else numpy's (on the host only).

    dtype: a name of the language; int4 gives int8 elements, so the last axis of ``shape`` counts pairs.
    Raises ImportError when ``device`` is not the host and torch is missing.
    """
    try:
        import torch
    except ImportError:
        if device != "cpu":
            raise
        return empty_array(shape, dtype)
    return torch.empty(shape, dtype=getattr(torch, str(FACTS[dtype].torch)), device=device)


def device_problem(device: str) -> str:
    """Why torch makes no tensors on that device, in its words: a sentence; "" where it does."""
    try:
        import torch

        torch.empty((), device=device)
    except Exception as error:  # torch has no type of its own for it
        return _first_line(error).partition(". ")[0][:MOST_OF_A_REASON]
    return ""


def empty_array(shape: tuple[int, ...], dtype: str) -> Any:
    """As :func:`empty`, numpy's in any case; aligned to 64 bytes."""
    import numpy

    # numpy promises 16 bytes only; kernels like whole cache lines
    kind = storage_of(dtype)
    size = prod(shape) * kind.itemsize
    memory = numpy.empty(size + 63, numpy.uint8)
    start = -memory.__array_interface__["data"][0] % 64
    return memory[start : start + size].view(kind).reshape(shape)


def storage_of(dtype: str) -> Any:
    """The dtype of numpy for the elements of :func:`empty_array`."""
    from tilecore.dtypes import dtype as element_type

    name = FACTS[dtype].torch if FACTS[dtype].bits < 8 else dtype
    return element_type(name).as_numpy()


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def is_array(value: Any) -> bool:
    """Whether it is numpy's."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, "ndarray", ()))


_TORCH_DTYPES = {
    **{f"torch.{facts.torch}": (*facts.dlpack, 1) for name, facts in FACTS.items() if name == facts.torch},
    **{f"torch.{name}_x2": pair for name, pair in DLPACK_PAIRS.items()},
}


def _torch_view(tensor: Any) -> TensorView:
    layout = str(tensor.layout)
    if layout != "torch.strided":
        reason = f"its layout is {layout.removeprefix('torch.')}, and kernels need plain strided memory"
        raise UnreadableTensor(reason, ".to_dense()")
    if tensor.is_nested:
        raise UnreadableTensor("it is a nested tensor, and kernels need plain strided memory", ".to_padded_tensor(0)")
    if tensor.is_quantized:
        raise UnreadableTensor("it is quantized: its memory holds other values", ".dequantize(), or .int_repr()")
    kind = tensor.device.type
    if kind == "meta":
        raise UnreadableTensor("it is on the meta device, which has no memory")
    if torch_state.handles_operations(type(tensor)):
        reason = (
            f"a {type(tensor).__name__} handles torch's operations itself (__torch_dispatch__), and a kernel is none"
        )
        raise UnreadableTensor(reason, "pass the plain tensors that it is made of")
    try:
        shape, strides, address = tuple(tensor.shape), tensor.stride(), tensor.data_ptr()
        if kind in dlpack.TORCH_DEVICES:
            device = (dlpack.TORCH_DEVICES[kind], tensor.device.index or 0)
        else:
            device = _pair(tensor.__dlpack_device__())
        buffer = tensor.untyped_storage().data_ptr() if device[0] in dlpack.HANDLE_KINDS else 0
    except Exception as error:
        raise UnreadableTensor(f"torch gives no access to its memory ({_first_line(error)})") from error
    code = _TORCH_DTYPES.get(str(tensor.dtype), UNKNOWN)
    return TensorView(address, shape, strides, code, device, "torch", tensor, tensor, buffer=buffer)


def _numpy_view(array: Any) -> TensorView:
    if hasattr(array, "mask") and hasattr(array, "filled"):
        reason = "it is a masked array, and kernels read what its mask leaves out, too"
        raise UnreadableTensor(reason, ".filled(value), or .data with all of its elements")
    kind = array.dtype
    facts = FACTS.get(kind.name)
    is_supported = facts is not None and facts.bits >= 8
    size = kind.itemsize
    if is_supported and not kind.isnative:
        reason = "its bytes are in the other order than this machine's"
        raise UnreadableTensor(reason, '.astype(a.dtype.newbyteorder("="))')
    if is_supported and any(step % size for step in array.strides):
        raise UnreadableTensor(f"its strides {array.strides} are not whole elements of {size} bytes", ".copy()")
    address, read_only = array.__array_interface__["data"]
    strides = tuple(step // size if size else 0 for step in array.strides)
    code = (*facts.dlpack, 1) if facts is not None and is_supported else UNKNOWN
    return TensorView(address, array.shape, strides, code, (dlpack.HOST, 0), "numpy", array, array, read_only)


def _has_interface(value: Any) -> bool:
    """Whether the object describes memory of the host as numpy's arrays do (numpy's array interface protocol, version
    3). Scalars of numpy do, too, but are numbers."""
    if not hasattr(value, "__array_interface__"):
        return False
    numpy = sys.modules.get("numpy")
    return numpy is None or not isinstance(value, numpy.generic)


def _interface_view(value: Any) -> TensorView:
    """The view of the array that numpy makes of the object's memory, without a copy. What numpy would copy is read-only
    there, so that no result is lost."""
    import numpy

    try:
        array = numpy.asarray(value)
    except Exception as error:
        raise UnreadableTensor(f"its __array_interface__ cannot be read ({_first_line(error)})") from error
    return _numpy_view(array)


def _dlpack_view(value: Any, stream: Callable[[int], int] | None) -> TensorView:
    try:
        device = _pair(value.__dlpack_device__())
        keywords: dict[str, Any] = {}
        handle = stream(device[1]) if stream is not None and device[0] not in dlpack.HOST_KINDS else 0
        if handle:
            keywords["stream"] = handle
        try:
            capsule = value.__dlpack__(max_version=(dlpack.MAJOR, 0), **keywords)
        except TypeError:  # made before version 1 of the protocol
            capsule = value.__dlpack__(**keywords)
        tensor = dlpack.read_capsule(capsule)
    except Exception as error:
        reason = f"{type(value).__name__}.__dlpack__ failed ({_first_line(error)})"
        raise UnreadableTensor(reason) from error
    return TensorView(
        tensor.address,
        tensor.shape,
        tensor.strides,
        tensor.dtype,
        tensor.device,
        "dlpack",
        value,
        (value, capsule),
        tensor.read_only or is_immutable(value),
    )


def _pair(device: Any) -> tuple[int, int]:
    kind, index = device
    return int(kind), int(index)


def _dlpack_name(dtype: tuple[int, int, int]) -> str:
    for name, facts in FACTS.items():
        if facts.dlpack == dtype[:2] and dtype[2] == 1:
            return name
    return f"DLPack type code {dtype[0]} of {dtype[1]} bits" + (f" x {dtype[2]}" if dtype[2] != 1 else "")


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
