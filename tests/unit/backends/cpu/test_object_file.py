"""Where LLVM has no room for an object, there is an error and not the end of the process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, resource, sys, tempfile
import numpy as np
import tilecore, tilecore.language as T
from tilecore.errors import ToolchainError

def kernel(number):
    @T.prim_func
    def add(A: T.Tensor((300,), "float32"), C: T.Tensor((300,), "float32")):
        with T.Kernel(T.ceildiv(300, 64), threads=128) as bx:
            for i in T.Parallel(64):
                C[bx * 64 + i] = A[bx * 64 + i] + number
    return add

def works(number):
    a, c = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    tilecore.compile(kernel(number), target="cpu")(a, c)
    return bool((c == a + number).all())
"""


def script(tmp_path, code):
    """The kernels' source must be in a file."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT + code)
    return path


def outcome(tmp_path, code, **environment):
    everything = {**os.environ, "TILECORE_CACHE_DIR": str(tmp_path / "cache"), **environment}
    ended = subprocess.run(
        [sys.executable, str(script(tmp_path, code))], env=everything, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, (ended.returncode, ended.stderr)
    return ended.stdout.split("\n")


LIMITED = """
works(1)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
try:
    print(works(2))
except ToolchainError as error:
    print(error.message, error.found, error.hint)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(works(3))
"""


@pytest.mark.parametrize("limit", [0, 100, 5000])
def test_a_limit_on_the_size_of_files(tmp_path, limit):
    message, after, _ = outcome(tmp_path, LIMITED.format(limit=limit))
    assert "the object code of add may not fit" in message
    assert f"files of at most {limit} bytes" in message
    assert "ulimit -f" in message
    assert after == "True"


def test_a_limit_that_is_large_enough(tmp_path):
    assert outcome(tmp_path, LIMITED.format(limit=10_000_000)) == ["True", "True", ""]


def test_no_folder_for_temporary_files(tmp_path):
    """There is none on the disk: the object is in memory."""
    nowhere = "tempfile.tempdir = '/nowhere'\nprint(works(1))"
    assert outcome(tmp_path, nowhere, TMPDIR="/nowhere") == ["True", ""]


WITHOUT_MEMORY = """
from tilecore.backends.cpu import object_file
works(1)
del os.memfd_create
print(works(2))
import shutil
full = shutil.disk_usage("/")._replace(free=4096)
shutil.disk_usage = lambda folder: full
try:
    print(works(3))
except ToolchainError as error:
    print(error.message, error.found, error.hint)
"""


def test_a_full_folder_for_temporary_files_where_memory_has_no_paths(tmp_path):
    first, message, _ = outcome(tmp_path, WITHOUT_MEMORY)
    assert first == "True"
    assert "there is no room for the object code of add 4096 bytes free" in message
    assert "TMPDIR" in message


def test_no_object_is_larger_than_what_is_asked_for(tmp_path):
    """The bound, over what the demo compiles."""
    code = """
from tilecore.backends.cpu import object_file
real, ratios = object_file.object_bytes, []
def spied(module, name):
    data = real(module, name)
    ratios.append(len(data) / object_file._most_bytes(module))
    return data
object_file.object_bytes = spied
os.environ["TILECORE_DISABLE_CACHE"] = "1"
import contextlib, io
from tilecore import cli
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    cli.main(["demo", "--target", "cpu"])
print(len(ratios) > 4, max(ratios) < 0.7, len(ratios), max(ratios))
"""
    assert outcome(tmp_path, code)[0].split()[:2] == ["True", "True"]
