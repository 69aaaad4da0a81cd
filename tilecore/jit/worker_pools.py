"""Worker processes for many calls (Pool) and for one borrower at a time (Spares); idle ones are ended after a while."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from tilecore.jit.workers import Local, Runner, Worker

IDLE_SECONDS = 120.0  # a worker process that nobody needs for this long is ended


class Pool(Executor):
    """Calls on at most ``size`` runners, each with a thread of its own that never keeps the interpreter from ending."""

    def __init__(self, size: int, runner: Callable[[], Runner] = Worker) -> None:
        self.size = size
        self.in_process = runner is Local
        self._make_runner = runner
        self._runners: list[Runner] = []
        self._threads: list[threading.Thread] = []
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._unfinished = 0
        self._closed = False

    @property
    def live_workers(self) -> int:
        """How many of its processes run now."""
        return sum(1 for runner in self._runners if getattr(runner, "pid", None))

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As any executor's; keyword arguments are refused."""
        if kwargs:
            raise TypeError("a call in a worker takes positional arguments only")
        return self.submit_timed(None, function, *args)

    def submit_timed(self, timeout: float | None, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """``submit``; WorkerTimeout when the call has not ended ``timeout`` seconds after its start."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool has been shut down")
            self._unfinished += 1
            self._calls.put((future, timeout, function, args))
            if len(self._runners) < min(self.size, self._unfinished):
                runner = self._make_runner()
                self._runners.append(runner)
                self._threads.append(threading.Thread(target=self._serve, args=(runner,), daemon=True))
                self._threads[-1].start()
        return future

    def _serve(self, runner: Runner) -> None:
        patience: float | None = IDLE_SECONDS
        while True:
            try:
                item = self._calls.get(timeout=patience)
            except queue.Empty:
                runner.stop()
                patience = None
                continue
            if item is None:
                runner.stop()
                return
            patience = IDLE_SECONDS
            future, timeout, function, args = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(runner.call(function, *args, timeout=timeout))
                except BaseException as error:
                    future.set_exception(error)
            with self._lock:
                self._unfinished -= 1
            del item, future, function, args  # while waiting for the next call nothing of this one is kept

    def interrupt(self) -> None:
        """Kill the worker processes; calls under way fail, later ones start new processes."""
        for runner in self._runners:
            runner.stop()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and end the processes when those that were taken are done; wait: until then."""
        with self._lock:
            self._closed = True
            while cancel_futures:
                try:
                    item = self._calls.get_nowait()
                except queue.Empty:
                    break
                if item is not None:
                    item[0].cancel()
            for _ in self._threads:
                self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()


class Spares:
    """Worker processes that are lent one at a time and kept for the next borrower, by what they are used for."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self.idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._free: dict[str, list[tuple[Worker, threading.Timer]]] = {}

    def borrow(self, purpose: str) -> Worker:
        """A worker that nobody else uses now; an idle one if there is one."""
        with self._lock:
            free = self._free.setdefault(purpose, [])
            if not free:
                return Worker()
            worker, timer = free.pop()
        timer.cancel()
        return worker

    def give_back(self, purpose: str, worker: Worker) -> None:
        """Its process is ended when nobody borrows it for a while."""
        timer = threading.Timer(self.idle_seconds, self._end, (purpose, worker))
        timer.daemon = True
        with self._lock:
            self._free.setdefault(purpose, []).append((worker, timer))
        timer.start()

    def _end(self, purpose: str, worker: Worker) -> None:
        with self._lock:
            remaining = [item for item in self._free[purpose] if item[0] is not worker]
            lent = len(remaining) == len(self._free[purpose])
            self._free[purpose] = remaining
        if not lent:
            worker.stop()


def shared_pool(size: int) -> Pool:
    """The process-wide pool of worker processes, for at least ``size`` of them; they stay for the next time."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Pool(size)
        _shared.size = max(_shared.size, size)
        return _shared


def live_workers() -> int:
    """How many processes of the shared pool are up."""
    pool = _shared
    return 0 if pool is None else pool.live_workers


spares = Spares()
_shared: Pool | None = None
_shared_lock = threading.Lock()


def _after_fork() -> None:
    """The parent's workers are not the child's."""
    global spares, _shared, _shared_lock
    spares, _shared, _shared_lock = Spares(), None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
