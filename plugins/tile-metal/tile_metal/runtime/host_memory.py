"""Memory of the host for kernels: numpy arrays that lie in buffers of Metal, and copies of all other tensors."""

from __future__ import annotations

import bisect
import ctypes
import threading
import weakref
from math import prod
from typing import Any

import numpy as np

from tile_metal.runtime.device import Bound, Buffer, Device
from tilecore.dtypes import FACTS
from tilecore.dtypes import dtype as element_type
from tilecore.runtime.slots import TensorSlot, storage


class Buffers:
    """The buffers whose memory numpy arrays lie in, by address."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starts: list[int] = []
        self._by_start: dict[int, tuple[int, Buffer]] = {}

    def add(self, size: int, buffer: Buffer) -> None:
        with self._lock:
            bisect.insort(self._starts, buffer.address)
            self._by_start[buffer.address] = size, buffer

    def remove(self, address: int) -> None:
        with self._lock:
            self._starts.remove(address)
            del self._by_start[address]

    def at(self, low: int, high: int) -> tuple[Buffer, int] | None:
        """The buffer that has the bytes from low to high, and the offset of the first one."""
        with self._lock:
            index = bisect.bisect_right(self._starts, low) - 1
            if index < 0:
                return None
            start = self._starts[index]
            size, buffer = self._by_start[start]
            return (buffer, low - start) if high <= start + size else None


BUFFERS = Buffers()


def empty_array(device: Device, shape: tuple[int, ...], dtype: str) -> Any:
    """An uninitialised numpy array in memory of the GPU, which kernels access without a copy. dtype: a name of the
    language; int4 gives int8 elements, so the last axis of ``shape`` counts pairs."""
    kind = element_type(FACTS[dtype].torch if FACTS[dtype].bits < 8 else dtype).as_numpy()
    size = prod(shape) * kind.itemsize
    if not size:
        return np.empty(shape, kind)
    buffer = device.buffer(size)
    memory = (ctypes.c_char * size).from_address(buffer.address)
    BUFFERS.add(size, buffer)
    # the arrays over the memory keep this object, and it is the last to know the buffer
    weakref.finalize(memory, BUFFERS.remove, buffer.address).atexit = False
    return np.frombuffer(memory, np.uint8).view(kind).reshape(shape)


class Copies:
    """The tensors of one call on the host: buffers to bind, filled before the launch; ``back`` copies results."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._buffers: dict[tuple[int, int], Buffer] = {}
        self._filled: set[tuple[object, ...]] = set()
        self._written: list[tuple[TensorSlot, Buffer]] = []

    def bind(self, slot: TensorSlot) -> Bound:
        """The argument for a tensor with elements. Tensors of the same bytes share one buffer, as a kernel that works
        in place expects."""
        low, high = slot.address - slot.bytes_before, slot.address + slot.nbytes
        in_place = BUFFERS.at(low, high)
        if in_place is not None:
            buffer, offset = in_place
            return Bound(buffer.handle, offset + slot.bytes_before)
        copy = self._buffers.get((low, high))
        if copy is None:
            copy = self._buffers[low, high] = self._device.buffer(high - low)
        pattern = low, high, slot.shape, slot.strides, slot.item, slot.packed
        if pattern not in self._filled:  # tensors of the same bytes may have other elements of them
            self._filled.add(pattern)
            _elements(slot, copy.address + slot.bytes_before)[...] = _elements(slot, slot.address)
        if "w" in slot.access:
            self._written.append((slot, copy))
        return Bound(copy.handle, slot.bytes_before)

    def back(self) -> None:
        """Copies what kernels wrote: the elements of the tensors alone, as what lies between them is not theirs."""
        for slot, copy in self._written:
            _elements(slot, slot.address)[...] = _elements(slot, copy.address + slot.bytes_before)


def _elements(slot: TensorSlot, address: int) -> Any:
    """The storage elements of a tensor as an array of their bytes. address: of element 0."""
    shape, strides = storage(slot.shape, slot.strides, slot.packed)
    before, size = slot.bytes_before, slot.bytes_before + slot.nbytes
    memory: Any = (ctypes.c_char * size).from_address(address - before)
    steps = [stride * slot.item for stride in strides]
    return np.ndarray(shape, f"V{slot.item}", memory, before, steps)
