"""The launch through ctypes; some microseconds slower a call."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from tile_cuda.launch.module import BAD_GRID, ENTRY_STEP, LOAD_FAILED, KernelModule, LaunchEntry

_MAX_GRID = (2**31 - 1, 65535, 65535)


class _Window(ctypes.Structure):
    _fields_ = [
        ("base", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("hit_ratio", ctypes.c_float),
        ("hit", ctypes.c_int),
        ("miss", ctypes.c_int),
    ]


class _Value(ctypes.Union):
    _fields_ = [("bytes", ctypes.c_char * 64), ("window", _Window), ("number", ctypes.c_int)]


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


class _NextDevice(threading.local):
    index = 0


class PlainLaunch:
    """``launch(slots address, grids address, stream)``: 0, or the code of what failed."""

    device = _NextDevice()

    def __init__(self, module: KernelModule) -> None:
        self.module = module
        self._library = module.driver.library
        self._devices: dict[int, tuple[int, list[int]]] = {}

    def __call__(self, slots: int, grids: int, stream: int) -> int:
        index = self.device.index
        try:
            if index not in self._devices:
                self._devices[index] = self.module.on_device(index)
        except BaseException as error:
            self.module.failed(error)
            return LOAD_FAILED
        context, functions = self._devices[index]
        current = ctypes.c_void_p()
        result = self._library.cuCtxGetCurrent(ctypes.byref(current))
        if result:
            return int(result)
        other = current.value != context
        if other:
            result = self._library.cuCtxPushCurrent_v2(ctypes.c_void_p(context))
            if result:
                return int(result)
        try:
            return self._all(functions, slots, (ctypes.c_int64 * (4 * len(functions))).from_address(grids), stream)
        finally:
            if other:
                self._library.cuCtxPopCurrent_v2(ctypes.byref(current))

    def _all(self, functions: list[int], slots: int, grids: Any, stream: int) -> int:
        count = self.module.n_slots
        parameters = (ctypes.c_void_p * max(count, 1))(*(slots + 8 * i for i in range(count)))
        for number, (function, entry) in enumerate(zip(functions, self.module.entries, strict=True)):
            grid = grids[4 * number : 4 * number + 4]
            if 0 in grid[:3]:
                continue
            if any(g > m for g, m in zip(grid, _MAX_GRID, strict=False)) or not 0 <= grid[3] < 2**31:
                return BAD_GRID + ENTRY_STEP * number
            result = self._one(function, entry, slots, grid, stream, parameters)
            if result:
                return int(result) + ENTRY_STEP * number
        return 0

    def _one(self, function: int, entry: LaunchEntry, slots: int, grid: list[int], stream: int, parameters: Any) -> int:
        handle = ctypes.c_void_p(function)
        if entry.window_slot < 0 and not entry.programmatic:
            return self._library.cuLaunchKernel(
                handle, *grid[:3], *entry.threads, grid[3], ctypes.c_void_p(stream), parameters, None
            )
        attributes = (_Attribute * 2)()
        count = 0
        if entry.window_slot >= 0:
            base = ctypes.c_int64.from_address(slots + 8 * entry.window_slot).value
            attributes[count].id = 1
            attributes[count].value.window = _Window(base, entry.window_bytes, entry.window_ratio, 2, 1)
            count += 1
        if entry.programmatic:
            attributes[count].id = 6
            attributes[count].value.number = 1
            count += 1
        config = _Config((ctypes.c_uint * 3)(*grid[:3]), (ctypes.c_uint * 3)(*entry.threads), grid[3], stream)
        config.attributes, config.count = attributes, count
        return self._library.cuLaunchKernelEx(ctypes.byref(config), handle, parameters, None)
