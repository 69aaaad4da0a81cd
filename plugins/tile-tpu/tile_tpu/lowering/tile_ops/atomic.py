"""Atomics of tiles on tensors: plain reads, operations and writes, as the blocks of a core run one after the other.

The chips have no atomic operations on memory. The blocks of a kernel with such atomics run on one core where they may
access the same elements (``block_dependences.py``).
"""

from __future__ import annotations

from typing import Any

from tile_tpu.lowering.state import TileLayouts
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import FACTS
from tilecore.ir.build import cast, constant, dtype_of, load, nest, store
from tilecore.ir.nodes import Expr, Stmt, TensorRegion, tirx
from tilecore.ir.reductions import has_meaning, join
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.tile_ops.copies import axes_of, indices_of

_KINDS = {"add": "sum", "max": "max", "min": "min", "and": "bitand", "or": "bitor", "xor": "bitxor"}
_REPLACING = ("exchange", "store")


def declines(call: TileCall, env: PassEnv) -> str | None:
    dtype = dtype_of(call.dst.source)
    if call.kind not in _REPLACING and (call.kind not in _KINDS or not has_meaning(_KINDS[call.kind], dtype)):
        return f"the tensor unit has no {call.kind} of {dtype}"
    if any(constant(r.extent) is None for r in call.dst.region):
        return "the size of the tile is not a compile-time constant"
    return "it accesses one element only" if not axes_of(call.dst) else None


def lower_atomic(call: TileCall, env: PassEnv) -> Stmt:
    """A parallel nest that reads, combines and writes each element once."""
    target, value = call.dst, call.value
    axes = axes_of(target)
    dtype = dtype_of(target.source)

    def body(variables: list[Any]) -> Stmt:
        where = indices_of(target, axes, variables)
        operand = value
        if isinstance(value, TensorRegion):
            operand = load(value.source, indices_of(value, axes_of(value), variables), call.span)
        operand = cast(operand, dtype)
        if call.kind not in _REPLACING:
            operand = _combined(call.kind, load(target.source, where, call.span), operand, dtype)
        return store(target.source, operand, where, call.span)

    return nest([target.region[axis].extent for axis in axes], body, span=call.span)


def _combined(kind: str, old: Expr, value: Expr, dtype: str) -> Expr:
    """The old value combined with the new one. max and min of a NaN in memory and a number are the number."""
    if kind in ("max", "min") and FACTS[dtype].kind == "float":
        return (tirx.Max if kind == "max" else tirx.Min)(old, value)
    return join(_KINDS[kind], old, value)


IMPLEMENTATIONS = (
    TileOpImpl("atomic", "read, combine, write", lower_atomic, declines, priority=10, needs=(TileLayouts,)),
)
