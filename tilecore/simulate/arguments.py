"""Arguments of a kernel on the simulated device: host tensors, scalars as 8-byte slots, records of several."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilecore.dtypes import FACTS, canonical_name
from tilecore.errors import ArgumentError
from tilecore.runtime.slots import TensorSlot, storage

ACCESS = {"r": 1, "w": 2, "rw": 3}
_FLOATS = {"float64": "<d", "float32": "<f", "tfloat32": "<f", "float16": "<e"}


@dataclass(frozen=True)
class Tensor:
    """Memory that the kernel gets a pointer to.

    address: of element 0 on the host. shape in elements; strides in elements, None: contiguous, row-major.
    dtype: of the elements; ``packed`` of them share one storage element. access: "r", "w" (elements start unwritten) or
    "rw". owner: keeps the memory alive.
    """

    name: str
    address: int
    dtype: str
    shape: tuple[int, ...]
    access: str = "rw"
    strides: tuple[int, ...] | None = None
    packed: int = 1
    owner: Any = None

    @staticmethod
    def of(name: str, array: Any, access: str = "rw") -> Tensor:
        """A numpy array (ml_dtypes' element types too). Raises ArgumentError for one that the kernel may write and
        numpy may not, which may lie in memory of another Python object."""
        item = array.itemsize
        if access not in ACCESS:
            raise ArgumentError(f"{name}: no such access", found=repr(access), expected=", ".join(ACCESS))
        if access != "r" and not array.flags.writeable:
            raise ArgumentError(f"{name}: the kernel may write it, but the array is read-only", hint=".copy()")
        if any(stride % item for stride in array.strides):
            raise ArgumentError(f"{name}: its strides are no multiples of its element size")
        strides = tuple(stride // item for stride in array.strides)
        return Tensor(name, array.ctypes.data, canonical_name(array.dtype), array.shape, access, strides, 1, array)

    @staticmethod
    def of_slot(slot: TensorSlot) -> Tensor:
        return Tensor(slot.name, slot.address, slot.dtype, slot.shape, slot.access, slot.strides, slot.packed)

    @property
    def item(self) -> int:
        """Bytes of one storage element."""
        return (FACTS[self.dtype].bits * self.packed + 7) // 8

    @property
    def row(self) -> int:
        """Bytes from one row (of the last axis) to the next; 0 where the elements of a row are not contiguous."""
        shape, strides = self.storage()
        if len(shape) < 2 or strides[-1] != 1 or strides[-2] < shape[-1]:
            return 0
        return strides[-2] * self.item

    def span(self) -> tuple[int, int]:
        """First byte and the one after the last."""
        shape, strides = self.storage()
        if 0 in shape:
            return self.address, self.address
        low = sum(min(0, s * (n - 1)) for n, s in zip(shape, strides, strict=True))
        high = sum(max(0, s * (n - 1)) for n, s in zip(shape, strides, strict=True))
        return self.address + low * self.item, self.address + (high + 1) * self.item

    def storage(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and strides in storage elements."""
        return storage(self.shape, self.strides, self.packed)

    def index_of(self, offset: int) -> tuple[int, ...]:
        """The element at ``offset`` bytes from element 0; outside of the tensor, as if it went on row by row."""
        shape, strides = self.storage()
        rest, index = offset // self.item, [0] * len(shape)
        for axis in sorted(range(len(shape)), key=lambda a: -abs(strides[a])):
            if strides[axis] and shape[axis] > 1:
                index[axis], rest = divmod(rest, strides[axis])
        if shape and rest:
            index[-1] += rest
        return tuple(index)


@dataclass(frozen=True)
class Record:
    """A parameter that is passed by value, as 8-byte words. A word (tensor, offset) is the address ``offset`` bytes
    after element 0 of the tensor, which is one of the kernel's arguments."""

    words: tuple[int | tuple[Tensor, int], ...]


@dataclass(frozen=True)
class Region:
    """A contiguous region of the device's memory, and the tensors in it, which overlap."""

    begin: int
    end: int
    tensors: tuple[Tensor, ...]

    @property
    def item(self) -> int:
        return min(tensor.item for tensor in self.tensors)

    @property
    def row(self) -> int:
        """Bytes from one row to the next; 0 where there are no rows, or several tensors disagree."""
        lengths = {tensor.row for tensor in self.tensors}
        return lengths.pop() if len(lengths) == 1 else 0

    @property
    def access(self) -> int:
        modes = {ACCESS[tensor.access] for tensor in self.tensors}
        return modes.pop() if len(modes) == 1 else 3

    def at(self, offset: int) -> tuple[Tensor, int]:
        """The tensor at ``offset`` bytes, and the bytes from its element 0."""
        address = self.begin + offset
        for tensor in self.tensors:
            low, high = tensor.span()
            if low <= address < high:
                return tensor, address - tensor.address
        first = self.tensors[0]
        return first, address - first.address


def regions_of(tensors: Sequence[Tensor]) -> list[Region]:
    """The regions that hold the tensors, in the order of their addresses; overlapping tensors share one."""
    groups: list[tuple[int, int, list[Tensor]]] = []
    for tensor in sorted(tensors, key=lambda t: t.span()):
        low, high = tensor.span()
        if groups and low < groups[-1][1]:
            begin, end, members = groups[-1]
            groups[-1] = begin, max(end, high), [*members, tensor]
        else:
            groups.append((low, high, [tensor]))
    return [Region(begin, end, tuple(members)) for begin, end, members in groups]


def slot_of(value: Any, dtype: str) -> int:
    """A scalar as a signed 64-bit integer, whose low bytes have the bits of the scalar."""
    facts = FACTS[dtype]
    if facts.kind == "float":
        if dtype not in _FLOATS:
            import numpy as np

            from tilecore.dtypes import dtype as DType

            bits = np.asarray(value).astype(DType(dtype).as_numpy()).tobytes()
        else:
            bits = struct.pack(_FLOATS[dtype], value)
        return int.from_bytes(bits.ljust(8, b"\0"), "little", signed=True)
    number = int(value) & (2**64 - 1)
    return number - 2**64 if number >= 2**63 else number
