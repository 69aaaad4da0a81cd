"""The process that runs the CModel: its start and end, how it stops between calls, forks and threads."""

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

import pytest
from cmodel_calls import reaches, run_scale, state, workers
from tile_tpu.chips import BM1690
from tile_tpu.cmodel import pool, process
from tile_tpu.cmodel.device import CModelDevice

from tilecore.errors import LaunchError

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


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


def test_it_is_stopped_between_calls(device, kernels):
    """Otherwise busy threads of the vendor's runtime would use a whole processor."""
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


def test_a_fork_starts_its_own_process(device, files, kernels):
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
import os, sys, threading, time
sys.path[:0] = {path!r}
import cmodel_calls as tests
from tile_tpu.cmodel import pool
from tile_tpu.cmodel.device import CModelDevice
from tile_tpu.cmodel.kernel_files import kernel_library
from tile_tpu.chips import BM1690
from tile_tpu.toolchain.sdk import Sdk
from pathlib import Path
kernels = kernel_library("model", Path({library!r}).read_bytes())
device = CModelDevice(BM1690, Sdk(Path({root!r}), "test").cmodel(BM1690))
tests.run_scale(device, kernels)
print(*tests.workers(), flush=True)  # before the kernel starts, which may print too
threading.Thread(target=tests.run, args=(device, kernels, {entry!r}), daemon=True).start()
time.sleep(0.1)
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("entry", ["print_kernel", "hang_kernel"])
def test_it_ends_with_its_parent(files, kernels, entry):
    folder = os.path.dirname(__file__)
    path = [folder, os.path.join(os.path.dirname(folder), "vendor"), *sys.path]
    root = os.fspath(files.include.parents[5])
    program = PARENT.format(path=path, library=os.fspath(kernels.path), root=root, entry=entry)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    worker = int(ended.stdout.split()[0])
    assert reaches(worker, "", "Z", seconds=120), state(worker)  # a loaded machine takes its time


def test_the_pool_is_limited(device, files, kernels, tmp_path):
    for number in range(pool.MOST + 2):
        slot = pool.slot(process.WorkerConfig("tpurt", os.fspath(files.runtime), (("NUMBER", str(number)),)))
        with slot.lock:
            slot.ready()
    assert len(workers()) == pool.MOST


def test_folders_with_the_vendor_s_c_library_are_not_passed_on(monkeypatch, tmp_path, device, kernels):
    bad, good = tmp_path / "bad", tmp_path / "good"
    for folder in (bad, good):
        folder.mkdir()
    (bad / "libc.so.6").write_text("no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{bad}:{good}")
    run_scale(device, kernels)
    environment = Path(f"/proc/{workers()[0]}/environ").read_bytes().decode()
    assert str(good) in environment
    assert str(bad) not in environment


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


def test_a_runtime_that_does_not_start(monkeypatch, device, kernels):
    monkeypatch.setenv("FAKE_NO_START", "1")
    with pytest.raises(LaunchError, match="does not start") as caught:
        run_scale(device, kernels)
    assert "code 10: the runtime is not initialised" in str(caught.value)
    monkeypatch.delenv("FAKE_NO_START")
    run_scale(device, kernels)
