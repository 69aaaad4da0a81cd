"""The CModel's process: ``python -m tile_tpu.cmodel.worker CONFIG``. It imports only the standard library.

CONFIG is JSON: runtime ("tpurt" or "bmlib"), library (its path), link and memory (descriptors of the socket and of the
shared memory), parent (its process). Environment variables name the emulator. The process sends ``{"ready": true}``.
Then it answers each request ``{"library", "bytes", "blocks", "launches"}`` by ``{"done": true}`` or ``{"failed":
message}``, until the parent ends.
"""

from __future__ import annotations

import ctypes
import glob
import json
import os
import select
import shutil
import signal
import socket
import sys
import threading
import time
from typing import Any

from tile_tpu.cmodel import messages
from tile_tpu.cmodel.arena import Arena, Placed
from tile_tpu.runtimes.records import Launch, Pointer, Runtime, RuntimeFailure


def main() -> None:
    config = json.loads(sys.argv[1])
    link = socket.socket(fileno=config["link"])
    _wake_with_parents_end()
    threading.Thread(target=_leave_with, args=(config["parent"], link.fileno()), daemon=True).start()
    _flush_lines()
    forget_files(os.getpid())
    arena = Arena(config["memory"])
    try:
        runtime = _runtime(config["runtime"], config["library"])
        messages.send(link, {"ready": True})
    except RuntimeFailure as failure:
        messages.send(link, {"failed": str(failure)})
        _end()
    while (request := messages.receive(link)) is not None:
        messages.send(link, _answer(runtime, arena, request))
    _end()


def _runtime(kind: str, path: str) -> Runtime:
    if kind == "tpurt":
        from tile_tpu.runtimes.tpurt import TpuRt

        return TpuRt(path)
    from tile_tpu.runtimes.bmlib import Bmlib

    return Bmlib(path)


def _answer(runtime: Runtime, arena: Arena, request: dict[str, Any]) -> dict[str, Any]:
    blocks = [Placed(*block) for block in request["blocks"]]
    launches = [
        Launch(entry, bytes.fromhex(arguments), [Pointer(*p) for p in pointers], items)
        for entry, arguments, pointers, items in request["launches"]
    ]
    try:
        arena.run(runtime, request["library"], request["bytes"], blocks, launches)
    except RuntimeFailure as failure:
        return {"failed": str(failure)}
    return {"done": True}


def forget_files(process: int) -> None:
    """Removes the files that the runtime leaves of a process: a folder ``/tmp/<process>-<core>`` for each core."""
    for path in glob.glob(f"/tmp/{process}-[0-9]*"):
        shutil.rmtree(path, ignore_errors=True)


def _flush_lines() -> None:
    """Makes C's stdout line-buffered, so that lines are not lost when a kernel crashes."""
    libc = ctypes.CDLL(None)
    try:
        stdout = ctypes.c_void_p.in_dll(libc, "stdout")
    except ValueError:
        return
    libc.setvbuf(stdout, None, 1, ctypes.c_size_t(0))  # 1: _IOLBF


def _wake_with_parents_end() -> None:
    """Requests SIGCONT when the parent ends: the parent stops this process between requests, and it must not stay
    stopped. (The signal also comes when the parent's thread that started this process ends; then the process runs until
    the next request.)"""
    set_parent_death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGCONT, 0, 0, 0)


def _leave_with(parent: int, link: int) -> None:
    """Ends this process when the parent has ended, also while a kernel runs. A fork of the parent may keep the socket
    open, so the parent's process id is checked too."""
    watch = select.poll()
    watch.register(link, select.POLLRDHUP)
    while os.getppid() == parent and not watch.poll(1000):
        pass
    time.sleep(0.2)  # an idle main thread notices the end itself
    _end()


def _end() -> None:
    forget_files(os.getpid())
    os._exit(0)


if __name__ == "__main__":
    main()
