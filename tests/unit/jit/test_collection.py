"""The garbage collector stands still while kernels are compiled, and afterwards is as it was."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
import warnings
from importlib import import_module
from types import SimpleNamespace

import pytest

from tilecore.jit import collection
from tilecore.jit.collection import collection_paused

compilation = import_module("tilecore.jit.compile")  # the package has a function of that name


@pytest.fixture(autouse=True)
def enabled(monkeypatch):
    """The collector runs, and nobody compiles: not even a thread that another test has left behind."""
    deadline = time.monotonic() + 5
    while collection._inside and time.monotonic() < deadline:
        time.sleep(0.01)
    if collection._inside:
        stacks = ["".join(traceback.format_stack(frame)) for frame in sys._current_frames().values()]
        warnings.warn("a thread compiles since before this test:\n" + "\n".join(stacks), stacklevel=1)
        monkeypatch.setattr(collection, "_inside", 0)
    gc.enable()
    yield
    gc.enable()


def test_it_is_off_inside_also_when_nested():
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_exception_turns_it_on_again():
    with pytest.raises(KeyError), collection_paused(), collection_paused():
        raise KeyError
    assert gc.isenabled()


def test_one_that_was_off_stays_off():
    gc.disable()
    with collection_paused():
        pass
    assert not gc.isenabled()


def test_the_last_thread_turns_it_on():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with collection_paused():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with collection_paused():
        thread.start()
        inside.wait(10)
    assert not gc.isenabled(), "the other one is still compiling"
    with collection_paused():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def child_says(work):
    """What ``work`` gives in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, b"y" if work() else b"n")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as file:
        return file.read() == "y"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_while_another_thread_compiles_collects():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with collection_paused():
            inside.set()
            leave.wait(10)

    def nothing_left():
        if not gc.isenabled():
            return False
        with collection_paused():
            if gc.isenabled():
                return False
        return gc.isenabled()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    try:
        assert child_says(nothing_left)
    finally:
        leave.set()
        thread.join()
    assert gc.isenabled()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_inside_is_inside():
    with collection_paused():
        assert child_says(lambda: not gc.isenabled())
    assert gc.isenabled()


def test_compiling_uses_it(monkeypatch):
    seen = []
    monkeypatch.setattr(compilation, "_load_or_compile", lambda *args: seen.append(gc.isenabled()))
    request = SimpleNamespace(options=SimpleNamespace(verbose=False))
    compilation.compile_ir(lambda: None, request)
    assert seen == [False]
    assert gc.isenabled()
