"""All that a program does, in a process without what Windows does not have (as_on_windows.py)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import windows_program

from tilecore.backends.cpu import systems

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.rotated,
    pytest.mark.skipif(
        (systems.host_system(), systems.host_machine()) != ("linux", "x86_64"),
        reason="runs code of Windows on Linux, x86-64",
    ),
]


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """What the program printed: a line for each of its steps."""
    import shutil

    if shutil.which("gcc") is None and shutil.which("clang") is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("windows")
    names = ("PATH", "PYTHONPATH", "HOME", "LD_LIBRARY_PATH")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    ended = subprocess.run(
        [sys.executable, HERE / "as_on_windows.py", HERE / "windows_program.py", folder],
        capture_output=True, text=True, cwd=folder, timeout=300,
        env={**environment, "TILECORE_CACHE_DIR": str(folder / "cache")},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-6000:]
    return ended.stdout.splitlines()


@pytest.mark.parametrize("step", [step.__name__ for step in windows_program.STEPS])
def test_each_step_is_right(lines, step):
    assert f"{step}: right" in lines, "\n".join(lines)
