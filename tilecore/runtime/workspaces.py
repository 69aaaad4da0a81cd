"""Allocates the workspaces of kernels: global memory besides the arguments."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import evaluate
from tilecore.contract.adapter import KernelAdapter
from tilecore.tensors.views import empty_array, storage_of, view

if TYPE_CHECKING:
    from tilecore.artifact.records import Workspace

_MOST_SETS = 8  # sets of workspaces that a thread keeps, one per device and stream
_MOST_HOST_SETS = 64  # those of the kernels of the host, in the memory of a thread
_Set = tuple[tuple[int, ...], list[Any]]
_Place = tuple[int, int, Any, tuple[int, ...]]  # its bytes from, up to; numpy's dtype; the shape
_MOST_SHARED_BYTES = 64 << 20  # larger workspaces of the host belong to their kernel, and end with it
_LINE = 64  # bytes that the start of a workspace is a multiple of
_first_call_lock = threading.Lock()


class _ThreadSets(threading.local):
    """The sets of one thread, by device and stream, the oldest first."""

    def __init__(self) -> None:
        self.sets: dict[tuple[int, int], _Set] = {}


class _HostMemory(threading.local):
    """What the kernels that one thread runs on the host have their workspaces in: as much as the largest needs.

    sets: the workspaces in it, by whose they are. Each owns its memory, since a finalizer or the handler of a signal
    may call another kernel, which needs a larger buffer, between any two statements.
    """

    def __init__(self) -> None:
        self.buffer: Any = None
        self.sets: dict[Workspaces, _Set] = {}


_host_memory = _HostMemory()


class Workspaces:
    """The workspaces of one kernel.

    Workspaces of constant size are kept per thread, device and stream, since launches on one stream run one after the
    other; the others are allocated at each call. On the host, where a launch has ended when it returns, all kernels of
    a thread have them in the same memory. A launch that is captured into a graph can run many times later, on any
    stream: it gets its own set, which lives as long as the kernel.
    """

    def __init__(self, workspaces: tuple[Workspace, ...], adapter: KernelAdapter) -> None:
        self._workspaces = workspaces
        self._adapter = adapter
        self._static = all(isinstance(size, int) for w in workspaces for size in w.shape)
        self._thread_sets: _ThreadSets | None = None  # from the first call on
        self._captures = adapter_captures(adapter)
        self._on_host = _runs_on_host(adapter) and self._static and self._places()[1] <= _MOST_SHARED_BYTES
        self._captured: dict[tuple[int, int, int], _Set] = {}
        self._of_captures: list[_Set] = []  # of sizes that differ from call to call

    def get(self, symbols: Mapping[str, int], device_index: int, stream: int) -> _Set:
        """(addresses, tensors that own them); keep the tensors until the launch has returned."""
        capture = self._adapter.capture(device_index, stream) if self._captures else 0
        if capture:
            return self._for_capture(symbols, device_index, stream, capture)
        if not self._static:
            return self._allocate(symbols, device_index)
        if self._on_host:
            return _host_memory.sets.get(self) or self._in_host_memory()
        sets = (self._thread_sets or self._first_call()).sets
        workspace_set = sets.get((device_index, stream))
        if workspace_set is None:
            if len(sets) >= _MOST_SETS:
                del sets[next(iter(sets))]
            workspace_set = sets[device_index, stream] = self._allocate(symbols, device_index)
        return workspace_set

    def _first_call(self) -> _ThreadSets:
        with _first_call_lock:  # all threads use one object
            if self._thread_sets is None:
                self._thread_sets = _ThreadSets()
            return self._thread_sets

    def _places(self) -> tuple[list[_Place], int]:
        """Where workspaces of constant size stand that follow one another, and how many bytes they take."""
        places, end = [], 0
        for w in self._workspaces:
            shape, kind = tuple(evaluate(size, {}) for size in w.shape), storage_of(w.dtype)
            start = -(-end // _LINE) * _LINE
            end = start + prod(shape) * kind.itemsize
            places.append((start, end, kind, shape))
        return places, end

    def _in_host_memory(self) -> _Set:
        """The workspaces in the memory of this thread, which grows where it is too small."""
        places, size = self._places()
        buffer, sets = _host_memory.buffer, _host_memory.sets
        if buffer is None or len(buffer) < size:
            _host_memory.buffer = buffer = None  # before the larger one is allocated
            _host_memory.sets = sets = {}
            _host_memory.buffer = buffer = empty_array((size,), "uint8")
        arrays = [buffer[start:end].view(kind).reshape(shape) for start, end, kind, shape in places]
        first = buffer.ctypes.data
        if len(sets) >= _MOST_HOST_SETS:
            sets.clear()
        workspace_set = sets[self] = tuple(first + start for start, *_ in places), arrays
        return workspace_set

    def _for_capture(self, symbols: Mapping[str, int], device_index: int, stream: int, capture: int) -> _Set:
        """The set for a captured launch. Launches of one capture on one stream run in order, so they share a set."""
        if not self._static:
            workspace_set = self._allocate(symbols, device_index)
            self._of_captures.append(workspace_set)
            return workspace_set
        key = (device_index, stream, capture)
        captured_set = self._captured.get(key)
        if captured_set is None:
            captured_set = self._captured.setdefault(key, self._allocate(symbols, device_index))
        return captured_set

    def _allocate(self, symbols: Mapping[str, int], device_index: int) -> _Set:
        tensors = [
            self._adapter.empty(tuple(evaluate(size, symbols) for size in w.shape), w.dtype, device_index)
            for w in self._workspaces
        ]
        return tuple(view(tensor).address for tensor in tensors), tensors


def adapter_captures(adapter: KernelAdapter) -> bool:
    """Whether the adapter overrides ``capture``; ``capture`` is called only where it does."""
    return getattr(type(adapter), "capture", KernelAdapter.capture) is not KernelAdapter.capture


def _runs_on_host(adapter: KernelAdapter) -> bool:
    """Whether the kernels use the host's memory and have no streams, and the adapter leaves their memory to us."""
    return (
        getattr(adapter.empty, "__func__", None) is KernelAdapter.empty
        and getattr(type(adapter), "current_stream", KernelAdapter.current_stream) is KernelAdapter.current_stream
        and not adapter_captures(adapter)
        and adapter.torch_device() == "cpu"
    )
