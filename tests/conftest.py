"""For all tests: Ctrl-C as in a program that is started by hand; which of the slowest run in CI; caches of kernels; and
where a process of tests was when it crashed or hung.

A shell starts what runs in its background with SIGINT ignored, and so would everything that the tests start.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from kernel_caches import private_cache

from tilecore.testing.conformance.parts import Part

_faults_end_the_process = False


def pytest_configure(config: pytest.Config) -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Faults of memory end the process at once, with the stacks of its threads. TVM's library puts a handler of its own
    in the place of faulthandler's when it is loaded; it allocates memory, which waits for ever where memory management
    itself has failed."""
    global _faults_end_the_process
    if not _faults_end_the_process and "tvm_ffi" in sys.modules and faulthandler.is_enabled():
        _faults_end_the_process = True
        stream = item.config.stash.get(fault_handler_stderr_fd_key, sys.__stderr__)
        faulthandler.disable()
        faulthandler.enable(file=stream)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the tests marked ``rotated`` one half runs where the conformance kit runs in parts, by the number of the part:
    tests of testing tools and of long pages, which start processes by the dozen."""
    part = Part.parse(config.getoption("--conform-part"))
    if part.of == 1:
        return
    for item in items:
        if item.get_closest_marker("rotated"):
            half = zlib.crc32(item.name.encode()) >> 11 & 1  # a bit by which both take the same time
            if half != part.number % 2:
                item.add_marker(pytest.mark.skip(reason="in the other half, which the next commits run"))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How much memory the tests took: a process that the system ends for want of it leaves no stack. Then the stacks of
    processes that crashed or hung, once more, at the end of what pytest prints, as long output may be cut in its
    middle: faulthandler wrote them to standard error, which ``.ci/run`` keeps in a file, when they ended."""
    path = os.environ.get("TILECORE_TEST_STDERR")
    if path is None or hasattr(terminalreporter.config, "workerinput") or not Path(path).is_file():
        return
    import resource  # only here, as not every system has it

    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    terminalreporter.write_line(f"The largest process of the tests that ended took {largest} MiB.")
    stacks = newest_frames(Path(path).read_text(errors="replace"))
    if stacks:
        terminalreporter.section("stacks of a process that crashed or hung")
        terminalreporter.write_line(stacks)


def newest_frames(text: str, frames: int = 9, lines: int = 60) -> str:
    """Of what faulthandler wrote to standard error: the reason, and of each thread the frames that were entered last;
    "" if it wrote nothing."""
    starts = [at for words in ("Fatal Python error", "Timeout (") if (at := text.find(words)) >= 0]
    kept, in_thread = list[str](), 0
    for line in text[min(starts) :].splitlines() if starts else ():
        in_thread = in_thread + 1 if line.startswith("  File ") else 0
        if in_thread <= frames:
            kept.append(line)
    return "\n".join(kept[:lines])


@pytest.fixture(scope="module", autouse=True)
def kernels_are_dropped() -> Iterator[None]:
    """The kernels of a file's tests do not stay in memory while those of other files run."""
    yield
    if "tilecore.jit.compile" in sys.modules:
        sys.modules["tilecore.jit.compile"]._kernels.clear()


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The tests of one file share a cache that nothing else uses."""
    with private_cache(tmp_path_factory.mktemp("cache")):
        yield


@pytest.fixture
def fresh_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A test begins with empty caches, on disk and in memory, and leaves them empty; the folder of the one on disk."""
    from tilecore.jit.compile import _kernels

    folder = tmp_path / "cache"
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(folder))
    _kernels.clear()
    yield folder
    _kernels.clear()
