"""Packs tensors as plain data, to send them to another process."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tilecore.dtypes import dtype as DType
from tilecore.profiler.arrays import as_numpy, is_torch
from tilecore.profiler.supply import strided

if TYPE_CHECKING:
    from tilecore.contract.adapter import KernelAdapter


@dataclass(frozen=True)
class Packed:
    """A tensor. strides: in elements, None for row-major. data: the elements, row by row."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str
    data: bytes

    def array(self) -> Any:
        """A new numpy array with the data."""
        import numpy

        kind = DType(self.dtype).as_numpy()
        dense = numpy.frombuffer(bytearray(self.data), kind).reshape(self.shape)
        if self.strides is None or dense.size == 0:
            return dense
        view = strided(numpy.zeros(_reach(self.shape, self.strides), kind), self.shape, self.strides)
        view[...] = dense
        return view


def pack(value: Any) -> Any:
    """Tensors as Packed, numbers as they are. Raises ArgumentError or LanguageError for anything else."""
    import numpy

    if isinstance(value, (bool, int, float)):
        return value
    array = as_numpy(value)
    dense = numpy.ascontiguousarray(array)
    shape = tuple(int(size) for size in array.shape)
    kind = DType(value.dtype if is_torch(value) else array.dtype)
    return Packed(shape, _strides(value, array), str(kind), dense.tobytes())


def _strides(value: Any, array: Any) -> tuple[int, ...] | None:
    """None when row-major, or when it cannot be had again in one piece of memory of its own."""
    steps = tuple(value.stride()) if is_torch(value) else tuple(step // array.itemsize for step in array.strides)
    expected, step = [], 1
    for size in reversed(array.shape):
        expected.append(step)
        step *= max(int(size), 1)
    plain = all(size == 1 or a == b for size, a, b in zip(array.shape, steps, reversed(expected), strict=True))
    if plain or array.size == 0 or min(steps) <= 0:
        return None
    return steps


def _reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements from the first to the last."""
    return 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))


def unpack(value: Any, adapter: KernelAdapter) -> Any:
    """The tensor again, where the adapter's kernels can use it."""
    if not isinstance(value, Packed):
        return value
    if value.strides is None or prod(value.shape) == 0:
        tensor = adapter.empty(value.shape, value.dtype)
    else:
        memory = adapter.empty((_reach(value.shape, value.strides),), value.dtype)
        tensor = strided(memory, value.shape, value.strides)
    if is_torch(tensor):
        import torch

        if value.data:
            tensor.copy_(torch.frombuffer(bytearray(value.data), dtype=tensor.dtype).reshape(value.shape))
    else:
        tensor[...] = value.array()
    return tensor
