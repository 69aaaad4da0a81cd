"""Children that answer, exit, crash, hang, or let go of their answer and hang."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from fresh_processes import run_code

from tilecore.plugins.probe import CAN_FORK

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="this platform starts fresh interpreters instead of forking")

# Run in a fresh interpreter: forking a test runner with threads is not what the command line does.
PROGRAM = """
import os, signal, sys, time
from tilecore.plugins.forking import fork_all

def work(item):
    if item == "exits": os._exit(5)
    if item == "raises": raise ValueError
    if item == "killed": os.kill(os.getpid(), signal.SIGKILL)
    if item == "hangs": time.sleep(60)
    if item == "closes and hangs": os.closerange(3, 200); time.sleep(60)
    if item == "big": return {"data": "x" * 1_000_000}
    if item == "leaves a child": os.fork() or time.sleep(4) or os._exit(0)
    if item == "prints": print("noise", flush=True); os.write(2, b"noise")
    return {"item": item}

start = time.monotonic()
answers = fork_all(sys.argv[1:], work, 1.5)
print([a if not isinstance(a, dict) or len(str(a)) < 99 else "big" for a in answers])
print(time.monotonic() - start)
"""


def run(*items: str):
    ended = run_code(PROGRAM, *items, timeout=30, PYTHONPATH=".")
    assert ended.returncode == 0, ended.stderr
    assert "noise" not in ended.stdout + ended.stderr
    answers, seconds = ended.stdout.splitlines()
    return eval(answers), float(seconds)


def test_answers_come_in_order():
    assert run("a", "prints", "big", "b")[0] == [{"item": "a"}, {"item": "prints"}, "big", {"item": "b"}]


def test_endings():
    assert run("a", "exits", "raises", "killed", "b")[0] == [{"item": "a"}, 5, 1, -signal.SIGKILL, {"item": "b"}]


def test_hanging_ones_are_killed_and_hold_up_nobody():
    start = time.monotonic()
    answers, seconds = run("hangs", "closes and hangs", "leaves a child", "a")
    assert answers == [None, None, {"item": "leaves a child"}, {"item": "a"}]
    assert seconds < 5
    assert time.monotonic() - start < 10


def test_none():
    assert run()[0] == []


def test_in_a_process_whose_children_nobody_waits_for():
    """One that was started with SIGCHLD ignored: the system forgets how its children ended."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, "a", "exits", "hangs"],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[0] == "[{'item': 'a'}, 0, None]"
