"""Runs a function in forked processes, in parallel, and collects their JSON results under a deadline."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from tilecore.plugins.interrupts import interrupted_again, interrupted_later

assert sys.platform != "win32"  # who imports this looks at probe.CAN_FORK first

GRACE_SECONDS = 1.0  # between the end of a child's answer and its own end


def fork_all(
    items: Sequence[str], function: Callable[[str], dict[str, Any]], timeout: float
) -> list[dict[str, Any] | int | None]:
    """``function(item)`` for each item, in order; the exit code (negative: signal) of a process that ended without a
    result; None for a process that was killed after ``timeout`` seconds. Output of the processes is dropped."""
    sys.stdout.flush()
    sys.stderr.flush()
    children: dict[int, tuple[str, int]] = {}
    try:
        for item in items:
            with interrupted_later():
                read, write = os.pipe()
                pid = os.fork()
                if pid == 0:
                    _child(function, item, write)
                os.close(write)
                children[read] = (item, pid)
        texts, ended = _read_all(list(children), time.monotonic() + timeout)
    except BaseException:  # Ctrl-C: a hanging plugin may have ignored it
        for _, pid in children.values():
            _exit_code(pid, 0.0)
        raise
    return [_answer(texts[read], read in ended, pid) for read, (_, pid) in children.items()]


def _child(function: Callable[[str], dict[str, Any]], item: str, write: int) -> None:
    """Run the function and end the process without the parent's exit handlers; never returns."""
    code = 1
    try:
        interrupted_again()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        data = json.dumps(function(item)).encode()
        with os.fdopen(write, "wb") as pipe:
            pipe.write(data)
        code = 0
    finally:
        os._exit(code)


def _read_all(reads: list[int], deadline: float) -> tuple[dict[int, bytes], set[int]]:
    """The data of each pipe before the deadline, and the pipes that were closed."""
    texts = dict.fromkeys(reads, b"")
    ended: set[int] = set()
    with selectors.DefaultSelector() as selector:
        for read in reads:
            selector.register(read, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() < deadline:
            for key, _ in selector.select(max(0.0, deadline - time.monotonic())):
                part = os.read(key.fd, 1 << 20)
                texts[key.fd] += part
                if not part:
                    selector.unregister(key.fd)
                    ended.add(key.fd)
    for read in reads:
        os.close(read)
    return texts, ended


def _answer(text: bytes, ended: bool, pid: int) -> dict[str, Any] | int | None:
    """A complete answer counts even when its pipe stays open: a process that the plugin started may hold it open."""
    code = _exit_code(pid, GRACE_SECONDS if ended and not text else 0.0)
    try:
        return json.loads(text)
    except ValueError:
        return code if ended else None


def _exit_code(pid: int, grace: float) -> int | None:
    """The child's exit code; it is killed when it still runs after ``grace`` seconds (None)."""
    deadline = time.monotonic() + grace
    while True:
        try:
            ended, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # this process was started with SIGCHLD ignored: nobody knows how the child ended
            return 0
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
            return None
        time.sleep(0.001)
