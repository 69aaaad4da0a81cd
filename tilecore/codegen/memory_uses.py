"""Finds how a kernel uses its buffers: which are accessed in vectors, viewed as another type, or written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilecore.dtypes import FACTS
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import BufferStore, Call, DeclBuffer, Ramp, TensorLoad, Var, structural_walk
from tilecore.ir.views import source_of

_REGISTER = 4  # bytes: operands of calls are taken as registers


class MemoryUses:
    """Facts of the buffers in a kernel's body; ``read_only``: the parameters that are only read."""

    def __init__(self, body: Any, read_only: Iterable[Var] = ()) -> None:
        self._align: dict[Var, int] = {}
        self._source: dict[Var, Var] = {}
        self._read_only = set(read_only)
        structural_walk(body, [(BufferStore, self._store), (DeclBuffer, self._view), (Call, self._call)])

    def _store(self, node: BufferStore) -> None:
        (index,) = node.indices
        if not isinstance(index, Ramp):
            return
        self._need(node.buffer, int(index.lanes) * _bytes_of(node.buffer))
        if isinstance(node.value, TensorLoad):
            self._need(node.value.source, int(index.lanes) * _bytes_of(node.value.source))

    def _view(self, node: DeclBuffer) -> None:
        source = source_of(node)
        if source is None:
            return
        self._source[node.buffer] = source
        self._need(source, _bytes_of(node.buffer))

    def _call(self, node: Call) -> None:
        for arg in node.args:
            if isinstance(arg, TensorLoad):
                lanes = getattr(arg.indices[0], "lanes", None)
                size = _bytes_of(arg.source)
                self._need(arg.source, min(16, int(lanes) * size) if lanes is not None else max(_REGISTER, size))

    def _need(self, buffer: Var, size: int) -> None:
        while True:
            self._align[buffer] = max(size, self._align.get(buffer, 1))
            if buffer not in self._source:
                return
            buffer = self._source[buffer]

    def is_viewed(self, buffer: Var) -> bool:
        """Does it have another name with another type?"""
        return any(source.same_as(buffer) for source in self._source.values())

    def alignment(self, buffer: Var) -> int:
        """Bytes that its address must be a multiple of."""
        return self._align.get(buffer, 1)

    def is_read_only(self, buffer: Var) -> bool:
        while buffer in self._source:
            buffer = self._source[buffer]
        return buffer in self._read_only


def _bytes_of(buffer: Var) -> int:
    facts = FACTS.get(dtype_of(buffer))
    return (facts.bits + 7) // 8 if facts is not None else 1
