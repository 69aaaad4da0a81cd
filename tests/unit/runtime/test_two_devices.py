"""Two devices in one process: a kernel runs where its tensors are, and what it makes is there too."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, PluginError
from tilecore.jit.compile import _kernels
from tilecore.plugins import manager

sys.path.append(str(Path(__file__).parents[2] / "fixtures" / "twin_backend"))
from tile_twin import DEVICE, DEVICES, DeviceTensor, Twin, TwinAdapter

N = T.dynamic("n")


@T.prim_func
def scale(X: T.Tensor((N, 4), "float32"), s: T.float32, Y: T.Tensor((N, 4), "float32")):
    with T.Kernel(T.ceildiv(N, 4)) as b:
        for i, j in T.Parallel(4, 4):
            Y[b * 4 + i, j] = X[b * 4 + i, j] * s


@T.prim_func
def by_workspace(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    W = T.alloc_global((64,), "float32")
    with T.Kernel(4) as b:
        for i in T.Parallel(16):
            W[b * 16 + i] = X[b * 16 + i] + 1.0
    with T.Kernel(4) as b:
        for i in T.Parallel(16):
            Y[b * 16 + i] = W[63 - b * 16 - i]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("TILECORE_DISABLE_CACHE", "1")


class Backend:
    """What a test works with: ``make`` compiles a kernel for a launcher's class; ``inner`` is the plugin's adapter."""

    def __init__(self, kind, adapter):
        self.kind, self.inner = kind, adapter

    def make(self, func, **options):
        _kernels.clear()  # those of another test's adapter
        compiled = tilecore.compile(func, target="twin", **options)
        self.inner.loads.clear()
        return self.kind(compiled.artifact, compiled.adapter.load(compiled.artifact), compiled.adapter, DEVICE)


@pytest.fixture
def twin(kind):
    plugin = Twin()
    with manager.register(plugin, package="tile-twin"):
        yield Backend(kind, plugin.adapter)


def tensor(index, rows=5, start=0.0):
    return DeviceTensor(np.arange(start, start + 4 * rows, dtype=np.float32).reshape(rows, 4), index)


def test_one_kernel_on_both_in_turn(twin):
    kernel = twin.make(scale)
    for number in range(8):
        x, y = tensor(number % 2, 3 + number), tensor(number % 2, 3 + number)
        kernel(x, float(number), y)
        np.testing.assert_array_equal(y.array, x.array * number)
        launch = twin.inner.launches[-1]
        assert (launch.device, launch.stream) == (number % 2, twin.inner.current_stream(number % 2))
        assert launch.tensors[:2] == (x.address, y.address)
    assert twin.inner.loads == [0, 1], "once on each device"
    assert twin.inner.current_stream(0) != twin.inner.current_stream(1)


def test_outputs_are_where_the_inputs_are(twin):
    kernel = twin.make(scale, out_idx=-1)
    for index in (1, 0, 1):
        x = tensor(index)
        y = kernel(x, 3.0)
        assert (type(y), y.index) == (DeviceTensor, index)
        assert twin.inner.made[-1] == (index, y.address)
        np.testing.assert_array_equal(y.array, x.array * 3)


def test_workspaces_are_where_the_inputs_are(twin):
    kernel = twin.make(by_workspace)
    for index in (0, 1, 0, 1, 1):
        x = DeviceTensor(np.arange(64, dtype=np.float32) + 100 * index, index)
        y = DeviceTensor(np.zeros(64, np.float32), index)
        kernel(x, y)
        np.testing.assert_array_equal(y.array, x.array[::-1] + 1)
    assert [device for device, _ in twin.inner.made] == [0, 1], "each is kept for its device"


@pytest.mark.parametrize("out_idx", [None, -1])
def test_tensors_of_two_devices_in_one_call(twin, out_idx):
    two = twin.make(scale)
    with pytest.raises(ArgumentError) as caught:
        two(tensor(1), 2.0, tensor(0))
    assert caught.value.message == "scale(): X is on DLPack device 12:1 but Y is on DLPack device 12:0"
    with pytest.raises(ArgumentError, match="X is on the wrong device") as caught:
        two(np.zeros((5, 4), np.float32), 2.0, tensor(1))
    assert "twin" in str(caught.value)
    with pytest.raises(ArgumentError, match="Y is on the wrong device"):
        two(tensor(1), 2.0, np.zeros((5, 4), np.float32))
    assert (twin.inner.launches, twin.inner.made) == ([], [])


def test_threads_with_a_device_each(twin):
    kernel, rounds = twin.make(scale, out_idx=-1), 40
    start = threading.Barrier(8)

    def work(number):
        """Its streams, and what it computed; a thread takes both devices in turn, each another one first."""
        start.wait(30)
        streams = [twin.inner.current_stream(index) for index in range(DEVICES)]
        for step in range(rounds):
            index = (number + step) % DEVICES
            x = tensor(index, 1 + (number + step) % 7, float(number))
            y = kernel(x, float(step))
            assert y.index == index
            np.testing.assert_array_equal(y.array, x.array * step)
        return threading.get_ident(), streams

    with ThreadPoolExecutor(8) as pool:
        streams = dict(pool.map(work, range(8), timeout=120))
    assert sorted(twin.inner.loads) == [0, 1]
    assert len(twin.inner.launches) == 8 * rounds
    for launch in twin.inner.launches:
        assert launch.stream == streams[launch.thread][launch.device]
    assert len({stream for both in streams.values() for stream in both}) == 2 * len(streams)


def elsewhere(adapter, shape, dtype, index):
    return TwinAdapter.empty(adapter, shape, dtype, 1 - index)


WRONG = {
    "returned a wrong value": lambda adapter, shape, dtype, index: None,
    "X is on DLPack device 12:1 but Y is on DLPack device 12:0": elsewhere,
    "shape (4, 5)": lambda adapter, shape, dtype, index: TwinAdapter.empty(adapter, shape[::-1], dtype, index),
    "int32": lambda adapter, shape, dtype, index: TwinAdapter.empty(adapter, shape, "int32", index),
    "numpy array": lambda adapter, shape, dtype, index: np.zeros(shape, dtype),
}


@pytest.mark.parametrize("words", WRONG)
def test_an_output_that_does_not_fit_is_the_adapters_fault(kind, words):
    class Wrong(TwinAdapter):
        def empty(self, shape, dtype, device_index=0):
            return WRONG[words](self, shape, dtype, device_index)

    plugin = Twin(Wrong())
    with manager.register(plugin, package="tile-twin", version="1.5"):
        kernel = Backend(kind, plugin.adapter).make(scale, out_idx=-1)
        with pytest.raises(PluginError, match=r"package tile-twin 1\.5\): twin\.empty") as caught:
            kernel(tensor(1), 2.0)
    assert words in str(caught.value) or words == "numpy array"
    assert "pip install --upgrade tile-twin" in caught.value.hint
    assert plugin.adapter.launches == []
