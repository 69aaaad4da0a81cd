"""Arguments of a function: arrays and numbers checked against its parameters, and sizes bound from them."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilecore.dtypes import TORCH_BITS
from tilecore.element_values import ValueType, value_type
from tilecore.errors import ArgumentError, UnsupportedError


@dataclass
class TensorArgument:
    """An array given for a buffer parameter. shape: that of the elements (twice the last axis for packed 4-bit ones).

    contiguous: its elements, in order, in ``kind.storage``; memory of the caller where possible, else a copy.
    """

    name: str
    kind: ValueType
    array: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contiguous: np.ndarray
    copied: bool

    def write_back(self) -> None:
        """Write the contents of the copy back to the caller's array."""
        if not self.copied:
            return
        values = self.contiguous
        if self.kind.packed and self.array.dtype != self.kind.element:
            nibbles = values.view(np.uint8) & np.uint8(15)
            values = (nibbles[0::2] | (nibbles[1::2] << np.uint8(4))).view(self.array.dtype)
        elif self.kind.packed and not self.kind.is_float:
            values = values.astype(self.array.dtype)
        self.array[...] = values.view(self.array.dtype).reshape(self.array.shape)


def tensor_argument(name: str, kind: ValueType, rank: int, argument: Any, written: bool) -> TensorArgument:
    """Check ``argument`` against a buffer parameter; sizes are checked later. Raises ArgumentError."""
    array = _as_numpy(name, argument)
    packed = kind.packed and array.dtype in (np.int8, np.uint8)
    if array.dtype != kind.element and not packed:
        raise ArgumentError(f"{name} has the wrong dtype", found=str(array.dtype), expected=_expected_dtype(kind))
    if array.ndim != rank:
        raise ArgumentError(
            f"{name} has the wrong number of axes", found=f"{array.ndim}, shape {array.shape}", expected=str(rank)
        )
    if written and not array.flags.writeable:
        raise ArgumentError(f"{name} is read-only, but the kernel writes it")
    if packed and not array.ndim:
        raise ArgumentError(f"{name} has no axis to hold pairs of {kind.name}")
    shape = (*array.shape[:-1], array.shape[-1] * 2) if packed else array.shape
    strides = tuple(step // max(array.itemsize, 1) for step in array.strides)
    if packed:  # in elements, of which a byte of the last axis holds two
        strides = (*(2 * stride for stride in strides[:-1]), strides[-1])
    if kind.packed:
        return TensorArgument(name, kind, array, shape, strides, _unpack(kind, array, packed), True)
    plain = array.flags.c_contiguous
    flat = (array if plain else np.ascontiguousarray(array)).reshape(-1)
    return TensorArgument(name, kind, array, shape, strides, flat.view(kind.storage), not plain)


def _expected_dtype(kind: ValueType) -> str:
    if kind.packed:
        return f"int8 or uint8 holding pairs of {kind.name}, or ml_dtypes.{kind.name}"
    return kind.name


def _unpack(kind: ValueType, array: np.ndarray, packed: bool) -> np.ndarray:
    if not packed:
        flat = np.array(array, order="C").reshape(-1)
        return flat.view(np.uint8) & np.uint8(15) if kind.is_float else flat.astype(kind.storage)
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    nibbles = np.empty(raw.size * 2, np.uint8)
    nibbles[0::2], nibbles[1::2] = raw & np.uint8(15), raw >> np.uint8(4)
    if kind.kind != "int":
        return nibbles
    return (nibbles ^ np.uint8(8)).view(np.int8) - np.int8(8)


def _as_numpy(name: str, argument: Any) -> np.ndarray:
    if isinstance(argument, np.ndarray):
        return argument
    if type(argument).__module__.partition(".")[0] == "torch" and hasattr(argument, "data_ptr"):
        return _from_torch(name, argument)
    raise ArgumentError(
        f"{name} is not a tensor", found=type(argument).__name__, expected="a numpy array or a torch tensor on the CPU"
    )


def _from_torch(name: str, tensor: Any) -> np.ndarray:
    """The memory of a torch tensor as a numpy array."""
    import torch

    if tensor.device.type != "cpu":
        raise ArgumentError(f"{name} is on {tensor.device}", expected="a tensor on the CPU", hint=".cpu() copies it")
    tensor = tensor.detach()
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind not in TORCH_BITS:
        return tensor.numpy()
    import ml_dtypes

    return tensor.view(getattr(torch, TORCH_BITS[kind])).numpy().view(getattr(ml_dtypes, kind))


def scalar_argument(name: str, kind: ValueType, argument: Any) -> Any:
    """A number given for a scalar parameter, as a value of ``kind``. Raises ArgumentError when it does not fit."""
    value = argument.item() if hasattr(argument, "item") and np.ndim(argument) == 0 else argument
    if not isinstance(value, (numbers.Real, np.bool_)):
        raise ArgumentError(f"{name} is not a number", found=type(argument).__name__, expected=f"a {kind.name}")
    if kind.is_integer:
        if not isinstance(value, (numbers.Integral, np.bool_)):
            raise ArgumentError(f"{name} is not an integer", found=repr(argument), expected=f"a {kind.name}")
        if not kind.low <= int(value) <= kind.high:
            raise ArgumentError(
                f"{name} does not fit in {kind.name}", found=repr(argument), expected=f"{kind.low} to {kind.high}"
            )
    return kind.const(value)


def check_layout(argument: TensorArgument, strides: tuple[int, ...] | None) -> None:
    """Raise ArgumentError unless the strides are those declared (None: contiguous). Axes of extent 1 are free."""
    if not prod(argument.shape):
        return
    expected, step = [], 1
    for extent in reversed(argument.shape):
        expected.append(step)
        step *= extent
    expected_strides = tuple(reversed(expected)) if strides is None else strides
    axes = zip(argument.shape, argument.strides, expected_strides, strict=True)
    if all(extent == 1 or stride == declared_stride for extent, stride, declared_stride in axes):
        return
    raise ArgumentError(
        f"{argument.name} has the wrong strides" if strides is not None else f"{argument.name} is not contiguous",
        found=f"strides {argument.strides} for shape {argument.array.shape}",
        expected=f"strides {expected_strides}",
        hint=None if strides is not None else "pass .contiguous(), or declare a T.StridedTensor",
    )


def scalar_type(name: str, var: Any) -> ValueType:
    """The type of a scalar parameter; raises UnsupportedError for pointers."""
    dtype = getattr(var.ty, "dtype", None)
    if dtype is None:
        raise UnsupportedError(f"parameter {name} is a raw pointer", found=str(var.ty), expected="a tensor or a number")
    return value_type(str(dtype))
