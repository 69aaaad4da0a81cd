"""Signals while the compiler works: they wait, none is lost, and what a handler raises reaches the user."""

# ruff: noqa: PT012 - what matters is where in the block a signal is raised

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback

import pytest

from tilecore import interrupts
from tilecore.interrupts import held_back, safe_point


class Alarm(Exception):
    pass


@pytest.fixture(autouse=True)
def handlers():
    """Python's own handler of SIGINT, however these tests were started; one that raises Alarm for SIGUSR1."""

    def alarm(number, frame):
        raise Alarm

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGUSR1)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGUSR1, alarm)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def come(number: int = signal.SIGINT) -> None:
    signal.raise_signal(number)
    for _ in range(10):  # Python runs handlers between its instructions
        pass


def test_a_signal_waits_for_a_safe_point():
    steps = []
    with pytest.raises(KeyboardInterrupt), held_back():
        come()
        steps.append("after the signal")
        safe_point()
        steps.append("after the safe point")
    assert steps == ["after the signal"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_waits_for_the_end_of_the_outermost_block():
    steps = []
    with pytest.raises(KeyboardInterrupt):
        with held_back():
            with held_back():
                come()
            steps.append("inner block over")
        steps.append("outer block over")
    assert steps == ["inner block over"]


def test_it_is_raised_also_where_the_block_fails():
    with pytest.raises(KeyboardInterrupt) as caught, held_back():
        come()
        raise ValueError("of the block")
    assert isinstance(caught.value.__context__, ValueError)


def test_other_signals_with_handlers_wait_too():
    with pytest.raises(Alarm), held_back():
        come(signal.SIGUSR1)
        safe_point()
        pytest.fail("it did not come at the safe point")


def test_a_handler_that_raises_nothing_runs_once():
    calls = []
    signal.signal(signal.SIGUSR1, lambda number, frame: calls.append(number))
    with held_back():
        come(signal.SIGUSR1)
        assert calls == []
        safe_point()
        assert calls == [signal.SIGUSR1]
    assert calls == [signal.SIGUSR1]


def test_the_second_one_forces(monkeypatch):
    monkeypatch.setattr(interrupts, "FORCE_SECONDS", 0.05)
    with pytest.raises(KeyboardInterrupt), held_back():
        come()
        time.sleep(0.06)
        come()
        pytest.fail("it did not force its way")


def test_two_in_quick_succession_are_one():
    steps = []
    with pytest.raises(KeyboardInterrupt), held_back():
        come()
        come()
        steps.append("went on")
    assert steps == ["went on"]


@pytest.mark.parametrize("become", ["swallowed", "another error"])
def test_what_is_forced_is_raised_whatever_becomes_of_it(monkeypatch, become):
    monkeypatch.setattr(interrupts, "FORCE_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt), held_back():
        try:
            come()
            come()
        except KeyboardInterrupt:
            if become == "another error":
                raise RuntimeError("what TVM makes of it") from None


def test_patience_ends(monkeypatch):
    monkeypatch.setattr(interrupts, "FORCE_SECONDS", 0.05)
    monkeypatch.setattr(interrupts, "PATIENCE_SECONDS", 0.1)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), held_back():
        come()
        while time.monotonic() < start + 30:
            time.sleep(0.01)
    assert time.monotonic() < start + 20


def test_handlers_left_behind_by_an_interrupted_end_hold_nothing_back():
    block = held_back()
    block.__enter__()
    block._open = False  # as if the end had been interrupted after its first step
    with pytest.raises(KeyboardInterrupt):
        come()
    with pytest.raises(KeyboardInterrupt), held_back():
        come()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ignored_signals_stay_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held_back():
        come()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_other_threads_hold_nothing_back():
    inside, over = threading.Event(), threading.Event()

    def run():
        with held_back():
            inside.set()
            over.wait(30)

    thread = threading.Thread(target=run)
    thread.start()
    inside.wait(30)
    try:
        with pytest.raises(KeyboardInterrupt):
            come()
    finally:
        over.set()
        thread.join()


def test_a_fork_in_a_block_is_interrupted_at_once():
    with held_back():
        pid = os.fork()
        if pid == 0:
            try:
                come()
                os._exit(1)
            except KeyboardInterrupt:
                os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0


# -- foreign code ----------------------------------------------------------------------------------------------------


@pytest.fixture
def open_walks(monkeypatch):
    """Walks over IR, which call Python back, that began where a signal would be raised in the midst of them: TVM makes
    a RuntimeError of a KeyboardInterrupt now and then."""
    from tvm_ffi import structural

    import tilecore.ir.nodes  # noqa: F401 - its nodes_of takes the walk from there at once; it calls no Python function

    begun = []

    def watched(walk):
        def run(*args):
            if interrupts._current is None or not interrupts._current._open:
                begun.append("".join(traceback.format_stack(limit=8)[:-1]))
            return walk(*args)

        return run

    for name in ("StructuralMap", "StructuralWalk", "StructuralMutate"):
        if hasattr(structural._ffi_api, name):
            monkeypatch.setattr(structural._ffi_api, name, watched(getattr(structural._ffi_api, name)))
    return begun


def test_no_walk_over_ir_can_be_interrupted(open_walks, tmp_path, monkeypatch):
    import numpy as np

    import tilecore
    import tilecore.language as T
    from tilecore.interpreter import interpret

    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))

    @T.prim_func
    def add(A: T.Tensor((300,), "float32"), C: T.Tensor((300,), "float32")):
        with T.Kernel(T.ceildiv(300, 64), threads=128) as bx:
            a = T.alloc_fragment((64,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(A[bx * 64], a)
            T.reduce_max(a, total, dim=0)
            for i in T.Parallel(64):
                C[bx * 64 + i] = A[bx * 64 + i] + total[0]

    @tilecore.jit(target="cpu")
    def eager(A, B):
        n = T.const("n")
        A: T.Tensor[[n], T.float32]
        B: T.Tensor[[n], T.float32]
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            for i in T.Parallel(64):
                if bx * 64 + i < n:
                    B[bx * 64 + i] = A[bx * 64 + i] * 2

    a, b = np.ones(300, "float32"), np.zeros(300, "float32")
    kernel = tilecore.compile(add, target="cpu")
    kernel(a, b)
    str(kernel.explain())
    tilecore.lower(add, target="cpu")
    eager(a, b)
    eager.compile(n=128)
    str(kernel.ir)
    interpret(add.ir, a, b)
    assert not open_walks, f"{len(open_walks)} of them, such as\n{open_walks[0]}"


# -- compilations ---------------------------------------------------------------------------------------------------

# Interrupts compilations at random times; counts what became of them. By: "alarm" (the same thread) or "thread".
INTERRUPTED = """
import os, random, signal, sys, threading, time, warnings
import tilecore, tilecore.language as T

def kernel(number):
    @T.prim_func
    def add(A: T.Tensor((301,), "float32"), C: T.Tensor((301,), "float32")):
        with T.Kernel(T.ceildiv(301, 64), threads=128) as bx:
            for i in T.Parallel(64):
                C[bx * 64 + i] = A[bx * 64 + i] + number
    return add

how, count, target, random.seed = sys.argv[1], int(sys.argv[2]), sys.argv[3], random.seed(int(sys.argv[4]))
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGALRM, signal.default_int_handler)
tilecore.compile(kernel(1), target=target)
start = time.perf_counter()
tilecore.compile(kernel(2), target=target)
usual = time.perf_counter() - start
counts = {"interrupted": 0, "finished": 0, "other": 0}
for number in range(count):
    seconds, done = max(1e-4, random.random() * 1.3 * usual), threading.Event()
    def later():
        if not done.wait(seconds):
            os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=later)
    try:
        try:
            if how == "alarm":
                signal.setitimer(signal.ITIMER_REAL, seconds)
            else:
                thread.start()
            tilecore.compile(kernel(10 + number), target=target)
            if how == "alarm":
                signal.setitimer(signal.ITIMER_REAL, 0)
            done.set()
            counts["finished"] += 1
        except KeyboardInterrupt:
            counts["interrupted"] += 1
        finally:
            done.set()
            if how == "thread":
                thread.join()
    except KeyboardInterrupt:  # it came when the compilation was just over
        pass
    except BaseException as error:
        counts["other"] += 1
        print(type(error).__name__, str(error)[:200], file=sys.stderr)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
import numpy
x, y = numpy.arange(301, dtype="float32"), numpy.zeros(301, "float32")
tilecore.compile(kernel(3), target=target)(x, y)
assert (y == x + 3).all()
print(counts["interrupted"], counts["finished"], counts["other"])
"""


@pytest.mark.parametrize("sender", ["alarm", "thread"])
@pytest.mark.parametrize("disk", [True, False], ids=["disk", "no-disk"])
def test_interrupted_compilations_raise_keyboard_interrupt(sender, disk, tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    count = int(os.environ.get("TILECORE_TEST_INTERRUPTS", "40"))
    environment = {
        **os.environ,
        "TILECORE_CACHE_DIR": str(tmp_path / "cache"),
        "TILECORE_DISABLE_CACHE": str(int(not disk)),
    }
    command = [sys.executable, str(script), sender, str(count), "cpu", "1"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    interrupted, _, other = map(int, ended.stdout.split())
    assert other == 0, ended.stderr
    assert interrupted > count // 4
