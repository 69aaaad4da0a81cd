"""The launch on devices through ctypes: some microseconds slower than the compiled extension."""

from __future__ import annotations

import ctypes
from typing import Any

from tilecore.runtime.device_kernels import (
    BAD_DEVICE,
    BAD_GRID,
    ENTRY_STEP,
    LOAD_FAILED,
    MAX_DEVICES,
    DeviceEntry,
    DeviceKernels,
    LoadedDevice,
)

_POINTER, _UNSIGNED = ctypes.c_void_p, ctypes.c_uint
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, *[_UNSIGNED] * 7, _POINTER, _POINTER, _POINTER)
_START = ctypes.CFUNCTYPE(ctypes.c_int, *[_POINTER] * 7)
_OF_ADDRESS = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER)
_OF_NUMBER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)


class PlainDeviceLaunch:
    """``launch(slots address, grids address, device index, stream)`` returns 0, or the code of the failure."""

    def __init__(self, kernels: DeviceKernels) -> None:
        functions = kernels.functions
        self.kernels = kernels
        self._launch = _LAUNCH(functions.launch)
        self._get_current = _OF_ADDRESS(functions.get_current)
        self._set_current = (_OF_NUMBER if functions.numbered else _OF_ADDRESS)(functions.set_current)
        self._restore = _OF_ADDRESS(functions.restore) if functions.restore else None

    def __call__(self, slots: int, grids: int, index: int, stream: int) -> int:
        if not 0 <= index < MAX_DEVICES:
            return BAD_DEVICE
        try:
            device = self.kernels.on_device(index)
        except BaseException as error:
            self.kernels.failures.keep(error)
            return LOAD_FAILED
        before = ctypes.c_uint64(0)  # a number of 32 bits fills the lower half
        result = self._get_current(ctypes.byref(before))
        if result:
            return result
        is_other = before.value != device.handle
        if is_other:
            result = self._set_current(device.handle)
            if result:
                return result
        try:
            return self._launch_all(device, slots, grids, stream)
        finally:
            if is_other:
                if self._restore is not None:
                    self._restore(ctypes.byref(before))
                else:
                    self._set_current(before.value)

    def _launch_all(self, device: LoadedDevice, slots: int, grids: int, stream: int) -> int:
        words = (ctypes.c_int64 * (self.kernels.n_slots + len(self.kernels.sizes))).from_address(slots)
        all_grids = (ctypes.c_int64 * (4 * len(self.kernels.entries))).from_address(grids)
        for number, entry in enumerate(self.kernels.entries):
            grid = all_grids[4 * number : 4 * number + 4]
            if 0 in grid[:3]:
                continue
            if any(not 0 <= size <= most for size, most in zip(grid, entry.most, strict=True)):
                result = BAD_GRID
            elif entry.start and entry.plain_start is None:
                result = self._start(device, number, entry, slots, grids + 32 * number, stream)
            else:
                result = self._launch_entry(device, number, entry, words, grid, stream)
            if result:
                return result + ENTRY_STEP * number
        return 0

    def _launch_entry(
        self, device: LoadedDevice, number: int, entry: DeviceEntry, words: Any, grid: list[int], stream: int
    ) -> int:
        start = ctypes.addressof(words)
        addresses = [start + 8 * i for i in range(self.kernels.n_parameters)]
        if entry.plain_start is not None:
            return entry.plain_start(device, number, words, grid, stream, addresses)
        parameters = (_POINTER * max(len(addresses), 1))(*addresses)
        return self._launch(device.functions[number], *grid[:3], *entry.threads, grid[3], stream, parameters, None)

    def _start(self, device: LoadedDevice, number: int, entry: DeviceEntry, slots: int, grid: int, stream: int) -> int:
        """The launch of an entry by the backend's own function in C."""
        count = self.kernels.n_slots
        parameters = (_POINTER * max(count + self.kernels.n_further, 1))(*(slots + 8 * i for i in range(count)))
        where = entry.start_entry, device.start_device, device.functions[number]
        return _START(entry.start)(*where, slots, grid, stream, parameters)
