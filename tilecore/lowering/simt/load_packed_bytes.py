"""Loads of bytes that hold two elements each, where another thread may change the other half meanwhile.

``unpack_int4`` stores single halves by atomic operations. Who reads the other half of the byte at the same time reads
it by an atomic operation too: there is no order between the two, and none is needed.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import const, dtype_of, op_name
from tilecore.ir.nodes import BufferLoad, Call, PrimFunc, TensorLoad, structural_mutate
from tilecore.ir.tile_ops import tile_call
from tilecore.lowering.buffers.unpack_int4 import HALVES


def load_packed_bytes(func: PrimFunc, env: PassEnv) -> PrimFunc:
    halves = env.facts.get(HALVES)
    if not halves:
        return func

    def load(node: TensorLoad, mutator: Any) -> Any:
        made = mutator.default_mutate(node)
        if node.source not in halves:
            return made
        dtype = dtype_of(node)
        element = BufferLoad(node.source, list(made.indices), span=node.span)
        return tile_call("atomic_element", [element, const(0, dtype), "load", "relaxed"], dtype=dtype)

    def call(node: Call, mutator: Any) -> Any:
        """What an operation of the target's is given is a place."""
        if "." not in op_name(node):
            return mutator.default_mutate(node)
        args = [mutator.default_mutate(a) if isinstance(a, TensorLoad) else mutator.mutate(a) for a in node.args]
        return Call(node.op, args, attrs=node.attrs, ret_ty=node.ty, span=node.span)

    return func.with_body(structural_mutate(func.body, [(TensorLoad, load), (Call, call)]))


LOAD_PACKED_BYTES = Pass("load_packed_bytes", load_packed_bytes)
