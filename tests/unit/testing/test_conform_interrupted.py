"""Ctrl-C ends ``tilecore conform`` only once pytest has reported on the cases that did run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

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


@pytest.mark.parametrize("again", [None, 0.0, 0.3])
def test_an_interrupted_run_says_so(tmp_path, again):
    """Processes of pytest-xdist have cases, too, and leave the report to the one that started them. again: seconds
    until a second Ctrl-C; whether pytest then comes to a report depends on where it meets it."""
    path = tmp_path / "report.json"
    path.write_text('[{"reached": 3}]')  # of an earlier run
    words = ["--target", "cpu", "--jobs", "2", "-k", "test_names", "--out", str(path)]
    kit = subprocess.Popen(
        [sys.executable, "-m", "tilecore", "conform", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    output = ""
    while not re.search(r"^\.{5}", output, re.MULTILINE):  # some cases are through
        assert kit.poll() is None, output
        output += os.read(kit.stdout.fileno(), 1000).decode()
    os.killpg(kit.pid, signal.SIGINT)
    if again is not None:
        time.sleep(again)
        os.killpg(kit.pid, signal.SIGINT)
    output += kit.communicate(timeout=300)[0]
    if again is not None and not path.exists():
        assert "no report was written" in output
        return
    (report,) = json.loads(path.read_text())
    assert (report["interrupted"], report["reached"], report["levels"]) == (True, -1, {"3": "unfinished"})
    assert "unfinished" in output
    assert f"interrupted: {path} has the cases that ran" in output
