"""Emits copies between buffers of one or several adjacent elements, with or without a cache hint."""

from __future__ import annotations

from typing import Any

from tilecore.codegen.lines import Lines
from tilecore.codegen.refusal import refuse
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import BufferStore, Ramp, TensorLoad

# values of StatementAttr.MOVE_HINT: data that is used once, or leaves the second level of cache first or last
HINTS = ("streaming", "evict_first", "evict_last")
_SIZES = (2, 4, 8, 16)


class Moves(Lines):
    """Emits copies from buffer to buffer. ``move_hint``: that of the statement around, "" for none."""

    move_hint = ""

    def vector_move(self, node: BufferStore, index: Ramp) -> None:
        """A vector from buffer to buffer. Raises UnsupportedError for any other vector."""
        source = node.value
        lanes, size = int(index.lanes), (FACTS[dtype_of(node.buffer)].bits + 7) // 8
        whole = isinstance(source, TensorLoad) and isinstance(source.indices[0], Ramp)
        if not whole or constant(index.stride) != 1 or constant(source.indices[0].stride) != 1:
            refuse(node, self.dialect.kind, "neighbouring elements of one buffer", "a vector that is no move")
        if dtype_of(source.source) != dtype_of(node.buffer) or lanes * size not in _SIZES:
            refuse(node, self.dialect.kind, what=f"a move of {lanes} {dtype_of(source.source)}")
        self.emit_move(node, index, lanes)

    def is_hinted(self, node: BufferStore) -> bool:
        """Is it one element from buffer to buffer, one of them in global memory, with a hint?"""
        source = node.value
        plain = isinstance(source, TensorLoad) and dtype_of(source) == dtype_of(node.buffer)
        return bool(self.move_hint) and plain and (_is_global(source.source) or _is_global(node.buffer))

    def emit_move(self, node: BufferStore, index: Any, count: int) -> None:
        """``count`` adjacent elements from ``node.value``, a load, to ``node.buffer`` at ``index``: numbers, or vectors
        of indices whose ``base`` is the first. A hint is for the side in global memory; where both are, for what is
        loaded."""
        word = "move"
        if self.move_hint and _is_global(node.value.source):
            word = f"load_{self.move_hint}"
        elif self.move_hint and _is_global(node.buffer):
            word = f"store_{self.move_hint}"
        size = count * ((FACTS[dtype_of(node.buffer)].bits + 7) // 8)
        places = self.place_at(node.buffer, index), self.place(node.value)
        self.call_line(self.sized_function(f"tc_{word}", size, *places))


def _is_global(buffer: Any) -> bool:
    return str(buffer.scope()) in ("", "global")
