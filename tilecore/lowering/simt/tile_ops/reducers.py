"""Lowers T.alloc_reducer: each thread accumulates into a copy of its own, and finalize_reducer reduces the copies.

One thread's copy starts from the value that the kernel fills in, the others start from the operation's identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.ir.build import const, constant, dtype_of, load, loop, store
from tilecore.ir.fragments import REGISTER, Digit, FragmentLayout
from tilecore.ir.nodes import BufferStore, Expr, ForKind, Stmt, TensorLoad, Var, structural_equal, tirx
from tilecore.ir.reductions import combining_kind, identity
from tilecore.ir.tile_ops import TileCall, tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.simt.state import TileFunction


def everywhere(shape: Sequence[int], threads: int) -> FragmentLayout:
    """The layout in which every thread holds all elements."""
    digits, stride = [], 1
    for axis in reversed(range(len(shape))):
        digits.append(Digit(axis, 1, shape[axis], REGISTER, stride))
        stride *= shape[axis]
    return FragmentLayout(tuple(shape), threads, tuple(digits))


def is_fill(node: Any, reducers: dict[Var, str]) -> bool:
    """Is the node a store that initializes a reducer rather than adding to it?"""
    if not isinstance(node, BufferStore) or node.buffer not in reducers:
        return False
    return not any(load.source.same_as(node.buffer) for load in collect(node.value, TensorLoad))


def filled(node: BufferStore, kind: str, thread: Expr) -> BufferStore:
    """The fill of a reducer: the first thread stores the value, the others store the operation's identity."""
    identity_value = identity(combining_kind(kind), dtype_of(node.buffer))
    if structural_equal(node.value, identity_value):
        return node
    value = tirx.if_then_else(tirx.EQ(thread, const(0, "int32")), node.value, identity_value)
    return BufferStore(node.buffer, value, list(node.indices), span=node.span)


def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
    return {call.buffer.source: everywhere([int(s) for s in call.buffer.source.shape], threads)}


def lower(call: TileCall, env: PassEnv) -> Stmt:
    buffer = call.buffer.source
    kind = combining_kind(env.state(TileFunction).reducers[buffer])

    def reduce_element(indices: list[Any]) -> Stmt:
        value = tile_call("allreduce", [load(buffer, indices), kind, 0, 1], dtype=dtype_of(buffer))
        return store(buffer, value, indices, call.span)

    def loop_from(axis: int, indices: list[Any]) -> Stmt:
        if axis == len(buffer.shape):
            return reduce_element(indices)
        extent = const(int(constant(buffer.shape[axis]) or 0), "int32")
        return loop(extent, lambda i: loop_from(axis + 1, [*indices, i]), name="r", kind=ForKind.UNROLLED)

    return loop_from(0, [])


FINALIZE = TileOpImpl(
    "finalize_reducer",
    "copies of all threads",
    lower,
    priority=1,
    late=True,
    fragments=fragments,
    needs=(TileFunction,),
)
IMPLEMENTATIONS = (FINALIZE,)
