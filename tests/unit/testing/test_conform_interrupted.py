"""Ctrl-C ends ``tilecore conform`` only once pytest has reported on the cases that did run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

SLOW_TO_STOP = """
import pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
folder = pathlib.Path(sys.argv[1])
try:
    (folder / "running").touch()
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(1)
    (folder / "report").touch()
    sys.exit(2)
"""
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from tilecore.commands.conform import _ended
code, interrupted = _ended([sys.executable, *sys.argv[1:]], None)
assert interrupted
sys.exit(code)
"""


def test_ctrl_c_waits_for_the_report(tmp_path):
    script = tmp_path / "slow_to_stop.py"
    script.write_text(SLOW_TO_STOP)
    words = [sys.executable, "-c", COMMAND, str(script), str(tmp_path)]
    with subprocess.Popen(words, start_new_session=True) as command:
        deadline = time.monotonic() + 60
        while not (tmp_path / "running").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(command.pid, signal.SIGINT)
        assert command.wait(60) == 2
    assert (tmp_path / "report").exists()
