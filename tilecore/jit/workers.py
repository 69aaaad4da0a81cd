"""Worker processes: calls of importable functions in fresh interpreters, under a deadline, on few processes.

Unlike multiprocessing's, these workers do not run the user's script again (it needs no ``if __name__ ==`` guard), a
worker that dies fails its own call only, and one that hangs can be killed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures import TimeoutError as FutureTimeoutError  # its own class before Python 3.11
from typing import Any, Protocol

from tilecore.errors import ToolchainError
from tilecore.jit.worker_main import encode_call, read_message, write_message

IDLE_SECONDS = 120.0  # a worker process that nobody needs for this long is ended
_START = "import sys; sys.path[:] = sys.argv[1].split('\\n'); from tilecore.jit.worker_main import main; main()"


class WorkerDied(ToolchainError):
    """The process that ran a call ended without an answer."""


class WorkerTimeout(ToolchainError, TimeoutError):
    """A call took longer than it was given."""


class Runner(Protocol):
    """Runs one call at a time."""

    def call(self, function: Callable[..., Any], *args: Any, timeout: float | None = None) -> Any: ...

    def stop(self) -> None: ...


class Worker:
    """A child process, started by its first call and again by the first one after it died or was stopped."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        _alive.add(self)

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def call(self, function: Callable[..., Any], *args: Any, timeout: float | None = None) -> Any:
        """``function(*args)`` in the worker; both must be picklable, the function by its name.

        timeout: seconds, after which the process is killed and WorkerTimeout raised. Raises what the function raises,
        and WorkerDied when the process ends without an answer.
        """
        message = encode_call(function, args)
        with self._lock:
            process = self._start()
            overdue = threading.Event()
            alarm = None
            if timeout is not None:
                alarm = threading.Timer(timeout, _give_up, (process, overdue))
                alarm.daemon = True
                alarm.start()
            try:
                answer = _exchange(process, message)
            except BaseException:
                self._end()
                raise
            finally:
                if alarm is not None:
                    alarm.cancel()
            if answer is None:
                code = self._end()
                if overdue.is_set():
                    raise WorkerTimeout(f"it took longer than {timeout:g} seconds and was stopped")
                raise WorkerDied(f"the process that ran it {_ending(code)}")
        return _opened(answer)

    def stop(self) -> None:
        """End the process; a call under way in another thread fails with WorkerDied."""
        process = self._process
        if process is None:
            return
        _kill(process)
        process.wait()
        if self._lock.acquire(blocking=False):  # else a call is just finding out
            try:
                self._end()
            finally:
                self._lock.release()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        command = [sys.executable, "-c", _START, "\n".join(sys.path)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)
        return self._process

    def _end(self) -> int | None:
        """Make sure that the process is gone; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)  # one that ends by itself tells more than one that is killed
        _kill(process)
        code = process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        return code


class Local:
    """Runs calls in this process. A call that is out of time is no longer waited for, but cannot be stopped: its
    thread goes on until it ends by itself or the process does."""

    def call(self, function: Callable[..., Any], *args: Any, timeout: float | None = None) -> Any:
        if timeout is None:
            return function(*args)
        future: Future[Any] = Future()
        threading.Thread(target=_settle, args=(future, function, args), daemon=True).start()
        try:
            return future.result(timeout)
        except FutureTimeoutError:
            if future.done():  # the function's own
                raise
            raise WorkerTimeout(f"it took longer than {timeout:g} seconds and is no longer waited for") from None

    def stop(self) -> None:
        """Nothing can be stopped."""


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


def _exchange(process: subprocess.Popen[bytes], message: bytes) -> bytes | None:
    """The answer to a message; None when the process is gone."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        write_message(process.stdin, message)  # type: ignore[arg-type]
        return read_message(process.stdout)  # type: ignore[arg-type]
    except (BrokenPipeError, ConnectionError):
        return None


class _RemoteTraceback(Exception):
    """Shows, as the cause of an error, where in the worker it was raised."""


def _opened(answer: bytes) -> Any:
    fine, *rest = pickle.loads(answer)
    if fine:
        return rest[0]
    error, trace = rest
    if trace:
        error.__cause__ = _RemoteTraceback(f"\n{trace}")
    raise error


def _settle(future: Future[Any], function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        future.set_result(function(*args))
    except BaseException as error:
        future.set_exception(error)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The process and whatever it started."""
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _give_up(process: subprocess.Popen[bytes], overdue: threading.Event) -> None:
    overdue.set()
    _kill(process)


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None or code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    why = {"SIGKILL": " (out of memory?)", "SIGSEGV": " (an access outside its memory)"}.get(name, "")
    return f"died of {name}{why}"


_shared: Pool | None = None
_shared_lock = threading.Lock()
_alive: weakref.WeakSet[Worker] = weakref.WeakSet()


def _stop_all() -> None:
    for worker in list(_alive):
        worker.stop()


def _after_fork() -> None:
    """The parent's workers are not the child's."""
    global _shared, _shared_lock, _alive
    _shared, _shared_lock, _alive = None, threading.Lock(), weakref.WeakSet()


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
