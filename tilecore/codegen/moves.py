"""Emits copies between buffers of one or several adjacent elements, with or without a cache hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.codegen.refusal import refuse
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import AttrStmt, BufferStore, Ramp, TensorLoad

if TYPE_CHECKING:
    from tilecore.codegen.statements import Statements

# key of an AttrStmt around moves, with a StringImm: data that is used once, or leaves the second level of cache first
# or last
HINT = "simt.move_hint"
HINTS = ("streaming", "evict_first", "evict_last")
_SIZES = (2, 4, 8, 16)


def with_hint(emit: Statements, node: AttrStmt) -> None:
    """The body, its moves with the hint of ``node``."""
    before, emit.move_hint = emit.move_hint, str(node.value.value)
    if emit.move_hint not in HINTS:
        refuse(node, emit.dialect.kind, "one of " + ", ".join(HINTS), f"the hint {emit.move_hint!r} for moves")
    emit.emit(node.body)
    emit.move_hint = before


def vector(emit: Statements, node: BufferStore, index: Ramp) -> None:
    """A vector from buffer to buffer."""
    source = node.value
    lanes, size = int(index.lanes), (FACTS[dtype_of(node.buffer)].bits + 7) // 8
    whole = isinstance(source, TensorLoad) and isinstance(source.indices[0], Ramp)
    if not whole or constant(index.stride) != 1 or constant(source.indices[0].stride) != 1:
        refuse(node, emit.dialect.kind, "neighbouring elements of one buffer", "a vector that is no move")
    if dtype_of(source.source) != dtype_of(node.buffer) or lanes * size not in _SIZES:
        refuse(node, emit.dialect.kind, what=f"a move of {lanes} {dtype_of(source.source)}")
    move(emit, node, index, lanes * size)


def is_hinted(emit: Statements, node: BufferStore) -> bool:
    """Is it one element from buffer to buffer, one of them in global memory, with a hint?"""
    source = node.value
    plain = isinstance(source, TensorLoad) and dtype_of(source) == dtype_of(node.buffer)
    return bool(emit.move_hint) and plain and (_is_global(source.source) or _is_global(node.buffer))


def move(emit: Statements, node: BufferStore, index: Any, size: int) -> None:
    """``size`` bytes. A hint is for the side in global memory; where both are, for what is loaded."""
    word = "move"
    if emit.move_hint and _is_global(node.value.source):
        word = f"load_{emit.move_hint}"
    elif emit.move_hint and _is_global(node.buffer):
        word = f"store_{emit.move_hint}"
    target = emit.expressions.place_at(node.buffer, index)
    name = emit.dialect.forms.sized(f"tc_{word}", size)
    emit.line(f"{name}({target}, {emit.expressions.place(node.value)});")


def _is_global(buffer: Any) -> bool:
    return str(buffer.scope()) in ("", "global")
