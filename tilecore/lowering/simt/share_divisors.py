"""Marks float32 divisions of many numbers by one: a code generator may compute the divisor's reciprocal once.

``simt.quotient(a, b)`` is ``a / b``, with the same rounding.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import constant, dtype_of, with_body
from tilecore.ir.contraction import is_fma
from tilecore.ir.nodes import (
    BufferStore,
    Call,
    Div,
    For,
    ForKind,
    PrimFunc,
    TensorLoad,
    structural_map,
    structural_mutate,
)
from tilecore.ir.register_call import register_call
from tilecore.ir.visit import collect, reads_variable

QUOTIENT = register_call("simt.quotient", pure=True)


def share_divisors(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def loop(node: For, mutator: Any) -> Any:
        made = mutator.default_mutate(node)
        return _shared(made) if made.kind == ForKind.UNROLLED else made

    return func.with_body(structural_mutate(func.body, [(For, loop)]))


def _shared(node: For) -> For:
    """The loop with the divisions whose divisor stays the same."""
    written = {s.buffer for s in collect(node.body, BufferStore)}

    def divide(n: Any) -> Any:
        if dtype_of(n) != "float32" or constant(n.b) is not None or reads_variable(n.b, node.loop_var):
            return n
        if any(load.source in written for load in collect(n.b, TensorLoad)) or any(
            not is_fma(c) for c in collect(n.b, Call)
        ):
            return n
        return Call(QUOTIENT, [n.a, n.b], ret_ty="float32")

    return with_body(node, structural_map(node.body, (Div, divide)))


SHARE_DIVISORS = Pass("share_divisors", share_divisors)
