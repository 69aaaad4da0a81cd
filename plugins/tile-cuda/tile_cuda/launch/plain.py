"""Launch attributes and tensor maps through ctypes: some microseconds slower than the compiled extension."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from tile_cuda.launch.entries import LaunchEntry
from tile_cuda.launch.failures import BAD_CLUSTER, BAD_MAP
from tile_cuda.launch.module import DeviceLimits, KernelModule
from tile_cuda.launch.tensor_maps import BYTES, TensorMap
from tilecore.artifact.dims import Dim
from tilecore.runtime.device_kernels import LoadedDevice


class _Window(ctypes.Structure):
    _fields_ = [
        ("base", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("hit_ratio", ctypes.c_float),
        ("hit", ctypes.c_int),
        ("miss", ctypes.c_int),
    ]


class _Value(ctypes.Union):
    _fields_ = [
        ("bytes", ctypes.c_char * 64),
        ("window", _Window),
        ("dimensions", ctypes.c_uint * 3),
        ("integer", ctypes.c_int),
    ]


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", _Value)]


class _Config(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    ]


class _Refused(Exception):
    """The launch of an entry is refused; the argument is the code."""


_failed = threading.local()


def failed_map() -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """(the driver's code, address, shape, strides) of the tensor map that failed last in this thread."""
    return _failed.map


class AttributesStart:
    """The launch in Python of entries that have launch attributes or tensor maps."""

    start = 0

    def __init__(self, module: KernelModule) -> None:
        self.module = module
        self._library = module.driver.library
        self._maps: dict[Any, Any] = {}

    def entry(self, number: int) -> int:
        return 0

    def device(self, limits: DeviceLimits) -> int:
        return 0

    def plain_start(
        self, device: LoadedDevice, number: int, words: Any, grid: list[int], stream: int, addresses: list[int]
    ) -> int:
        """Launches an entry: a PlainStart of the core's launch."""
        try:
            return self._launch_entry(device, number, words, grid, stream, addresses)
        except _Refused as refused:
            return refused.args[0]

    def _launch_entry(
        self, device: LoadedDevice, number: int, words: Any, grid: list[int], stream: int, addresses: list[int]
    ) -> int:
        entry = self.module.launch_entries[number]
        limits = next(self.module.limits[index] for index, loaded in self.module.loaded.items() if loaded is device)
        handle = ctypes.c_void_p(device.functions[number])
        maps = [self._encode(tensor_map, i, words, limits.nothing) for i, tensor_map in enumerate(entry.tensor_maps)]
        addresses = addresses + [address for _, address in maps]
        parameters = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
        if entry.is_plain:
            return self._library.cuLaunchKernel(
                handle, *grid[:3], *entry.threads, grid[3], ctypes.c_void_p(stream), parameters, None
            )
        if any(g % c for g, c in zip(grid, entry.cluster, strict=False)):
            raise _Refused(BAD_CLUSTER)
        attributes, count = self._attributes(limits, number, entry, words)
        config = _Config((ctypes.c_uint * 3)(*grid[:3]), (ctypes.c_uint * 3)(*entry.threads), grid[3], stream)
        config.attributes, config.count = attributes, count
        return self._library.cuLaunchKernelEx(ctypes.byref(config), handle, parameters, None)

    def _attributes(self, limits: DeviceLimits, number: int, entry: LaunchEntry, words: Any) -> tuple[Any, int]:
        """An array of CUlaunchAttribute, and how many of its elements are used."""
        ids_and_values = []
        if entry.window_slot >= 0:
            size = min(self._size(entry.window_bytes, words), limits.window)
            if size:
                window = _Window(words[entry.window_slot], size, entry.window_ratio, 2, 1)
                ids_and_values.append((1, _Value(window=window)))
        if entry.cooperative:
            ids_and_values.append((2, _Value(integer=1)))
        if limits.clusters[number]:
            ids_and_values.append((4, _Value(dimensions=(ctypes.c_uint * 3)(*entry.cluster))))
        if entry.programmatic:
            ids_and_values.append((6, _Value(integer=1)))
        attributes = (_Attribute * max(len(ids_and_values), 1))()
        for attribute, (attribute_id, value) in zip(attributes, ids_and_values, strict=False):
            attribute.id, attribute.value = attribute_id, value
        return attributes, len(ids_and_values)

    def _size(self, size: Dim, words: Any) -> int:
        value, slot = self.module.place(size)
        return value if slot < 0 else words[slot]

    def _encode(self, tensor_map: TensorMap, map_index: int, words: Any, zeros: int) -> tuple[Any, int]:
        """(the memory of the encoded tensor map, its address in it). zeros: the address of memory for
        tensors that are empty or null."""
        address = words[tensor_map.slot] % 2**64 + self._size(tensor_map.offset, words)
        shape = tuple(self._size(s, words) for s in tensor_map.shape)
        strides = tuple(self._size(s, words) for s in tensor_map.strides)
        if 0 in shape or not words[tensor_map.slot]:
            # The driver accepts no such axis, and no null pointer (of None, for a tensor that this launch does not
            # access). One zero stands for it, as copies read zeros out of bounds.
            address, shape, strides = zeros, (1,) * tensor_map.rank, (32,) * (tensor_map.rank - 1)
        encoded = self._maps.get((tensor_map, address, shape, strides))
        if encoded is None:
            memory = ctypes.create_string_buffer(BYTES + 64)
            start = -(-ctypes.addressof(memory) // 64) * 64
            dtype, interleave, swizzle, promotion, fill = tensor_map.codes
            sizes64, sizes32 = ctypes.c_uint64 * tensor_map.rank, ctypes.c_uint32 * tensor_map.rank
            code = self._library.cuTensorMapEncodeTiled(
                ctypes.c_void_p(start), dtype, tensor_map.rank, ctypes.c_void_p(address), sizes64(*shape),
                sizes64(*strides), sizes32(*tensor_map.box), sizes32(*tensor_map.steps),
                interleave, swizzle, promotion, fill,
            )  # fmt: skip
            if code:
                _failed.map = (code, address, shape, strides)
                raise _Refused(BAD_MAP + map_index)
            if len(self._maps) >= 256:
                self._maps.clear()
            encoded = self._maps[tensor_map, address, shape, strides] = (memory, start)
        return encoded
