"""Loading and launching with the stand-in runtime, through the compiled launch and through ctypes."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hip_artifacts import artifact
from tile_hip.adapter import CodeObjectAdapter, adapters
from tile_hip.driver import Driver, DriverError
from tile_hip.launch.module import KernelModule, describe

from tilecore.artifact.records import Entry, ScalarParam
from tilecore.errors import LaunchError, OtherDeviceError, UnsupportedError
from tilecore.runtime import device_launch
from tilecore.target import Target
from tilecore.tensors.dlpack import capsule_address

TARGET = Target("hip", {"arch": "gfx942"})


class HostTensors(CodeObjectAdapter):
    """As the real one, for tensors in the host's memory."""

    device = 1


@pytest.fixture(params=["built", "plain"])
def form(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(device_launch, "_native", None)
    elif not device_launch.built()[0]:
        pytest.skip(device_launch.built()[1])
    return request.param


@pytest.fixture
def adapter(fake, form):
    return HostTensors()


def launcher_of(kernel, adapter):
    from tilecore.runtime.launcher import Launcher

    return Launcher(kernel, adapter.load(kernel), adapter, 1)


def arrays():
    return np.zeros(64, np.float32), np.zeros(64, np.float32)


def test_a_launch(fake, adapter):
    kernel = launcher_of(artifact(), adapter)
    a, b = arrays()
    kernel(a, b, 2.5)
    assert fake.launches()[0].endswith("on 0 stream 0 shared 0")
    assert fake.launches()[1] == "grid 7 1 1 block 128 1 1"
    first, second, third = fake.slots(3)
    assert (first, second) == (a.ctypes.data, b.ctypes.data)
    assert struct.unpack("<f", struct.pack("<q", third)[:4])[0] == 2.5
    kernel(a, b, 1.0)
    journal = fake.journal()
    assert sum(line.startswith("load") for line in journal) == 1
    assert fake.library.fake_launches() == 2
    assert "capture mode 2" in journal
    assert not [line for line in journal if line.startswith(("set device", "synchronize"))]


def test_several_kernels_and_empty_grids(fake, adapter):
    entries = (Entry("first_a", (2, 3, 4), (32, 2, 1)), Entry("none_b", (0, 1, 1)), Entry("last_c", (1, 1, 1)))
    launcher_of(artifact(entries=entries), adapter)(*arrays(), 1.0)
    grids = [line for line in fake.launches() if line.startswith("grid")]
    assert grids == ["grid 2 3 4 block 32 2 1", "grid 1 1 1 block 1 1 1"]
    names = [chr(int(line.split()[1], 16) & 0xFF) for line in fake.launches() if line.startswith("launch")]
    assert names == ["a", "c"]


def native_call(loaded):
    """``call(slots, grids, device, stream)`` of a loaded kernel, whichever form it has."""
    if callable(loaded.launch):
        return loaded.launch
    pointer, number = ctypes.c_void_p, ctypes.c_int
    native = ctypes.CFUNCTYPE(number, pointer, pointer, pointer, number, pointer)(
        capsule_address(loaded.launch, b"tilecore.launch_on_device")
    )
    return lambda slots, grids, device, stream: native(loaded.state, slots, grids, device, stream)


def call(loaded, device=0, stream=0, grid=(1, 1, 1, 0), words=(1, 2, 3)):
    slots, grids = (ctypes.c_int64 * len(words))(*words), (ctypes.c_int64 * len(grid))(*grid)
    return native_call(loaded)(ctypes.addressof(slots), ctypes.addressof(grids), device, stream)


def test_several_devices(fake, form):
    fake.reset(3)
    loaded = HostTensors().load(artifact())
    for index in (0, 2, 2, 0):
        assert call(loaded, index) == 0
        assert fake.library.fake_current() == 0  # put back
    devices = [line.split()[3] for line in fake.launches() if line.startswith("launch")]
    assert devices == ["0", "2", "2", "0"]
    assert sum(line.startswith("load") for line in fake.journal()) == 2


@pytest.mark.parametrize("index", [5, -1, 64])
def test_a_device_that_is_not_there(fake, form, index):
    loaded = HostTensors().load(artifact())
    code = call(loaded, index)
    assert code
    assert "device" in str(loaded.error(code))
    assert fake.library.fake_launches() == 0


def test_streams_and_dynamic_lds(fake, form):
    loaded = HostTensors().load(artifact())
    assert call(loaded, 0, 0x5000, (3, 1, 1, 4096)) == 0
    assert fake.launches()[0].endswith("stream 5000 shared 4096")


def test_grids_count_threads_in_32_bits(fake, form):
    loaded = HostTensors().load(artifact())
    most = (2**32 - 1) // 128
    assert call(loaded, grid=(most, 65536, 65536, 0)) == 0
    assert "65536 along y and 65536 along z" in loaded.error(call(loaded, grid=(1, 1, 65537, 0)))
    code = call(loaded, grid=(most + 1, 1, 1, 0))
    assert f"the grid is too large: at most {most} blocks along x" in loaded.error(code)
    assert "more work" in loaded.advice(code)
    assert fake.library.fake_launches() == 1


def test_many_parameters(fake, form):
    """More parameters than fit into the stack memory of the launch."""
    loaded = HostTensors().load(artifact(params=tuple(ScalarParam(f"s{i}", "int64") for i in range(300))))
    fake.library.fake_slots_of(64)
    assert call(loaded, words=range(300)) == 0
    assert fake.slots(64) == list(range(64))


def test_a_failed_load_is_told_to_the_thread_that_failed(fake, form):
    loaded, codes = HostTensors().load(artifact()), []
    thread = threading.Thread(target=lambda: codes.append(call(loaded, 7)))
    thread.start()
    thread.join()
    assert loaded.error(codes[0]) == "the kernel cannot be loaded"


# -- failures ----------------------------------------------------------------------------------------------------------


def test_another_architecture(fake, adapter):
    fake.arch("gfx1100")
    with pytest.raises(LaunchError, match="scale was compiled for gfx942") as caught:
        adapter.load(artifact())
    assert caught.value.found == "device 0, Fake GPU 0 (gfx1100)"
    assert caught.value.hint == 'target="hip -arch=gfx1100"'
    fake.arch("gfx1030")
    with pytest.raises(LaunchError, match="tile-hip does not support gfx1030"):
        adapter.load(artifact())
    assert not [line for line in fake.journal() if line.startswith("load")]


def test_limits_of_a_device_that_is_not_current(fake, form):
    """AMD's runtime looks functions up on the current device, and ends the process where it is another one."""
    fake.reset(2)
    loaded = HostTensors().load(artifact(entry={"threads": (1024, 2, 1)}))
    fake.fail("hipModuleLaunchKernel", 9)
    code = call(loaded, 1)
    fake.library.hipSetDevice(1)
    assert "2048 threads in a block" in loaded.error(code)
    fake.library.hipSetDevice(0)


def test_a_second_device_of_another_architecture(fake, form):
    fake.reset(2)
    fake.arch("gfx942:sramecc+:xnack-,gfx90a:sramecc+:xnack-")
    loaded = HostTensors().load(artifact())
    code = call(loaded, 1)
    assert "device 1, Fake GPU 1 (gfx90a)" in str(loaded.error(code))


def test_a_code_object_that_is_refused(fake, adapter):
    fake.fail("hipModuleLoadData", 2)
    with pytest.raises(
        LaunchError, match="scale cannot be loaded on device 0: hipModuleLoadData failed: hipErrorOutOfMemory"
    ) as e:
        adapter.load(artifact())
    assert "free device memory" in str(e.value.hint)


def test_a_code_object_for_another_gpu_is_refused_by_its_launch(fake, adapter):
    """It is loaded, so that it can be inspected and exported."""
    fake.fail("hipModuleLoadData", 209)
    kernel = launcher_of(artifact(), adapter)
    for _ in range(2):
        with pytest.raises(OtherDeviceError, match="hipModuleLoadData failed: hipErrorNoBinaryForGpu") as e:
            kernel(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)
        assert "supports the GPU" in str(e.value.hint)


def test_too_much_lds(fake, adapter):
    with pytest.raises(LaunchError, match="scale_k needs 65500 bytes of LDS") as caught:
        adapter.load(artifact(entry={"shared_bytes": 65500}))
    assert "which has 65472 for a block" in str(caught.value.found)


def test_limits_are_named(fake, adapter):
    kernel = launcher_of(artifact(entry={"threads": (1024, 2, 1)}), adapter)
    fake.fail("hipModuleLaunchKernel", 1)
    with pytest.raises(LaunchError) as caught:
        kernel(*arrays(), 1.0)
    for part in (
        "scale_k: hipErrorInvalidValue (1): invalid argument",
        "2048 threads in a block, and the limit is 1024",
        "grids of at most 2147483647 x 65536 x 65536 blocks",
        "grid (7, 1, 1), threads (1024, 2, 1)",
    ):
        assert part in str(caught.value)


def test_registers_are_named(fake, adapter):
    fake.library.fake_threads(256)
    kernel = launcher_of(artifact(entry={"threads": (512, 1, 1)}), adapter)
    fake.fail("hipModuleLaunchKernel", 701)
    with pytest.raises(LaunchError, match="512 threads in a block, and with 168 registers each at most 256 fit"):
        kernel(*arrays(), 1.0)


@pytest.mark.parametrize(
    ("code", "hint"), [(719, "an earlier kernel may be the cause"), (900, "torch.cuda.graph"), (3, None)]
)
def test_what_to_do_about_failures(fake, adapter, code, hint):
    kernel = launcher_of(artifact(), adapter)
    fake.fail("hipModuleLaunchKernel", code)
    with pytest.raises(LaunchError, match="hipErrorLaunchFailure" if code == 719 else f"error {code}") as caught:
        kernel(*arrays(), 1.0)
    assert hint in caught.value.hint if hint else caught.value.hint is None
    assert "forgotten" in fake.journal()  # torch would take it for one of its own


def test_timer_and_synchronize(fake, adapter):
    timer = adapter.timer(0)
    timer.start()
    timer.stop()
    assert timer.elapsed() == 1.5
    del timer
    assert fake.journal().count("destroyed") == 2
    adapter.timer(0, "wall").start()
    assert "synchronize 0" in fake.journal()
    with pytest.raises(UnsupportedError, match="cannot time"):
        adapter.timer(0, "sundial")
    fake.fail("hipDeviceSynchronize", 719)
    with pytest.raises(LaunchError, match=r"a kernel failed on device 0: .*hipErrorLaunchFailure") as caught:
        adapter.synchronize(0)
    assert 'execution_backend="sim"' in str(caught.value.hint)


def test_the_capture_of_a_stream(fake, adapter):
    assert [adapter.capture(0, stream) for stream in (0, 0xCA0005, 2, 1)] == [0, 5, 0, 0]
    assert fake.journal() == ["forgotten"]


def test_figures_of_the_runtime(fake):
    module = KernelModule(artifact(), Driver())
    assert describe(module, 0) == {"scale_k": {"registers": 168, "scratch_bytes": 0, "static_shared_bytes": 64}}


# -- torch -------------------------------------------------------------------------------------------------------------


def torch_of(monkeypatch, hip=None, cuda=None, **core):
    build = SimpleNamespace(hip=hip, cuda=cuda)
    torch = SimpleNamespace(version=build, _C=SimpleNamespace(**core), __version__="9.9")
    monkeypatch.setitem(sys.modules, "torch", torch)


def test_streams_follow_torch(fake, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    adapter = CodeObjectAdapter()
    assert adapter.current_stream(1) == 0
    torch_of(monkeypatch, "6.4", _cuda_getCurrentRawStream=lambda index: 0x5000 + index)
    assert adapter.current_stream(1) == 0x5001  # torch was imported later
    torch_of(monkeypatch, None, "13.0", _cuda_getCurrentRawStream=lambda index: 0x5000 + index)
    assert CodeObjectAdapter().current_stream(1) == 0  # a stream of CUDA


@pytest.mark.parametrize(("cuda", "words"), [("13.0", "for CUDA 13.0"), (None, "for processors only")])
def test_a_torch_that_is_not_for_rocm(fake, monkeypatch, cuda, words):
    torch_of(monkeypatch, None, cuda)
    present = CodeObjectAdapter().available(TARGET)
    assert present.present
    assert present.detail == f"Fake GPU 0 (gfx942), HIP 6.3; torch 9.9 is built {words}, not for ROCm"
    with pytest.raises(LaunchError, match=f"torch 9.9 is built {words}, not for ROCm"):
        CodeObjectAdapter().empty((2,), "float32")


# -- the runtime and its devices ---------------------------------------------------------------------------------------


def test_devices_are_listed(fake, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    fake.reset(3)
    fake.arch("gfx90a:sramecc+:xnack-,gfx942:sramecc+:xnack-")
    assert CodeObjectAdapter().available(TARGET).detail == "Fake GPU 0 (gfx90a) and 2 more, HIP 6.3"
    present = CodeObjectAdapter().available(Target("hip", {"arch": "gfx1201"}))
    assert (present.present, present.detail) == (
        False,
        'there is no gfx1201 here, but gfx90a, gfx942: use target="hip"',
    )


def test_no_gpu(fake, monkeypatch):
    fake.reset(0)
    present = CodeObjectAdapter().available(TARGET)
    assert not present.present
    assert present.detail.startswith(f"there is no AMD GPU: the HIP runtime {fake.path} finds no GPU (hipErrorNoDevice")
    with pytest.raises(LaunchError, match=r"scale cannot be loaded: the HIP runtime .* finds no GPU"):
        CodeObjectAdapter().load(artifact())
    fake.fail("hipInit", 101)
    with pytest.raises(DriverError, match=r"finds no GPU \(hipErrorInvalidDevice \(101\)\)"):
        Driver()
    fake.fail("hipInit", 3)
    with pytest.raises(DriverError, match="hipInit failed: error 3"):
        Driver()


def test_a_door_that_is_closed(tmp_path, monkeypatch):
    import os

    from tile_hip.permission import permission_problem

    assert permission_problem(tmp_path / "none") == ""
    (tmp_path / "kfd").touch()
    assert permission_problem(tmp_path / "kfd") == ""
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may open everything
    assert "groups render and video" in permission_problem(tmp_path / "kfd")


def test_a_runtime_that_is_too_old(fake):
    fake.library.fake_version(50221153)
    with pytest.raises(DriverError, match=r"is 5\.2, which is too old: tile-hip needs 6\.0 or newer, .* version 5"):
        Driver()


def test_a_runtime_that_cannot_be_opened(fake, monkeypatch, tmp_path):
    monkeypatch.setenv("TILE_HIP_RUNTIME", str(tmp_path / "libamdhip64.so"))
    with pytest.raises(DriverError, match=r"TILE_HIP_RUNTIME names .* which cannot be opened"):
        Driver()
    monkeypatch.setenv("TILE_HIP_RUNTIME", ctypes.util.find_library("m") or "libm.so.6")
    with pytest.raises(DriverError, match="is no HIP runtime: it has no hipGetErrorName"):
        Driver()


def test_names():
    assert [adapter.name for adapter in adapters()] == ["hip", "sim"]
    assert adapters()[0].binary_formats() == ("hsaco",)
    assert adapters()[0].torch_device(2) == "cuda:2"
