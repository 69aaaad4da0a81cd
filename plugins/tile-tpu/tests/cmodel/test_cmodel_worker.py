"""The process that runs the CModel, with a runtime of the tests' own instead of the vendor's: calls, crashes, hangs."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from fake_vendor import KERNELS, call, release, scale
from tile_tpu.chips import BM1690
from tile_tpu.cmodel import pool, process
from tile_tpu.cmodel.device import CModelDevice
from tile_tpu.cmodel.kernel_files import kernel_library
from tile_tpu.toolchain.compile import for_cmodel
from tile_tpu.toolchain.sdk import Sdk

from tilecore.errors import LaunchError, UnsupportedError

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = release(tmp_path_factory.mktemp("sdk"), "bm1690", libraries=True)
    found = Sdk(root, "test").cmodel(BM1690)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def kernels(files):
    return kernel_library("model", for_cmodel(KERNELS, BM1690, "model", files=files), KERNELS)


@pytest.fixture
def device(files):
    yield CModelDevice(BM1690, files)
    pool.close_all()


def run_scale(device, kernels, n=1000, factor=3.0, items=1):
    x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    device.run(kernels, *scale(x, out, factor, items))
    assert np.array_equal(out, x * np.float32(factor))


def run(device, kernels, entry, n=0, items=1):
    x, out = np.zeros(4, np.float32), np.zeros(4, np.float32)
    device.run(kernels, *call(entry, x, out, n, items=items))


def workers():
    return [slot.worker.pid for slot in pool._slots.values() if slot.worker is not None]


@pytest.mark.parametrize("items", [1, 3, 8])
@pytest.mark.parametrize("n", [1, 1000, 100_000])
def test_results(device, kernels, n, items):
    run_scale(device, kernels, n, items=items)


def test_the_process_stays_and_grows(device, kernels):
    run_scale(device, kernels, 10)
    (first,) = workers()
    for n in (5, 300_000, 7, 2_000_000):
        run_scale(device, kernels, n)
    assert workers() == [first]


def test_a_warm_call_starts_nothing(device, kernels):
    times = []
    for _ in range(10):
        start = time.perf_counter()
        run_scale(device, kernels)
        times.append(time.perf_counter() - start)
    assert min(times[1:]) < times[0] / 2, "the first one starts the process"


def test_it_rests_between_calls(device, kernels):
    """Threads of the vendor's runtime would take a processor all the time."""
    for _ in range(2):
        run_scale(device, kernels)
        (worker,) = workers()
        assert reaches(worker, "T"), state(worker)


def test_the_thread_that_started_it_may_end(device, kernels):
    starter = threading.Thread(target=run_scale, args=(device, kernels))
    starter.start()
    starter.join()
    before = workers()
    run_scale(device, kernels)
    assert workers() == before


def state(pid):
    """What /proc says a process does: "R", "S", "T" for stopped, "Z"; "" when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def reaches(pid, *states, seconds=30):
    end = time.monotonic() + seconds
    while state(pid) not in states and time.monotonic() < end:
        time.sleep(0.05)
    return state(pid) in states


def test_more_cores_than_it_launches_on(device, kernels):
    with pytest.raises(UnsupportedError, match="launched on 9 cores, and the CModel of bm1690 launches on 8") as caught:
        run(device, kernels, "print_kernel", items=9)
    assert "-cores=1" in (caught.value.hint or "")


def test_what_kernels_print_is_shown_and_nothing_else(device, kernels, capsys):
    run_scale(device, kernels)
    assert capsys.readouterr().out == ""
    run(device, kernels, "print_kernel", items=2)
    assert capsys.readouterr() == ("a line of kernel 0\na line of kernel 1\n", "")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("crash_kernel", ["ended by SIGSEGV", "before the crash", "*(volatile int*)0 =", "from model.py:21"]),
        ("divide_kernel", ["ended by SIGFPE", "return 100 / n;", "from model.py:29"]),
        ("abort_kernel", ["ended by SIGABRT", "it gives up"]),
        ("exit_kernel", ["ended the process with code 233"]),
    ],
)
def test_crashes(device, kernels, entry, words):
    run_scale(device, kernels)
    (before,) = workers()
    with pytest.raises(LaunchError) as caught:
        run(device, kernels, entry, items=2)
    report = str(caught.value)
    assert "model stopped the CModel of bm1690" in report
    assert f"launched {entry} on 2 cores" in report
    for word in words:
        assert word in report
    assert "[ap]" not in report
    run_scale(device, kernels)  # by a fresh process
    assert workers() != [before]


def test_a_kernel_that_does_not_return_0(device, kernels):
    run(device, kernels, "returns_kernel", 0)
    with pytest.raises(LaunchError, match="it returned 7, not 0"):
        run(device, kernels, "returns_kernel", 7)
    run_scale(device, kernels)


def test_a_kernel_that_is_not_there(device, kernels):
    with pytest.raises(LaunchError, match="model registers no kernel none_kernel"):
        run(device, kernels, "none_kernel")


def test_hangs_are_stopped(monkeypatch, device, kernels):
    run_scale(device, kernels)
    (before,) = workers()
    monkeypatch.setenv("TILECORE_SIMULATE_TIMEOUT", "1")
    start = time.monotonic()
    with pytest.raises(LaunchError, match="took more than 1 s to run and was stopped"):
        run(device, kernels, "hang_kernel")
    assert time.monotonic() - start < 30
    assert not Path(f"/proc/{before}").exists()
    run_scale(device, kernels)


def test_floods_are_stopped(monkeypatch, device, kernels):
    monkeypatch.setattr(process, "MOST_OUTPUT", 1 << 20)
    with pytest.raises(LaunchError, match="printed more than 1 MiB"):
        run(device, kernels, "flood_kernel")


@pytest.mark.parametrize(("n", "where"), [(1001, "0 bytes behind the end of out"), (1010, "40 bytes")])
def test_writes_behind_a_tensor(device, kernels, n, where):
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    with pytest.raises(LaunchError, match="wrote outside of its tensors") as caught:
        device.run(kernels, *scale(x, out, 1.0, n=n))
    assert where in str(caught.value)
    assert not out.any()
    run_scale(device, kernels)


def test_a_runtime_that_does_not_start(monkeypatch, device, kernels):
    monkeypatch.setenv("FAKE_NO_START", "1")
    with pytest.raises(LaunchError, match="does not start") as caught:
        run_scale(device, kernels)
    assert "code 10: the runtime is not initialised" in str(caught.value)
    monkeypatch.delenv("FAKE_NO_START")
    run_scale(device, kernels)


def test_a_start_that_hangs_is_repeated(monkeypatch, device, kernels, tmp_path):
    monkeypatch.setattr(process, "START_SECONDS", 2.0)
    monkeypatch.setenv("FAKE_HANG_ONCE", os.fspath(tmp_path / "mark"))
    run_scale(device, kernels)
    assert (tmp_path / "mark").exists()


def test_a_start_that_always_hangs(monkeypatch, device, kernels, tmp_path):
    monkeypatch.setattr(process, "START_SECONDS", 0.3)
    monkeypatch.setenv("FAKE_HANG_ONCE", os.fspath(tmp_path))  # it cannot be made, so it is never there
    with pytest.raises(LaunchError, match=r"took more than 0\.3 s to start"):
        run_scale(device, kernels)


def test_a_library_that_cannot_be_loaded(device):
    broken = kernel_library("broken", b"tpu_kernel_register_scale_kernel\0")
    with pytest.raises(LaunchError, match="cannot load the kernels"):
        run_scale(device, broken)


def test_kernels_of_one_name_in_two_libraries(device, kernels, files):
    other = KERNELS.replace("x[i] * args->scale", "x[i] + args->scale")
    more = kernel_library("other", for_cmodel(other, BM1690, "other", files=files))
    x, out = np.arange(9, dtype=np.float32), np.zeros(9, np.float32)
    for library, want in ((kernels, x * 3), (more, x + 3), (kernels, x * 3)):
        device.run(library, *scale(x, out, 3.0))
        assert np.array_equal(out, want)


def test_threads_take_turns(device, kernels):
    failures = []

    def work(factor):
        try:
            for _ in range(5):
                run_scale(device, kernels, factor=factor)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f,)) for f in (1.0, 2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(workers()) == 1


def _in_a_fork(files, kernels, parent_workers, answer):
    try:
        device = CModelDevice(BM1690, files)
        run_scale(device, kernels)
        answer.put(workers() != parent_workers)
        pool.close_all()
    except BaseException as error:
        answer.put(repr(error))


def test_a_fork_has_a_process_of_its_own(device, files, kernels):
    run_scale(device, kernels)
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    children = [context.Process(target=_in_a_fork, args=(files, kernels, workers(), answer)) for _ in range(2)]
    for child in children:
        child.start()
    assert [answer.get(timeout=60) for _ in children] == [True, True]
    for child in children:
        child.join()
    run_scale(device, kernels)


PARENT = """
import os, sys, threading
sys.path[:0] = {path!r}
import test_cmodel_worker as tests
from tile_tpu.cmodel import pool
from tile_tpu.cmodel.device import CModelDevice
from tile_tpu.cmodel.kernel_files import kernel_library
from tile_tpu.chips import BM1690
from tile_tpu.toolchain.sdk import Sdk
from pathlib import Path
kernels = kernel_library("model", Path({library!r}).read_bytes())
device = CModelDevice(BM1690, Sdk(Path({root!r}), "test").cmodel(BM1690))
tests.run_scale(device, kernels)
threading.Thread(target=tests.run, args=(device, kernels, {entry!r}), daemon=True).start()
print(*tests.workers(), flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("entry", ["print_kernel", "hang_kernel"])
def test_it_ends_with_its_parent(files, kernels, entry):
    here = os.path.dirname(__file__)
    path = [here, os.path.join(os.path.dirname(here), "vendor"), *sys.path]
    root = os.fspath(files.include.parents[5])
    program = PARENT.format(path=path, library=os.fspath(kernels.path), root=root, entry=entry)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    worker = int(ended.stdout.split()[0])
    assert reaches(worker, "", "Z", seconds=120), state(worker)  # a loaded machine takes its time


def test_few_processes_are_kept(device, files, kernels, tmp_path):
    for number in range(pool.MOST + 2):
        slot = pool.slot(process.WorkerConfig("tpurt", os.fspath(files.runtime), (("NUMBER", str(number)),)))
        with slot.lock:
            slot.ready()
    assert len(workers()) == pool.MOST


def test_folders_of_the_vendor_s_own_c_library_are_not_handed_on(monkeypatch, tmp_path, device, kernels):
    bad, good = tmp_path / "bad", tmp_path / "good"
    for folder in (bad, good):
        folder.mkdir()
    (bad / "libc.so.6").write_text("no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{bad}:{good}")
    run_scale(device, kernels)
    environment = Path(f"/proc/{workers()[0]}/environ").read_bytes().decode()
    assert str(good) in environment
    assert str(bad) not in environment
