"""T.print and T.device_assert: the stand-in runtime runs the real header on the host, the launch reads its records."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hip_artifacts import PRINTS, artifact
from tile_hip.adapter import CodeObjectAdapter
from tile_hip.launch import messages

import tilecore
import tilecore.language as T
from tilecore.errors import LaunchError
from tilecore.runtime.launcher import Launcher

QUIET, TALKS, ASSERTS, OVERFLOWS = range(4)  # what the kernels of fake_hip.cpp do
TEXTS = ["n is even (k.py:3:5)", "the block is one of two (k.py:4:5)"]


class HostTensors(CodeObjectAdapter):
    """As the real one, for tensors in the host's memory."""

    device = 1


@pytest.fixture
def kernel(fake):
    """``kernel(behaviour)`` launches 7 blocks."""
    compiled = artifact(binary=PRINTS, entry={"attributes": {"assertions": TEXTS}})
    adapter = HostTensors()
    launcher = Launcher(compiled, adapter.load(compiled), adapter, 1)

    def run(behaviour):
        fake.library.fake_behaviour(behaviour)
        launcher(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)

    run.adapter = adapter
    return run


def test_prints(kernel, capfd):
    kernel(QUIET)
    assert capfd.readouterr() == ("", "")
    for _ in range(2):  # the variable is emptied
        kernel(TALKS)
        lines = capfd.readouterr().out.splitlines()
        assert lines == [line for i in range(7) for line in (f"block {i - 1}: {2**64 - 1}, 0.1, 100%", "none")]


def test_more_prints_than_fit(kernel, capfd):
    kernel(OVERFLOWS)
    out, err = capfd.readouterr()
    lines = out.splitlines()
    lost = 7 * 40000 - len(lines)
    assert lines == [f"a line of some length: {i}" for i in range(len(lines))]
    assert 20_000 < len(lines) < 40_000
    assert err == f"tile-hip: {lost} more prints of scale found no room and are lost\n"
    kernel(TALKS)
    assert len(capfd.readouterr().out.splitlines()) == 14


def test_a_failed_assertion(kernel, fake):
    with pytest.raises(LaunchError) as caught:
        kernel(ASSERTS)
    words = "device assertion failed: the block is one of two (k.py:4:5) in block (2, 0, 0), thread (5, 0, 0)"
    assert f"scale failed: scale_k: {words}; 4 more failed" in str(caught.value)
    kernel(QUIET)  # the next launch is right again
    assert fake.library.fake_launches() == 2


def test_the_launch_waits_only_where_kernels_write(kernel, fake):
    def waits():
        return fake.journal().count("synchronize stream 0")

    kernel(QUIET)
    before = waits()
    assert before
    quiet, adapter = artifact(), HostTensors()
    Launcher(quiet, adapter.load(quiet), adapter, 1)(np.zeros(64, np.float32), np.zeros(64, np.float32), 1.0)
    assert waits() == before
    assert fake.library.fake_launches() == 2
    fake.fail("hipStreamSynchronize", 719)
    with pytest.raises(LaunchError, match="hipErrorLaunchFailure"):
        kernel(QUIET)


def test_a_captured_launch(kernel, fake, capfd, monkeypatch):
    """Nothing can wait while a stream is captured; what replays write comes with the next synchronization."""
    monkeypatch.setattr(HostTensors, "current_stream", lambda self, index: 0xCA0001)
    kernel(TALKS)
    assert not [line for line in fake.journal() if line.startswith("synchronize")]
    assert capfd.readouterr().out == ""
    fake.library.fake_replay(2)
    kernel.adapter.synchronize(0)
    assert len(capfd.readouterr().out.splitlines()) == 4
    fake.library.fake_behaviour(ASSERTS)
    fake.library.fake_replay(3)
    with pytest.raises(LaunchError, match="a kernel failed on device 0: scale_k: device assertion failed: the block"):
        kernel.adapter.synchronize(0)


def test_a_capture_in_another_thread(kernel, fake, capfd):
    fake.fail("hipStreamSynchronize", 900)
    kernel(TALKS)
    assert capfd.readouterr().out == ""
    fake.fail("", 0)
    kernel(QUIET)
    assert len(capfd.readouterr().out.splitlines()) == 14


def test_records_that_are_not_whole():
    assert messages.printed(b"") == ([], 0)
    record = (4 | 1 << 16 | 9 << 32).to_bytes(8, "little") + (5).to_bytes(8, "little") + b"%lld abc\0".ljust(16, b"\0")
    assert messages.printed(record) == (["5 abc"], 4)
    assert messages.printed(record + bytes(16)) == (["5 abc"], 4)  # reserved, not written
    assert messages.printed(record + record[:16]) == (["5 abc"], 4)
    assert messages.printed(record + bytes(8) + record) == (["5 abc"], 4)


def test_the_variable_is_emptied_when_half_is_used(kernel, fake, capfd):
    """Until then kernels on other streams may write into it while it is read."""
    fake.library.fake_behaviour(TALKS)
    for _ in range(80):
        fake.library.fake_replay(7 * 20)
        kernel(TALKS)
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 80 * 2 * 7 * 21
    assert set(lines[1::2]) == {"none"}


def test_code_objects_have_the_variable_only_where_it_is_used(arch):
    @T.prim_func
    def quiet(X: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                X[i] = i

    @T.prim_func
    def talks(X: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                T.device_assert(X[i] < 90, "too large")
                X[i] = i
            T.print(X[0], msg="the first")

    binaries = [
        tilecore.compile(kernel, target=f"hip -arch={arch}", execution_backend="hip").artifact.binary
        for kernel in (quiet, talks)
    ]
    assert [messages.has_messages(binary) for binary in binaries] == [False, True]
    assert len(binaries[1]) < 20_000  # the megabyte of the variable is not in the file


def test_the_layout_of_the_header(fake):
    """The stand-in runtime has the variable of the header."""
    address, size = ctypes.c_void_p(), ctypes.c_size_t()
    library = fake.library
    assert library.hipModuleGetGlobal(ctypes.byref(address), ctypes.byref(size), None, b"tc_messages") == 0
    assert size.value - messages._HEAD.size == 131072 * 8
    assert messages._HEAD.size == 128
