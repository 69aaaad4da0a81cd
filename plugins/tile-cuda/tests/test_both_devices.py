"""Two GPUs in one process, against a driver without a GPU: every launch is in the context of its tensors' device."""

from __future__ import annotations

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cuda_artifacts import artifact
from tile_cuda import launch
from tile_cuda.adapter import DriverAdapter
from tile_cuda.driver import Driver
from tile_cuda.launch.tensor_maps import TensorMap

from tilecore.artifact.records import Artifact
from tilecore.errors import ArgumentError
from tilecore.runtime import device_launch
from tilecore.runtime.launcher import Launcher
from tilecore.tensors import dlpack

GPU = 2  # DLPack's type
STREAMS = 0x5000
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class OnGpu:
    """Host memory that says it is a GPU's; at a multiple of 64 bytes, as tensor maps want it."""

    def __init__(self, index, count=64):
        self.memory = np.zeros(count + 16, np.float32)
        start = (-self.memory.ctypes.data % 64) // 4
        self.array, self.index = self.memory[start : start + count], index
        self._shape, self._strides = (ctypes.c_int64 * 1)(count), (ctypes.c_int64 * 1)(1)
        pointer = ctypes.POINTER(ctypes.c_int64)
        tensor = dlpack.Tensor(
            self.address, dlpack.Device(GPU, index), 1, dlpack.ElementType(2, 32, 1),
            ctypes.cast(self._shape, pointer), ctypes.cast(self._strides, pointer), 0,
        )  # fmt: skip
        self._managed = dlpack.Managed(tensor, None, None)

    @property
    def address(self):
        return self.array.ctypes.data

    def __dlpack_device__(self):
        return GPU, self.index

    def __dlpack__(self, **_options):
        return _capsule(ctypes.addressof(self._managed), b"dltensor", None)


class TwoGpus(DriverAdapter):
    """As the real one; each device has a stream of its own, and outputs are made as tensors here."""

    def __init__(self, driver):
        super().__init__("cython", lambda: driver)
        self._raw_stream = lambda index: STREAMS + index

    def empty(self, shape, dtype, device_index=0):
        return OnGpu(device_index, *shape)


@pytest.fixture(params=["built", "plain"])
def driver(request, monkeypatch, fake):
    """The driver of two GPUs; launches by the built extension and by ctypes."""
    if request.param == "built" and not launch.built()[0]:
        pytest.skip(launch.built()[1])
    if request.param == "plain":
        monkeypatch.setattr(launch, "_native", None)
        monkeypatch.setattr(device_launch, "_native", None)
    fake.reset(2)
    fake.library.fake_slots_of(3)
    return Driver(fake.path)


def launcher_of(artifact_to_launch, driver):
    adapter = TwoGpus(driver)
    return Launcher(artifact_to_launch, adapter.load(artifact_to_launch), adapter, GPU)


def with_map():
    maps = [TensorMap(0, "float32", (64,), (), (32,), name="A").to_json()]
    kernel = artifact(entry={"attributes": {"tensor_maps": maps}})
    return Artifact.from_json(kernel.to_json(), kernel.source, kernel.binary)


def went(fake, line_start="tensor"):
    """(address, context) of every launch's first tensor, or of its tensor map; and its stream."""
    lines = [line.split() for line in fake.journal() if line.startswith(line_start)]
    if line_start == "tensor":
        return [(int(w[1], 16), int(w[3], 16) - 0xC000, int(w[5], 16)) for w in lines]
    return [(int(w[2], 16), int(w[4], 16) - 0xC000) for w in lines]


def loads(fake):
    return sorted(line.split()[2].rstrip(":") for line in fake.journal() if line.startswith("load"))


def test_alternating_devices(fake, driver):
    kernel = launcher_of(artifact(), driver)
    expected = []
    for index in (0, 1, 1, 0, 1):
        a, b = OnGpu(index), OnGpu(index)
        kernel(a, b, 1.0)
        expected.append((a.address, index, STREAMS + index))
    assert went(fake) == expected
    assert loads(fake) == ["c000", "c001"]


def test_an_output_is_on_the_device_of_the_inputs(fake, driver):
    kernel = launcher_of(artifact(out_idx=(1,)), driver)
    for index in (1, 0):
        output = kernel(OnGpu(index), 1.0)
        assert (type(output), output.index) == (OnGpu, index)


@pytest.mark.parametrize("current", [None, 0, 1])
def test_the_context_of_the_caller_is_current_again(fake, driver, current):
    kernel = launcher_of(artifact(), driver)
    if current is not None:
        fake.library.cuCtxPushCurrent_v2(ctypes.c_void_p(driver.context(current)))
    depth, context = fake.library.fake_depth(), driver.current_context()
    for index in (1, 0, 1):
        kernel(OnGpu(index), OnGpu(index), 1.0)
        assert (fake.library.fake_depth(), driver.current_context()) == (depth, context)
    fake.fail("cuLaunchKernel", 719)
    with pytest.raises(Exception, match="CUDA_ERROR_LAUNCH_FAILED"):
        kernel(OnGpu(1), OnGpu(1), 1.0)
    assert (fake.library.fake_depth(), driver.current_context()) == (depth, context)
    fake.reset(2)


def test_tensors_of_two_devices_in_one_call(fake, driver):
    kernel = launcher_of(artifact(), driver)
    with pytest.raises(ArgumentError, match="A is on DLPack device 2:0 but B is on DLPack device 2:1"):
        kernel(OnGpu(0), OnGpu(1), 1.0)
    with pytest.raises(ArgumentError, match="B is on the wrong device"):
        kernel(OnGpu(0), np.zeros(64, np.float32), 1.0)
    assert fake.library.fake_launches() == 0


def test_tensor_maps_follow_the_tensors(fake, driver):
    fake.library.fake_maps_of(1)
    kernel = launcher_of(with_map(), driver)
    pairs = [(OnGpu(index), OnGpu(index)) for index in (0, 1, 0, 1)]
    for _ in range(2):
        for a, b in pairs:
            kernel(a, b, 1.0)
    assert went(fake, "map of") == 2 * [(a.address, a.index) for a, _ in pairs]
    assert fake.library.fake_encoded() == len(pairs), "each is made once"


def test_threads_alternate_between_devices(fake, driver):
    """The first launches meet: the kernel is loaded once on each device all the same."""
    fake.library.fake_maps_of(1)
    kernel, rounds = launcher_of(with_map(), driver), 25
    start = threading.Barrier(4)

    def work(number):
        start.wait(30)
        tensor_pairs = []
        for step in range(rounds):
            a, b = (OnGpu((number + step) % 2) for _ in range(2))
            kernel(a, b, 1.0)
            tensor_pairs.append((a, b))
        return tensor_pairs, driver.current_context(), fake.library.fake_depth()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(4), timeout=60))
    assert [(context, depth) for _, context, depth in results] == [(0, 0)] * 4
    expected = sorted((a.address, a.index, STREAMS + a.index) for pairs, _, _ in results for a, _ in pairs)
    assert sorted(went(fake)) == expected
    assert sorted(went(fake, "map of")) == [(address, index) for address, index, _ in expected]
    assert loads(fake) == ["c000", "c001"]
    assert fake.library.fake_launches() == 4 * rounds


def test_each_device_is_waited_for_by_itself(fake, driver):
    adapter = TwoGpus(driver)
    for index in (1, 0):
        adapter.synchronize(index)
        timer = adapter.timer(index)
        timer.start()
        timer.stop()
        assert timer.elapsed() == 1.5
    recorded = [line for line in fake.journal() if line.startswith("record")]
    assert recorded == [f"record on {STREAMS + index:x}" for index in (1, 1, 0, 0)]
