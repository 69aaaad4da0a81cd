"""What kernels print and assert: the real header writes on the host, the launches' reader reads it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tile_metal.runtime import messages
from tile_metal.simulated import INCLUDE

from tilecore.artifact.records import Entry
from tilecore.errors import LaunchError


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None or sys.platform != "linux":
        pytest.skip("the header's host form is for Linux with a C++ compiler")
    path = os.fspath(tmp_path_factory.mktemp("messages") / "messages.so")
    source = Path(__file__).parent / "host_messages.cpp"
    options = ["-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", "-fno-strict-aliasing", f"-I{INCLUDE}"]
    subprocess.run([compiler, *options, os.fspath(source), "-o", path], check=True)
    return ctypes.CDLL(path)


def written(run, *arguments, formats=()):
    """What a kernel of the host wrote into a new buffer."""
    buffer = np.zeros(messages.BUFFER_WORDS + 1, np.uint32)
    buffer[-1] = 0xABCD
    run(ctypes.c_void_p(buffer.ctypes.data), *arguments)
    assert buffer[-1] == 0xABCD, "nothing is written behind the buffer"
    head = buffer[: messages.HEAD_WORDS].tobytes()
    memory = buffer[messages.HEAD_WORDS :][: messages.words_used(head)].tobytes()
    entry = Entry("k", (1, 1, 1), attributes={"messages": True, "formats": formats, "assertions": ("a", "b (k.py:3)")})
    return entry, messages.read(entry, head, memory)


def test_prints(kernels, capsys):
    entry, read = written(kernels.prints, formats=("nothing\n", "%ld %lu %g %%\n"))
    assert (read.lines, read.dropped, read.failures) == ("nothing\n-5 18446744073709551615 0.1 %\n", 0, 0)
    messages.report("kernel", entry, read)
    assert capsys.readouterr().out == read.lines


def test_prints_of_several_threads_and_more_than_fit(kernels, capsys):
    threads, times = 4, 20_000  # records of 3 pairs, of which 131072 fit
    entry, read = written(kernels.many, threads, times, formats=("%ld: %ld\n",))
    lines = read.lines.splitlines()
    assert len(lines) == 131072 // 3
    assert len(lines) + read.dropped == threads * times
    for thread in range(threads):
        numbers = [int(line.split(": ")[1]) for line in lines if line.startswith(f"{thread}: ")]
        assert numbers == sorted(set(numbers)), "no record is lost or written twice"
    messages.report("kernel", entry, read)
    assert f"tile-metal: {read.dropped} more prints of kernel found no room" in capsys.readouterr().err


def test_the_program_is_msl():
    """As far as clang can tell."""
    from compiler import VERSIONS, errors_as_cpp, errors_as_opencl
    from metal_kernels import artifact

    program = artifact("talking_kernel").binary.decode()
    assert [errors_as_cpp(program, version) for version in VERSIONS] == [[]] * len(VERSIONS)
    assert errors_as_opencl(program, 320) == []


def test_failed_assertions(kernels):
    entry, read = written(kernels.asserts)
    with pytest.raises(LaunchError) as caught:
        messages.report("kernel", entry, read)
    words = "kernel failed: k: device assertion failed: b (k.py:3) in block (1, 0, 4), thread (5, 2, 0); 1 more failed"
    assert words in str(caught.value)
