"""Loading and launching with the fake driver, through the compiled extension and through ctypes."""

from __future__ import annotations

import ctypes
import struct
import threading

import numpy as np
import pytest
from cuda_artifacts import artifact
from tile_cuda import launch
from tile_cuda.adapter import NAMES, DriverAdapter
from tile_cuda.driver import Driver, DriverError
from tile_cuda.execution_backends import adapters

from tilecore.artifact.records import Entry
from tilecore.errors import LaunchError, OtherDeviceError, UnsupportedError
from tilecore.runtime import device_launch
from tilecore.target import Target

TARGET = Target("cuda", {"arch": "sm_90a"})


class HostTensors(DriverAdapter):
    """As the real one, for tensors in the host's memory."""

    device = 1


@pytest.fixture(params=["built", "plain"])
def form(request, monkeypatch):
    if request.param == "built":
        if not launch.built()[0]:
            pytest.skip(launch.built()[1])
    else:
        monkeypatch.setattr(launch, "_native", None)
        monkeypatch.setattr(device_launch, "_native", None)
    return request.param


@pytest.fixture
def adapter(fake, form):
    driver = Driver(fake.path)
    return HostTensors("cython", lambda: driver)


def launcher_of(kernel, adapter):
    from tilecore.runtime.launcher import Launcher

    return Launcher(kernel, adapter.load(kernel), adapter, 1)


def test_a_launch(fake, adapter):
    fake.library.fake_slots_of(3)
    kernel = launcher_of(artifact(), adapter)
    a, b = np.zeros(64, np.float32), np.zeros(64, np.float32)
    kernel(a, b, 2.5)
    assert fake.launches()[0].endswith("on c000 stream 0 shared 0")
    assert fake.launches()[1] == "grid 7 1 1 block 128 1 1"
    first, second, third = fake.slots(3)
    assert (first, second) == (a.ctypes.data, b.ctypes.data)
    assert struct.unpack("<f", struct.pack("<q", third)[:4])[0] == 2.5
    kernel(a, b, 1.0)
    assert sum(line.startswith("load") for line in fake.journal()) == 1
    assert fake.library.fake_launches() == 2
    assert "capture mode 2" in fake.journal()


def test_the_capture_of_a_stream(adapter):
    assert [adapter.capture(0, stream) for stream in (0, 0xCA0005, 2, 1)] == [0, 5, 0, 0]


def test_big_shared_memory_is_asked_for(fake, adapter):
    fake.library.fake_slots_of(3)
    kernel = launcher_of(artifact(entry={"shared_bytes": 100_000}), adapter)
    kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)
    assert "attribute 8 = 100000" in fake.journal()
    assert fake.launches()[0].endswith("shared 100000")


def test_more_shared_memory_than_there_is(fake, adapter):
    kernel = launcher_of(artifact(entry={"shared_bytes": 300_000}), adapter)
    with pytest.raises(LaunchError, match="scale_k needs 300000 bytes of shared memory"):
        kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)
    assert fake.library.fake_launches() == 0


def test_several_kernels_and_empty_grids(fake, adapter):
    fake.library.fake_slots_of(3)
    entries = (Entry("first_a", (2, 3, 4), (32, 2, 1)), Entry("none_b", (0, 1, 1)), Entry("last_c", (1, 1, 1)))
    kernel = launcher_of(artifact(entries=entries), adapter)
    kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)
    grids = [line for line in fake.launches() if line.startswith("grid")]
    assert grids == ["grid 2 3 4 block 32 2 1", "grid 1 1 1 block 1 1 1"]
    names = [chr(int(line.split()[1], 16) & 0xFF) for line in fake.launches() if line.startswith("launch")]
    assert names == ["a", "c"]


def test_limits_are_named(fake, adapter):
    kernel = launcher_of(artifact(entry={"threads": (1024, 2, 1)}), adapter)
    fake.fail("cuLaunchKernel", 1)
    with pytest.raises(LaunchError) as caught:
        kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)
    words = str(caught.value)
    for part in ("scale_k: CUDA_ERROR_INVALID_VALUE (1): invalid argument",
                 "2048 threads in a block, and the limit is 1024",
                 "grid (7, 1, 1), threads (1024, 2, 1)"):  # fmt: skip
        assert part in words


def test_registers_are_named(fake, adapter):
    kernel = launcher_of(artifact(entry={"threads": (768, 1, 1)}), adapter)
    fake.fail("cuLaunchKernel", 701)
    with pytest.raises(LaunchError, match="768 threads in a block, and with 168 registers each at most 512 fit"):
        kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)


def test_the_kernel_that_failed_is_named(fake, adapter):
    entries = (Entry("first_a", (1, 1, 1)), Entry("second_b", (1, 70000, 1)))
    kernel = launcher_of(artifact(entries=entries), adapter)
    with pytest.raises(LaunchError, match=r"second_b: the grid is too large: .* 65535 along y"):
        kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)


@pytest.mark.parametrize(
    ("code", "name"), [(700, "CUDA_ERROR_ILLEGAL_ADDRESS"), (716, "error 716"), (719, "CUDA_ERROR_LAUNCH_FAILED")]
)
def test_failures_of_kernels_before(fake, adapter, code, name):
    """The device reports them at the next call, or at a synchronization."""
    kernel = launcher_of(artifact(), adapter)
    fake.fail("cuLaunchKernel", code)
    with pytest.raises(LaunchError) as caught:
        kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)
    assert f"scale failed: scale_k: {name}" in str(caught.value)
    assert "an earlier kernel may be the cause" in caught.value.hint
    fake.fail("cuCtxSynchronize", code)
    with pytest.raises(LaunchError, match=f"a kernel failed on device 0: cuCtxSynchronize failed: {name}") as caught:
        adapter.synchronize(0)
    assert 'execution_backend="sim"' in caught.value.hint


@pytest.mark.parametrize(
    ("code", "hint"), [(1, "what the device has"), (701, "-max_registers=N"), (900, "torch.cuda.graph"), (3, None)]
)
def test_what_to_do_about_failures(fake, adapter, code, hint):
    kernel = launcher_of(artifact(), adapter)
    fake.fail("cuLaunchKernel", code)
    with pytest.raises(LaunchError) as caught:
        kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)
    assert hint in caught.value.hint if hint else caught.value.hint is None


def test_assertions_are_remembered(fake, adapter):
    kernel = launcher_of(artifact(entry={"attributes": {"assertions": ["n is even (k.py:3:5)"]}}), adapter)
    fake.fail("cuLaunchKernel", 719)
    with pytest.raises(LaunchError, match=r"CUDA_ERROR_LAUNCH_FAILED .* n is even \(k.py:3:5\)"):
        kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)


@pytest.mark.parametrize("is_current", [False, True])
def test_a_binary_for_another_gpu(fake, adapter, is_current):
    """It is loaded, also where a context is current, so that it can be inspected and exported; its launch fails."""
    fake.fail("cuModuleLoadData", 209)
    if is_current:
        adapter._driver().inside(0).__enter__()
    kernel = launcher_of(artifact(target="cuda -arch=sm_80"), adapter)
    for _ in range(2):
        with pytest.raises(OtherDeviceError, match="compiled for another GPU") as caught:
            kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)
        assert "sm_90" in str(caught.value)


def native_call(loaded):
    """``call(slots, grids, device, stream)`` of a loaded kernel, whichever form it has."""
    if callable(loaded.launch):
        return loaded.launch
    from tilecore.tensors.dlpack import capsule_address

    pointer, number = ctypes.c_void_p, ctypes.c_int
    native = ctypes.CFUNCTYPE(number, pointer, pointer, pointer, number, pointer)(
        capsule_address(loaded.launch, b"tilecore.launch_on_device")
    )
    return lambda slots, grids, device, stream: native(loaded.state, slots, grids, device, stream)


def test_several_devices(fake, form):
    fake.reset(3)
    fake.library.fake_slots_of(3)
    driver = Driver(fake.path)
    function = native_call(HostTensors("cython", lambda: driver).load(artifact()))
    slots, grids = (ctypes.c_int64 * 3)(1, 2, 3), (ctypes.c_int64 * 4)(1, 1, 1, 0)
    for index in (0, 2, 2, 0):
        assert function(ctypes.addressof(slots), ctypes.addressof(grids), index, 0) == 0
    contexts = [line.split()[3] for line in fake.launches() if line.startswith("launch")]
    assert contexts == ["c000", "c002", "c002", "c000"]
    assert sum(line.startswith("load") for line in fake.journal()) == 2
    assert driver.current_context() == 0  # put back


@pytest.mark.parametrize("index", [5, -1, 64])
def test_a_device_that_is_not_there(fake, form, index):
    driver = Driver(fake.path)
    loaded = HostTensors("cython", lambda: driver).load(artifact())
    slots, grids = (ctypes.c_int64 * 3)(), (ctypes.c_int64 * 4)(1, 1, 1, 0)
    code = native_call(loaded)(ctypes.addressof(slots), ctypes.addressof(grids), index, 0)
    assert code
    assert "device" in str(loaded.error(code))
    assert fake.library.fake_launches() == 0


def test_a_failed_load_is_told_to_the_thread_that_failed(fake, form):
    driver = Driver(fake.path)
    loaded = HostTensors("cython", lambda: driver).load(artifact())
    function, codes = native_call(loaded), []
    slots, grids = (ctypes.c_int64 * 3)(), (ctypes.c_int64 * 4)(1, 1, 1, 0)
    thread = threading.Thread(
        target=lambda: codes.append(function(ctypes.addressof(slots), ctypes.addressof(grids), 7, 0))
    )
    thread.start()
    thread.join()
    assert "device 7" not in str(loaded.error(codes[0]))
    assert "cannot be loaded" in str(loaded.error(codes[0]))


def test_many_parameters(fake, form):
    """More parameters than fit into the stack memory of the launch."""
    from tilecore.artifact.records import ScalarParam

    driver = Driver(fake.path)
    adapter = HostTensors("cython", lambda: driver)
    params = tuple(ScalarParam(f"s{i}", "int64") for i in range(300))
    loaded = adapter.load(artifact(params=params))
    function = native_call(loaded)
    slots, grids = (ctypes.c_int64 * 300)(*range(300)), (ctypes.c_int64 * 4)(1, 1, 1, 0)
    fake.library.fake_slots_of(64)
    assert function(ctypes.addressof(slots), ctypes.addressof(grids), 0, 0) == 0
    assert fake.slots(64) == list(range(64))


def test_streams_follow_torch(fake, form, monkeypatch):
    import sys
    import types

    driver = Driver(fake.path)
    core = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda index: 0x5000 + index)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(_C=core))
    adapter = DriverAdapter("cython", lambda: driver)
    assert adapter.current_stream(1) == 0x5001
    other = types.SimpleNamespace(core=types.SimpleNamespace(_env_get_current_stream=lambda kind, index: 0x7000))
    monkeypatch.setitem(sys.modules, "tvm_ffi", other)
    assert DriverAdapter("tvm_ffi", lambda: driver).current_stream(0) == 0x7000
    assert DriverAdapter("dlpack", lambda: driver).current_stream(0) == 0x5000


def test_timer_and_synchronize(fake, adapter):
    timer = adapter.timer(0)
    timer.start()
    timer.stop()
    assert timer.elapsed() == 1.5
    del timer
    assert fake.journal().count("destroyed") == 2
    adapter.synchronize(0)
    assert "synchronize" in fake.journal()
    with pytest.raises(UnsupportedError, match="cannot time"):
        adapter.timer(0, "sundial")
    fake.fail("cuCtxSynchronize", 719)
    with pytest.raises(LaunchError, match="CUDA_ERROR_LAUNCH_FAILED"):
        adapter.synchronize(0)


@pytest.mark.parametrize("name", ["nvrtc", "nvcc"])
def test_a_backend_without_its_compiler(fake, monkeypatch, name):
    """The other execution backends use the installed compiler; a kernel from the cache needs none."""
    from tile_cuda import nvcc, nvrtc

    from tilecore.errors import ToolchainError

    def missing():
        raise ToolchainError("it was not found", hint="pip install it")

    driver = Driver(fake.path)
    for module in (nvrtc, nvcc):
        monkeypatch.setattr(module, "load", missing)
    present = DriverAdapter(name, lambda: driver).available(TARGET)
    assert (present.present, present.detail) == (False, "it was not found; pip install it")
    assert DriverAdapter("cython", lambda: driver).available(TARGET).present
    monkeypatch.setattr(nvrtc if name == "nvrtc" else nvcc, "load", lambda: object())
    assert DriverAdapter(name, lambda: driver).available(TARGET).present


def test_devices_are_counted(fake):
    fake.reset(3)
    driver = Driver(fake.path)
    assert DriverAdapter("cython", lambda: driver).available(TARGET).detail == "Fake GPU 0 and 2 more"
    fake.reset(0)
    present = DriverAdapter("cython", lambda: driver).available(TARGET)
    assert (present.present, present.detail) == (False, "the driver shows no device")


def test_no_driver():
    def missing():
        return Driver("libno_such_driver.so.1")

    adapter = DriverAdapter("cython", missing)
    present = adapter.available(TARGET)
    assert not present.present
    assert "libno_such_driver.so.1 cannot be opened" in present.detail
    with pytest.raises(LaunchError, match="cannot be loaded"):
        adapter.load(artifact())


def test_a_driver_that_does_not_start(fake):
    fake.fail("cuInit", 100)
    with pytest.raises(DriverError, match="cuInit failed: error 100"):
        Driver(fake.path)


def test_names():
    all_adapters = adapters()
    assert [a.name for a in all_adapters][: len(NAMES)] == list(NAMES)
    assert all(a.binary_formats() == ("cubin",) for a in all_adapters[: len(NAMES)])
    assert all_adapters[0].torch_device(2) == "cuda:2"
