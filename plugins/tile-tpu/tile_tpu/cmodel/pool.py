"""The CModel's processes of this one: one for each chip (bmlib: for each kernel library), kept warm between calls."""

from __future__ import annotations

import atexit
import os
import threading

from tile_tpu.cmodel.process import Worker, WorkerConfig

MOST = 4  # processes that are kept; each has some 140 MB


class Slot:
    """Place of one process. lock: who holds it may use the process."""

    def __init__(self, config: WorkerConfig) -> None:
        self.config = config
        self.lock = threading.Lock()
        self.worker: Worker | None = None

    def ready(self) -> Worker:
        """The process, started if there is none; raises WorkerEnded."""
        if self.worker is not None and not self.worker.alive:
            self.close()
        if self.worker is None:
            self.worker = Worker(self.config)
        return self.worker

    def close(self) -> None:
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.close()


_slots: dict[WorkerConfig, Slot] = {}
_lock = threading.Lock()


def slot(config: WorkerConfig) -> Slot:
    """The one for ``config``; processes that were not used for longest make room."""
    with _lock:
        found = _slots.pop(config, None) or Slot(config)
        _slots[config] = found
        surplus = list(_slots)[: max(len(_slots) - MOST, 0)]
        for old in surplus:
            if _slots[old].lock.acquire(blocking=False):
                unused = _slots.pop(old)
                unused.close()
                unused.lock.release()
        return found


def close_all() -> None:
    """End all processes, also those that work; the next call starts fresh ones."""
    with _lock:
        for found in _slots.values():
            found.close()
        _slots.clear()


def _forget() -> None:
    """In a fork: the processes are its parent's."""
    global _lock
    _lock = threading.Lock()
    for found in _slots.values():
        if found.worker is not None:
            found.worker.forget()
    _slots.clear()


atexit.register(close_all)
os.register_at_fork(after_in_child=_forget)
