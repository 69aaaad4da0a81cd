"""The launch through a driver's functions, in C and through ctypes, with a driver that is written here."""

from __future__ import annotations

import ctypes

import pytest

from tilecore.artifact.records import Artifact, Entry, ScalarParam
from tilecore.runtime import device_launch
from tilecore.runtime.device_kernels import (
    BAD_DEVICE,
    BAD_GRID,
    ENTRY_STEP,
    DeviceEntry,
    DeviceKernels,
    DriverFunctions,
    LaunchFailures,
    LoadedDevice,
)
from tilecore.tensors.dlpack import capsule_address

POINTER, INT = ctypes.c_void_p, ctypes.c_int
LAUNCH = ctypes.CFUNCTYPE(INT, POINTER, *[ctypes.c_uint] * 7, POINTER, POINTER, POINTER)
OF_POINTER, OF_NUMBER = ctypes.CFUNCTYPE(INT, POINTER), ctypes.CFUNCTYPE(INT, INT)
START = ctypes.CFUNCTYPE(INT, *[POINTER] * 7)


class Driver:
    """A driver with a current device in each thread, as a number; it notes its calls."""

    def __init__(self) -> None:
        self.current, self.calls, self.code = 7, [], 0
        self._kept = (LAUNCH(self._launch), OF_POINTER(self._get), OF_NUMBER(self._set))
        addresses = [ctypes.cast(function, POINTER).value or 0 for function in self._kept]
        self.functions = DriverFunctions(*addresses, numbered=True)

    def _launch(self, function, *sizes_and_rest):
        *sizes, stream, parameters, extra = sizes_and_rest
        slots = ctypes.cast(parameters, ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)))
        self.calls.append((function, tuple(sizes), stream, slots[0][0], slots[1][0], extra, self.current))
        return self.code

    def _get(self, out):
        ctypes.cast(out, ctypes.POINTER(INT))[0] = self.current
        return 0

    def _set(self, number):
        self.current = number
        return 0 if number < 9 else 101


class Failures(LaunchFailures):
    def driver_words(self, number, result):
        return f"driver code {result}"

    def driver_advice(self, result):
        return ""


class Kernels(DeviceKernels):
    def __init__(self, driver, entries):
        params = (ScalarParam("a", "int64"), ScalarParam("b", "int64"))
        artifact = Artifact(
            name="k", target="t", backend="b", adapter="a", params=params, symbols=(), workspaces=(),
            entries=tuple(Entry(f"k{i}", (1, 1, 1)) for i in range(len(entries))), out_idx=(), source="",
            source_format="c", binary=b"", binary_format="x",
        )  # fmt: skip
        super().__init__(artifact, driver.functions)
        self.entries = entries
        self.failures = Failures("k", [e.symbol for e in artifact.entries], ["9 blocks"] * len(entries))
        self.loads = []

    def load_on(self, index):
        self.loads.append(index)
        if index == 5:
            raise RuntimeError("there is no such device")
        return LoadedDevice(index, [0x100 + i for i in range(len(self.entries))], 0x500 + index)


@pytest.fixture(params=["built", "plain"])
def call(request, monkeypatch):
    """``call(kernels, grids, device, stream)`` with the slots 11 and 22."""
    if request.param == "plain":
        monkeypatch.setattr(device_launch, "_native", None)
    elif not device_launch.built()[0]:
        pytest.skip(device_launch.built()[1])

    def run(kernels, grids, device=7, stream=0x5000):
        launch, state, owner = device_launch.launch_of(kernels)
        assert callable(launch) == (request.param == "plain" or any(e.plain_start for e in kernels.entries))
        slots, all_grids = (ctypes.c_int64 * 2)(11, 22), (ctypes.c_int64 * len(grids))(*grids)
        where = (ctypes.addressof(slots), ctypes.addressof(all_grids), device, stream)
        if callable(launch):
            return launch(*where)
        signature = ctypes.PYFUNCTYPE(INT, POINTER, POINTER, POINTER, INT, POINTER)
        assert owner is not None
        return signature(capsule_address(launch, b"tilecore.launch_on_device"))(state, *where)

    return run


ENTRIES = (DeviceEntry((64, 2, 1), (9, 9, 9, 100)), DeviceEntry((32, 1, 1), (9, 9, 9, 100)))


def test_calls_of_the_driver(call):
    driver = Driver()
    kernels = Kernels(driver, ENTRIES)
    assert call(kernels, [1, 2, 3, 4, 5, 6, 7, 8]) == 0
    assert driver.calls == [
        (0x100, (1, 2, 3, 64, 2, 1, 4), 0x5000, 11, 22, None, 7),
        (0x101, (5, 6, 7, 32, 1, 1, 8), 0x5000, 11, 22, None, 7),
    ]
    assert call(kernels, [1, 1, 0, 0, 1, 1, 1, 0]) == 0
    assert driver.calls[2][0] == 0x101
    assert kernels.loads == [7]


def test_the_current_device_is_put_back(call):
    driver = Driver()
    assert call(Kernels(driver, ENTRIES[:1]), [1, 1, 1, 0], device=3) == 0
    assert (driver.calls[0][-1], driver.current) == (3, 7)
    driver.code = 700
    assert call(Kernels(driver, ENTRIES[:1]), [1, 1, 1, 0], device=3) == 700
    assert driver.current == 7
    assert call(Kernels(driver, ENTRIES[:1]), [1, 1, 1, 0], device=9) == 101  # the driver refuses to make it current


@pytest.mark.parametrize("grid", [(10, 1, 1, 0), (1, 10, 1, 0), (1, 1, 10, 0), (1, 1, 1, 101), (-1, 1, 1, 0)])
def test_limits(call, grid):
    driver = Driver()
    kernels = Kernels(driver, ENTRIES)
    code = call(kernels, [1, 1, 1, 0, *grid])
    assert code == BAD_GRID + ENTRY_STEP
    assert len(driver.calls) == 1
    assert kernels.failures.words(code) == "k1: the grid is too large: at most 9 blocks"
    assert "longer along x" in kernels.failures.advice(code)


def test_devices_that_do_not_exist(call):
    kernels = Kernels(Driver(), ENTRIES)
    for device in (-1, 64, 1000):
        assert call(kernels, [1, 1, 1, 0] * 2, device=device) == BAD_DEVICE
    assert kernels.loads == []
    code = call(kernels, [1, 1, 1, 0] * 2, device=5)
    assert kernels.failures.words(code) == "there is no such device"
    assert kernels.failures.words(code) == "the kernel cannot be loaded"


def test_a_launch_of_the_backends_own(call):
    """It gets what the backend gave for the entry and for the device; in Python it is a function."""
    driver, calls = Driver(), []

    def start(entry, device, function, slots, grid, stream, parameters):
        calls.append((entry, device, function, ctypes.cast(grid, ctypes.POINTER(ctypes.c_int64))[1], stream))
        return 77

    native = START(start)

    def plain(device, number, words, grid, stream, addresses):
        calls.append((0x40, device.start_device, device.functions[number], grid[1], stream))
        assert [*words] == [11, 22]
        assert len(addresses) == 2
        return 77

    address = ctypes.cast(native, POINTER).value
    for entry in (
        DeviceEntry((1, 1, 1), (9, 9, 9, 9), address, 0x40),
        DeviceEntry((1, 1, 1), (9, 9, 9, 9), plain_start=plain),
    ):
        assert call(Kernels(driver, (ENTRIES[0], entry)), [1, 1, 1, 0, 1, 2, 3, 0]) == 77 + ENTRY_STEP
        assert calls.pop() == (0x40, 0x507, 0x101, 2, 0x5000)
