"""T.alloc_reducer with threads: each has a copy of its own that it accumulates into; finalize joins the copies.

What a fill puts in, one thread keeps; the others start from the operation's identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import const, constant, dtype_of, load, loop, store
from tilecore.ir.fragments import REGISTER, Digit, FragmentLayout
from tilecore.ir.nodes import BufferStore, Expr, ForKind, Stmt, TensorLoad, Var, structural_equal, tirx
from tilecore.ir.reductions import identity, joiner
from tilecore.ir.tile_ops import TileCall, tile_call
from tilecore.ir.visit import collect

REDUCERS = "reducers"  # {buffer: kind}, noted before the annotations go


def everywhere(shape: Sequence[int], threads: int) -> FragmentLayout:
    """All elements in every thread."""
    digits, stride = [], 1
    for axis in reversed(range(len(shape))):
        digits.append(Digit(axis, 1, shape[axis], REGISTER, stride))
        stride *= shape[axis]
    return FragmentLayout(tuple(shape), threads, tuple(digits))


def is_fill(node: Any, reducers: dict[Var, str]) -> bool:
    """A store that starts a reducer anew rather than adding to it."""
    if not isinstance(node, BufferStore) or node.buffer not in reducers:
        return False
    return not any(load.source.same_as(node.buffer) for load in collect(node.value, TensorLoad))


def filled(node: BufferStore, kind: str, thread: Expr) -> BufferStore:
    """The fill by one thread of many."""
    neutral = identity(joiner(kind), dtype_of(node.buffer))
    if structural_equal(node.value, neutral):
        return node
    value = tirx.if_then_else(tirx.EQ(thread, const(0, "int32")), node.value, neutral)
    return BufferStore(node.buffer, value, list(node.indices), span=node.span)


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    return {call.buffer.source: everywhere([int(s) for s in call.buffer.source.shape], threads)}


def lower(call: TileCall, env: PassEnv) -> Stmt:
    buffer = call.buffer.source
    kind = joiner(env.facts[REDUCERS][buffer])

    def join(position: list[Any]) -> Stmt:
        value = tile_call("allreduce", [load(buffer, position), kind, 0, 1], dtype=dtype_of(buffer))
        return store(buffer, value, position, call.span)

    def level(axis: int, position: list[Any]) -> Stmt:
        if axis == len(buffer.shape):
            return join(position)
        extent = const(int(constant(buffer.shape[axis]) or 0), "int32")
        return loop(extent, lambda i: level(axis + 1, [*position, i]), name="r", kind=ForKind.UNROLLED)

    return level(0, [])


FINALIZE = TileOpImpl("finalize_reducer", "copies of all threads", lower, priority=1, late=True, fragments=fragments)
