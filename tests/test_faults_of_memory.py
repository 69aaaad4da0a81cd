"""A fault of memory in a test ends the process of the tests at once, and says where (conftest.py)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import ctypes
import tvm_ffi

def test_fault():
    ctypes.string_at(8)
"""


def test_a_fault_ends_the_process_and_names_the_line(tmp_path):
    (tmp_path / "test_program.py").write_text(PROGRAM)
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "kernel_caches.py").write_text((Path(__file__).parent / "kernel_caches.py").read_text())
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-p",
            "tilecore.testing.pytest_plugin",
            "test_program.py",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == -11, ended
    assert "Fatal Python error: Segmentation fault" in ended.stderr
    assert "test_program.py" in ended.stderr
    assert "Segfault encountered" not in ended.stderr  # TVM's handler
