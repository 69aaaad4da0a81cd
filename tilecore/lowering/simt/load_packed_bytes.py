"""Makes loads of packed bytes atomic where another thread may store the other element of the byte at the same time.

``unpack_int4`` stores single 4-bit elements by atomic operations on their byte. A thread that reads the other element
of the byte at the same time must read it atomically, too; the two operations need no order.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import const, dtype_of, op_name
from tilecore.ir.nodes import BufferLoad, Call, PrimFunc, TensorLoad, structural_mutate
from tilecore.ir.tile_ops import tile_call
from tilecore.lowering.state import HalfStores


def load_packed_bytes(func: PrimFunc, env: PassEnv) -> PrimFunc:
    packed = env.state(HalfStores).buffers
    if not packed:
        return func

    def load(node: TensorLoad, mutator: Any) -> Any:
        mutated = mutator.default_mutate(node)
        if node.source not in packed:
            return mutated
        dtype = dtype_of(node)
        element = BufferLoad(node.source, list(mutated.indices), span=node.span)
        return tile_call("atomic_element", [element, const(0, dtype), "load", "relaxed"], dtype=dtype)

    def call(node: Call, mutator: Any) -> Any:
        """A load that is an argument of a target's operation stands for an address and is not loaded."""
        if "." not in op_name(node):
            return mutator.default_mutate(node)
        args = [mutator.default_mutate(a) if isinstance(a, TensorLoad) else mutator.mutate(a) for a in node.args]
        return Call(node.op, args, attrs=node.attrs, ret_ty=node.ty, span=node.span)

    return func.with_body(structural_mutate(func.body, [(TensorLoad, load), (Call, call)]))


LOAD_PACKED_BYTES = Pass("load_packed_bytes", load_packed_bytes, needs=(HalfStores,))
