"""Which memory a statement of tile IR may write, as the front end must see it: too much rather than too little."""

from __future__ import annotations

from typing import Any

from tilecore.ir.effects import effect_in
from tilecore.ir.intrinsics import as_address
from tilecore.ir.nodes import BufferStore, Call, Evaluate, Stmt, TensorRegion
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect

EVERYTHING = "everything"
SHARED = "shared"  # all that other threads can write; a thread's own registers stay

_NO_EFFECT_ON_MEMORY = ("assume", "annotate", "print", "device_assert", "shuffle", "ballot", "allreduce")


def written_by(statement: Stmt) -> list[Any]:
    """Buffers, EVERYTHING or SHARED."""
    if isinstance(statement, BufferStore):
        return [statement.buffer, *_by_calls(statement)]
    return _by_calls(statement)


def _by_calls(node: Any) -> list[Any]:
    targets: list[Any] = []
    for call in collect(node, Call):
        pointer = as_address(call)
        if pointer is not None:
            targets += [pointer[0].source] if "w" in pointer[1] else []
            continue
        tile = as_tile_call(call)
        if tile is not None:
            targets += _by_tile_op(tile)
        elif effect_in(call) or (isinstance(node, Evaluate) and call.same_as(node.value)):
            targets.append(EVERYTHING)
    return targets


def _by_tile_op(tile: Any) -> list[Any]:
    if tile.op.name == "atomic_element":
        return [tile.dst.source]
    if tile.op.name in _NO_EFFECT_ON_MEMORY:
        return []
    written = [value.source for name, value in tile.args.items() if name in tile.op.writes]
    if written and all(isinstance(tile.args[name], TensorRegion) for name in tile.op.writes):
        return written
    return [SHARED]  # a barrier: other threads have written by now
