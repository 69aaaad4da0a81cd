"""Global memory that a kernel needs beside its arguments."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from tilecore.runtime.adapter import KernelAdapter
from tilecore.runtime.artifact import Workspace
from tilecore.runtime.dims import evaluate
from tilecore.runtime.tensors import view

_KEPT = 8  # sets of static workspaces a thread keeps, one per device and stream


class Workspaces(threading.local):
    """The workspaces of one kernel, as one thread sees them.

    Those whose size never changes are kept per device and stream, since launches on one stream follow each other;
    the others are allocated at each call.
    """

    def __init__(self, workspaces: tuple[Workspace, ...], adapter: KernelAdapter) -> None:
        self._workspaces = workspaces
        self._adapter = adapter
        self._static = all(isinstance(size, int) for w in workspaces for size in w.shape)
        self._kept: dict[tuple[int, int], tuple[tuple[int, ...], list[Any]]] = {}

    def get(self, symbols: Mapping[str, int], device_index: int, stream: int) -> tuple[tuple[int, ...], list[Any]]:
        """(addresses, tensors that own them); keep the tensors until the launch has returned."""
        if not self._static:
            return self._allocate(symbols, device_index)
        found = self._kept.get((device_index, stream))
        if found is None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            found = self._kept[device_index, stream] = self._allocate(symbols, device_index)
        return found

    def _allocate(self, symbols: Mapping[str, int], device_index: int) -> tuple[tuple[int, ...], list[Any]]:
        tensors = [
            self._adapter.empty(tuple(evaluate(size, symbols) for size in w.shape), w.dtype, device_index)
            for w in self._workspaces
        ]
        return tuple(view(tensor).address for tensor in tensors), tensors
