"""Converts tensors of torch and numpy to numpy arrays, and copies tensors."""

from __future__ import annotations

import sys
from typing import Any

from tilecore.dtypes import TORCH_BITS
from tilecore.errors import ArgumentError


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def as_numpy(value: Any, name: str = "a tensor") -> Any:
    """The same values as a numpy array, without a copy where the memory allows."""
    import numpy

    if is_torch(value):
        import torch

        tensor = value.detach().cpu()
        bits = TORCH_BITS.get(str(tensor.dtype).removeprefix("torch."))
        if bits is None:
            return tensor.resolve_conj().resolve_neg().numpy()
        import ml_dtypes

        kind = getattr(ml_dtypes, str(tensor.dtype).removeprefix("torch."))
        return tensor.contiguous().view(getattr(torch, bits)).numpy().view(kind)
    if isinstance(value, numpy.ndarray):
        return value
    if isinstance(value, (bool, int, float, numpy.generic)):
        return numpy.asarray(value)
    if hasattr(type(value), "__dlpack__"):
        return numpy.from_dlpack(value)
    raise ArgumentError(f"{name} is not a tensor", found=type(value).__name__, expected="a torch or numpy tensor")


def copied(value: Any) -> Any:
    """A copy of a tensor with the same values, strides and device; other values are returned unchanged."""
    if is_torch(value):
        import torch

        if 0 in value.stride():  # several elements in one place, as expand() makes them
            return value.detach().clone()
        copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
        return copy.copy_(value.detach())
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _copied_array(numpy, value)
    return value


def _copied_array(numpy: Any, value: Any) -> Any:
    if value.flags.c_contiguous:
        return value.copy()
    if value.size == 0 or min(value.strides) < 0:
        return value.copy()
    reach = sum((size - 1) * step for size, step in zip(value.shape, value.strides, strict=True)) + value.itemsize
    memory = numpy.empty(reach, numpy.uint8)
    copy = numpy.ndarray(value.shape, value.dtype, memory, 0, value.strides)
    copy[...] = value
    return copy


def listed(outputs: Any) -> list[Any]:
    """The results of a program as a list of none, one or several tensors."""
    if outputs is None:
        return []
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
