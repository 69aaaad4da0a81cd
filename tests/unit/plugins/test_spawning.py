"""Fresh interpreters: what Ctrl-C leaves behind is nothing. Their answers are tested in tests/plugins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fresh_processes import is_alive

REPOSITORY = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


SLOW_STARTS = """
import os, subprocess, time

fork, start = os.fork, subprocess.Popen.__init__

def slow_fork():
    pid = fork()
    if pid:
        time.sleep(0.7)
    return pid

def slow_start(*args, **kwargs):
    start(*args, **kwargs)
    time.sleep(0.7)

os.fork, subprocess.Popen.__init__ = slow_fork, slow_start
"""


@pytest.mark.parametrize("starts", ["", SLOW_STARTS], ids=["quick", "slow"])
@pytest.mark.parametrize("command", ["doctor", "targets"])
def test_interrupted_command_ends_at_once_and_takes_its_children_along(tmp_path, command, starts):
    """A plugin that hangs and ignores Ctrl-C writes its process id, then we press Ctrl-C; also while the command has
    started it and does nothing else yet."""
    (tmp_path / "sitecustomize.py").write_text(starts)
    plugin = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"open({str(tmp_path / 'pid')!r} + '.part', 'w').write(str(os.getpid()))\n"
        f"os.rename({str(tmp_path / 'pid')!r} + '.part', {str(tmp_path / 'pid')!r})\n"
        "time.sleep(60)\n"
    )
    (tmp_path / "tile_hangs.py").write_text(plugin)
    info = tmp_path / "tile_hangs-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tile-hangs\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[tilecore.backends]\nhangs = tile_hangs\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{REPOSITORY}"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tilecore", command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    give_up = time.monotonic() + 15
    while not (tmp_path / "pid").exists():
        assert time.monotonic() < give_up
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=5)
    assert process.returncode == 130
    assert errors == b""
    assert not is_alive(int((tmp_path / "pid").read_text()))
