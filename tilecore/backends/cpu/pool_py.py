"""The thread pool of host kernels in plain Python: what ``_pool`` does, with more overhead.

A kernel's blocks run in C through ctypes, which releases the GIL, so threads do run at the same time.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

NO_MEMORY = -1
INLINE = 100_000  # nanoseconds of work that are not worth handing to another thread, which takes longer from Python
CHUNKS = 8  # for each thread

_BLOCKS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)

_num_threads = 1
_executor: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()  # held by the launch that uses the executor


class _OwnState(threading.local):
    """What each thread has of its own: scratch memory, and how many launches it is inside of."""

    def __init__(self) -> None:
        self.depth = 0
        self.memory: Any = None


_thread_state = _OwnState()


class Kernel:
    """The entries of a kernel, (address, nanoseconds of one block) each, as a launch in Python."""

    def __init__(self, entries: Sequence[tuple[int, int]]) -> None:
        self._entries = [(_BLOCKS(address), work) for address, work in entries]

    def launch(self, slots: int, grids: int, stream: int) -> int:
        """Run all entries; 0, or the first code that a block returned."""
        sizes = (ctypes.c_int64 * (4 * len(self._entries))).from_address(grids)
        _thread_state.depth += 1
        try:
            for number, (run, work) in enumerate(self._entries):
                x, y, z, scratch = sizes[4 * number : 4 * number + 4]
                code = _run(run, slots, x * y * z, scratch, work)
                if code:
                    return code
            return 0
        finally:
            _thread_state.depth -= 1


def set_num_threads(threads: int) -> None:
    global _num_threads, _executor
    _num_threads = threads
    if _pool_lock.acquire(blocking=False):  # else the launch that has it goes on with the threads it has
        try:
            stale, _executor = _executor, None
        finally:
            _pool_lock.release()
        if stale is not None:
            stale.shutdown(wait=False)


def get_num_threads() -> int:
    return _num_threads


def workers() -> int:
    """How many workers there may be now, beside the calling threads."""
    return 0 if _executor is None else _executor._max_workers


def _run(run: Callable[..., int], slots: int, blocks: int, scratch: int, work: int) -> int:
    if blocks == 0:
        return 0
    threads = min(_num_threads, blocks)
    small = work > 0 and blocks * work < INLINE
    if threads == 1 or small or _thread_state.depth > 1 or not _pool_lock.acquire(blocking=False):
        return _run_range(run, slots, 0, blocks, scratch)
    try:
        return _run_shared(run, slots, blocks, scratch, threads)
    finally:
        _pool_lock.release()


def _run_shared(run: Callable[..., int], slots: int, blocks: int, scratch: int, threads: int) -> int:
    global _executor
    chunk = max(1, blocks // (threads * CHUNKS))
    starts = itertools.count(0, chunk)  # one step is atomic
    codes: list[int] = []

    def take() -> None:
        _thread_state.depth += 1
        try:
            while not codes and (begin := next(starts)) < blocks:
                code = _run_range(run, slots, begin, min(begin + chunk, blocks), scratch, shared=True)
                if code:
                    codes.append(code)
        finally:
            _thread_state.depth -= 1

    try:
        if _executor is None:
            _executor = ThreadPoolExecutor(_num_threads - 1, thread_name_prefix="tilecore")
        others = [_executor.submit(take) for _ in range(threads - 1)]
    except RuntimeError:  # no new threads: the interpreter is ending
        others = []
    take()
    for other in others:
        other.cancel()
    for other in others:
        if not other.cancelled():
            other.result()
    return codes[0] if codes else 0


def _run_range(run: Callable[..., int], slots: int, begin: int, end: int, scratch: int, shared: bool = False) -> int:
    nested = _thread_state.depth > (2 if shared else 1)
    try:
        memory = _scratch(scratch, nested)
    except (MemoryError, OverflowError, ValueError):
        return NO_MEMORY
    start = ctypes.addressof(memory)
    start += -start % 64
    status = ctypes.c_int32.from_address(start)
    status.value = 0
    return run(slots, begin, end, start) or status.value


def _scratch(size: int, nested: bool) -> Any:
    """At least ``size`` bytes, and 64, after the first address in it that is a multiple of 64."""
    size = max(size, 64)
    if not nested and _thread_state.memory is not None and len(_thread_state.memory) >= size + 64:
        return _thread_state.memory
    memory = (ctypes.c_uint8 * (size + 64))()
    if not nested:
        _thread_state.memory = memory
    return memory


def _forget_threads() -> None:
    """A child of fork has none of the threads."""
    global _executor, _pool_lock
    _executor = None
    _pool_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
