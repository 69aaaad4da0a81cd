"""The calls ``metal.*`` of thread IR, which only this target has.

An operand that names registers is an element (BufferLoad): the first register of a thread's fragment.
"""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import const, dtype_of
from tilecore.ir.nodes import Call, Evaluate, Expr, Stmt, StringImm
from tilecore.ir.register_call import register_call

# (factor, along M, along N, along K, B along K, d, a, b): tc_multiply_add of the header
MULTIPLY_ADD = register_call("metal.multiply_add")
# (factor, transposed A, transposed B, d, a, b): tc_matmul2d of the header
MATMUL2D = register_call("metal.matmul2d")
# (function, value): the values of all lanes of the simdgroup, reduced; tc_lanes_<function> of the header
REDUCE_LANES = register_call("metal.reduce_lanes")
SCHEDULING_FENCE = register_call("metal.scheduling_fence")  # (): tc_scheduling_fence of the header
# (): all threads of the threadgroup wait for one another, and see what the others wrote to threadgroup memory alone
SHARED_BARRIER = register_call("metal.shared_barrier")


def multiply_add(
    factor: str, products: tuple[int, int, int], b_along_k: bool, d: Any, a: Any, b: Any, span: Any = None
) -> Stmt:
    """The simdgroup computes ``d += a * b`` by products of 8 x 8 matrices (include/tilecore_metal/matrix.h).

    factor: the element type in which a and b are multiplied. products: their number along M, N and K. b_along_k:
    neighbours along K of b follow one another. d, a, b: the first register of each.
    """
    counts = [const(count, "int32") for count in (*products, int(b_along_k))]
    return Evaluate(Call(MULTIPLY_ADD, [StringImm(factor), *counts, d, a, b], ret_ty="void"), span=span)


def matmul2d(factor: str, transposed: tuple[bool, bool], d: Any, a: Any, b: Any, span: Any = None) -> Stmt:
    """The simdgroup computes ``d += a * b`` of 16 x 32 x 16 (include/tilecore_metal/matmul2d.h).

    factor: the element type in which a and b are multiplied. transposed: whether a and b are stored by columns. d, a,
    b: the first register of each.
    """
    flags = [const(int(flag), "int32") for flag in transposed]
    return Evaluate(Call(MATMUL2D, [StringImm(factor), *flags, d, a, b], ret_ty="void"), span=span)


def reduce_lanes(function: str, value: Expr) -> Expr:
    """The value of each lane of the simdgroup, reduced to one that all lanes get (include/tilecore_metal/reductions.h).

    function: sum, product, min, max, and, or, xor.
    """
    return Call(REDUCE_LANES, [StringImm(function), value], ret_ty=dtype_of(value))


def scheduling_fence(span: Any = None) -> Stmt:
    """The compiler moves no load across it. It orders no memory."""
    return Evaluate(Call(SCHEDULING_FENCE, [], ret_ty="void"), span=span)


def shared_barrier(span: Any = None) -> Stmt:
    """A barrier of the threadgroup that orders accesses of threadgroup memory alone."""
    return Evaluate(Call(SHARED_BARRIER, [], ret_ty="void"), span=span)
