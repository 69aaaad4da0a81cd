"""Worker processes: calls of importable functions in fresh interpreters, under a deadline.

Unlike multiprocessing's, these workers do not run the user's script again (it needs no ``if __name__ ==`` guard), a
worker that dies fails its own call only, and one that hangs can be killed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError  # its own class before Python 3.11
from typing import Any, Protocol

from tilecore.errors import ToolchainError
from tilecore.jit.worker_main import encode_call, read_message, write_message

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


_alive: weakref.WeakSet[Worker] = weakref.WeakSet()


def _stop_all() -> None:
    for worker in list(_alive):
        worker.stop()


def _after_fork() -> None:
    """The parent's workers are not the child's."""
    global _alive
    _alive = weakref.WeakSet()


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
