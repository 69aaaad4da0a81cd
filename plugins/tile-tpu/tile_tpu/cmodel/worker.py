"""The CModel's process: ``python -m tile_tpu.cmodel.worker CONFIG``. Only the standard library and ctypes.

CONFIG is JSON: runtime ("tpurt" or "bmlib"), library (its path), link and memory (descriptors of the socket and of the
shared memory), parent (its process). The environment names the emulator. It answers ``{"ready": true}``, then each
request ``{"library", "bytes", "blocks", "launches"}`` by ``{"done": true}`` or ``{"failed": words}``, until the parent
goes.
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
    """Remove what the runtime leaves of a process: a folder ``/tmp/<process>-<core>`` for each core."""
    for path in glob.glob(f"/tmp/{process}-[0-9]*"):
        shutil.rmtree(path, ignore_errors=True)


def _flush_lines() -> None:
    """Let C's stdout write whole lines at once, so that they are there when a kernel crashes."""
    libc = ctypes.CDLL(None)
    try:
        stdout = ctypes.c_void_p.in_dll(libc, "stdout")
    except ValueError:
        return
    libc.setvbuf(stdout, None, 1, ctypes.c_size_t(0))  # 1: _IOLBF


def _wake_with_parents_end() -> None:
    """The parent stops this process between requests; it must not stay so when the parent is gone. (The signal also
    comes when only the parent's thread ends that started this process: then it is awake until the next request.)"""
    set_parent_death_signal = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGCONT, 0, 0, 0)


def _leave_with(parent: int, link: int) -> None:
    """End when the parent has ended, also while a kernel runs. A fork of the parent may keep the socket open, so its
    number is looked at too."""
    watch = select.poll()
    watch.register(link, select.POLLRDHUP)
    while os.getppid() == parent and not watch.poll(1000):
        pass
    time.sleep(0.2)  # an idle main thread sees the end by itself
    _end()


def _end() -> None:
    forget_files(os.getpid())
    os._exit(0)


if __name__ == "__main__":
    main()
