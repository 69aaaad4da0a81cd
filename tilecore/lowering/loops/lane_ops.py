"""Defines calls for operations on vector lanes that TVM has no node for: masked accesses and reductions across lanes.

The code generators of targets with vectors implement these calls.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import BufferLoad, Call, Evaluate, Expr, Stmt
from tilecore.ir.register_call import register_call

# (element: BufferLoad at the vector's indices, mask, other): lanes whose mask is false are not read and give `other`
MASKED_LOAD = register_call("tile.masked_load")
# (element: BufferLoad at the vector's indices, value, mask): lanes whose mask is false are not written
MASKED_STORE = register_call("tile.masked_store")
# (vector, kind): all lanes reduced to one scalar
ACROSS = register_call("tile.across_lanes")


def masked_load(buffer: Any, index: Expr, mask: Expr, other: Expr) -> Expr:
    element = BufferLoad(buffer, [index])
    return Call(MASKED_LOAD, [element, mask, other], ret_ty=dtype_of(element))


def masked_store(buffer: Any, index: Expr, value: Expr, mask: Expr, span: Any = None) -> Stmt:
    call = Call(MASKED_STORE, [BufferLoad(buffer, [index]), value, mask], ret_ty="void")
    return Evaluate(call, span=span)


def across_lanes(vector: Expr, kind: str) -> Expr:
    from tilecore.ir.nodes import StringImm

    return Call(ACROSS, [vector, StringImm(kind)], ret_ty=str(vector.ty.dtype).rsplit("x", 1)[0])


# (element: BufferLoad): the bytes that start at the element, as another type
RAW_LOAD = register_call("tile.raw_load")


def raw_load(element: Expr, dtype: str) -> Expr:
    """The memory at ``element`` read as a value of ``dtype`` (which may be a vector)."""
    return Call(RAW_LOAD, [element], ret_ty=dtype)
