"""Worker processes: calls and errors travel, deaths and delays are reported, nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fresh_processes import is_alive

from tilecore.errors import ArgumentError, LanguageError, Location
from tilecore.jit.worker_pools import Pool, Spares
from tilecore.jit.workers import Local, Worker, WorkerDied, WorkerTimeout

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    yield worker
    worker.stop()


def add(a, b):
    return a + b


def noisy(text):
    print(text)
    os.write(1, text.encode())
    return len(text)


def fail(kind):
    if kind == "language":
        raise LanguageError("wrong", location=Location("k.py", 3, 4), found="x", expected="y", hint="z")
    if kind == "unpicklable":
        raise type("Local", (Exception,), {})("made up on the spot")
    raise {"value": ValueError, "system": SystemExit, "interrupt": KeyboardInterrupt}[kind](f"by {kind}")


def surroundings():
    return os.environ.get("TILECORE_TEST_VALUE"), os.getcwd(), sys.path[0]


def test_calls_run_elsewhere_and_return(worker):
    assert worker.call(add, 2, 3) == 5
    assert worker.call(os.getpid) == worker.pid != os.getpid()
    large = os.urandom(3_000_000)
    assert worker.call(add, large, b"!") == large + b"!"


def test_what_a_call_prints_does_not_disturb_the_answer(worker, capfd):
    assert worker.call(noisy, "hello\n") == 6
    assert capfd.readouterr().out == ""


def test_the_surroundings_of_the_call_are_those_of_the_caller(worker, tmp_path, monkeypatch):
    monkeypatch.setenv("TILECORE_TEST_VALUE", "7")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "first"))
    assert worker.call(surroundings) == ("7", str(tmp_path), str(tmp_path / "first"))
    monkeypatch.undo()
    assert worker.call(surroundings)[0] is None


def test_errors_come_back_as_they_were(worker):
    with pytest.raises(LanguageError) as caught:
        worker.call(fail, "language")
    assert caught.value.location == Location("k.py", 3, 4)
    assert (caught.value.found, caught.value.expected, caught.value.hint) == ("x", "y", "z")
    with pytest.raises(ValueError, match="by value") as caught:
        worker.call(fail, "value")
    assert "in fail" in str(caught.value.__cause__), "the worker's traceback"
    for kind, expected in (("system", SystemExit), ("interrupt", KeyboardInterrupt)):
        with pytest.raises(expected):
            worker.call(fail, kind)
    with pytest.raises(Exception, match="Local: made up on the spot"):
        worker.call(fail, "unpicklable")
    assert worker.call(add, 1, 1) == 2


def test_what_cannot_be_sent_is_an_error_and_no_more(worker):
    with pytest.raises(Exception, match="lambda"):
        worker.call(lambda: 1)
    with pytest.raises(TypeError, match="pickle"):
        worker.call(add, threading.Lock(), 1)
    with pytest.raises(TypeError, match="pickle"):
        worker.call(threading.Lock)
    assert worker.call(add, 1, 1) == 2


def test_a_worker_that_dies_fails_its_call_only(worker):
    with pytest.raises(WorkerDied, match="exit code 3"):
        worker.call(os._exit, 3)
    with pytest.raises(WorkerDied, match="SIGABRT"):
        worker.call(os.abort)
    with pytest.raises(WorkerDied, match=r"SIGKILL \(out of memory\?\)"):
        worker.call(kill_oneself)
    assert worker.call(add, 1, 1) == 2


def kill_oneself():
    os.kill(os.getpid(), 9)


def test_a_call_that_takes_too_long_is_killed(worker):
    worker.call(add, 1, 1)
    pid = worker.pid
    start = time.monotonic()
    with pytest.raises(WorkerTimeout, match=r"longer than 0.3 seconds and was stopped"):
        worker.call(time.sleep, 60, timeout=0.3)
    assert time.monotonic() - start < 5
    assert not is_alive(pid)
    assert worker.call(add, 1, 1, timeout=60) == 2


def test_calls_in_this_process_time_out_too():
    local = Local()
    assert local.call(add, 1, 2) == local.call(add, 1, 2, timeout=5) == 3
    with pytest.raises(WorkerTimeout, match="no longer waited for"):
        local.call(time.sleep, 1.0, timeout=0.05)
    with pytest.raises(TimeoutError, match="its own"):
        local.call(own_timeout, timeout=5)


def own_timeout():
    raise TimeoutError("its own")


def test_a_pool_keeps_to_its_size_and_reuses_its_workers():
    with Pool(2) as pool:
        pids = {future.result() for future in [pool.submit(os.getpid) for _ in range(8)]}
        assert 1 <= len(pids) <= 2
        assert pool.live_workers == len(pids)
        again = {future.result() for future in [pool.submit(os.getpid) for _ in range(4)]}
        assert again <= pids
    deadline = time.monotonic() + 10
    while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(is_alive(pid) for pid in pids), "shutdown ends them"
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(os.getpid)


def test_a_pool_cancels_and_interrupts():
    pool = Pool(1)
    running = pool.submit(time.sleep, 60)
    waiting = pool.submit(time.sleep, 60)
    while not pool.live_workers:
        time.sleep(0.01)
    assert waiting.cancel()
    pool.interrupt()
    with pytest.raises(WorkerDied):
        running.result(20)
    assert pool.submit(add, 1, 1).result(30) == 2
    pool.shutdown(wait=False, cancel_futures=True)


def test_spare_workers_are_lent_to_one_at_a_time_and_kept_for_a_while():
    spares = Spares(idle_seconds=0.4)
    first, second = spares.borrow("a"), spares.borrow("a")
    assert first is not second
    pid = first.call(os.getpid)
    spares.give_back("a", first)
    assert spares.borrow("b") is not first, "of another purpose"
    assert spares.borrow("a") is first
    time.sleep(0.6)
    assert first.call(os.getpid) == pid, "not ended while it is lent"
    spares.give_back("a", first)
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(pid)
    assert spares.borrow("a") is not first


def test_threads_as_a_pool():
    with Pool(2, Local) as pool:
        assert pool.in_process
        assert [f.result() for f in [pool.submit(lambda i=i: i) for i in range(5)]] == list(range(5))
        assert isinstance(pool.submit(fail, "value").exception(), ValueError)
        with pytest.raises(ArgumentError, match="mine"):
            pool.submit(raise_argument_error).result()


def raise_argument_error():
    raise ArgumentError("mine")


def test_a_script_needs_no_main_guard_and_leaves_no_process(tmp_path):
    """Unlike with multiprocessing's spawn, the user's script is not run again in the workers."""
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\n"
        "import os\n"
        "from tilecore.jit.worker_pools import shared_pool\n"
        "print('worker', shared_pool(1).submit(os.getpid).result())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    ended = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("once") == 1
    pid = int(ended.stdout.split()[-1])
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(pid)
