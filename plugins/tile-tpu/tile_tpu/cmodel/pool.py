"""The pool of CModel processes: one for each chip (with bmlib: for each kernel library), which live on between
calls."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from tile_tpu.cmodel.kernel_files import KernelLibrary
from tile_tpu.cmodel.process import Worker, WorkerConfig, WorkerEnded

MOST = 4  # the most processes in the pool; each has some 140 MB
MOST_KERNELS = 150  # the most kernels in a process: the CModel's table has 2048 entries, and a kernel takes 10 of them
TRIES = 3  # the attempts to start a process


class Slot:
    """The slot of one process. lock: the owner of the lock may use the process."""

    def __init__(self, config: WorkerConfig) -> None:
        self.config = config
        self.lock = threading.Lock()
        self.worker: Worker | None = None
        self.loaded: dict[Path, int] = {}  # libraries that the process has, and how many kernels they register

    def ready(self, kernels: KernelLibrary | None = None) -> Worker:
        """The process; a new one is started where there is none with room for these kernels. Raises WorkerEnded."""
        if self.worker is not None and not self.worker.alive:
            self.close()
        if kernels is not None and kernels.path not in self.loaded:
            if sum(self.loaded.values()) + kernels.kernels > MOST_KERNELS:
                self.close()
            self.loaded[kernels.path] = kernels.kernels
        if self.worker is None:
            self.worker = _started(self.config)
        return self.worker

    def close(self) -> None:
        worker, self.worker = self.worker, None
        self.loaded.clear()
        if worker is not None:
            worker.close()


def _started(config: WorkerConfig) -> Worker:
    """A new process. The vendor's runtime searches for free network ports and may take those of another process that
    starts at the same time; both then wait forever. So processes start one after the other, and a start that hangs is
    repeated."""
    for tries_left in reversed(range(TRIES)):
        with _starting():
            try:
                return Worker(config)
            except WorkerEnded as ended:
                if not (ended.is_late and tries_left):
                    raise
    raise AssertionError("not reached")


@contextlib.contextmanager
def _starting() -> Iterator[None]:
    """A lock between all processes of this user, for the start of a CModel."""
    path = os.path.join(tempfile.gettempdir(), f"tilecore-tpu-{os.getuid()}.lock")
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


_slots: dict[WorkerConfig, Slot] = {}
_lock = threading.Lock()


def slot(config: WorkerConfig) -> Slot:
    """The slot for ``config``. Where there are too many, the least recently used processes are closed."""
    with _lock:
        worker_slot = _slots.pop(config, None) or Slot(config)
        _slots[config] = worker_slot
        surplus = list(_slots)[: max(len(_slots) - MOST, 0)]
        for old in surplus:
            if _slots[old].lock.acquire(blocking=False):
                unused = _slots.pop(old)
                unused.close()
                unused.lock.release()
        return worker_slot


def close_all() -> None:
    """Ends all processes, also those that run kernels. The next call starts new ones."""
    with _lock:
        for worker_slot in _slots.values():
            worker_slot.close()
        _slots.clear()


def _forget() -> None:
    """Forgets all processes after a fork, as they belong to the parent."""
    global _lock
    _lock = threading.Lock()
    for worker_slot in _slots.values():
        if worker_slot.worker is not None:
            worker_slot.worker.forget()
    _slots.clear()


atexit.register(close_all)
os.register_at_fork(after_in_child=_forget)
