"""Marks float32 divisions by a loop-invariant divisor, so that a code generator may compute its reciprocal once.

``simt.quotient(a, b)`` is ``a / b``, with the same rounding.
"""

from __future__ import annotations

from math import frexp
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import dtype_of, with_body
from tilecore.ir.contraction import is_fma
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import (
    Bind,
    Call,
    Div,
    FloatImm,
    For,
    ForKind,
    PrimFunc,
    structural_map,
    structural_mutate,
)
from tilecore.ir.thread_calls import QUOTIENT
from tilecore.ir.thread_ops import thread_call
from tilecore.ir.visit import collect, loads, variables


def share_divisors(func: PrimFunc, env: PassEnv) -> PrimFunc:
    memory = Memory(func.body)

    def loop(node: For, mutator: Any) -> Any:
        changed = mutator.default_mutate(node)
        return _shared(changed, memory) if changed.kind == ForKind.UNROLLED else changed

    return func.with_body(structural_mutate(func.body, [(For, loop)]))


def _shared(node: For, memory: Memory) -> For:
    """The loop with its divisions by loop-invariant divisors marked."""
    writes = writes_of(node.body)
    changing = {node.loop_var}

    def stays(value: Any) -> bool:
        if variables(value) & changing or any(memory.may_change(writes, load.source) for load in loads(value)):
            return False
        return all(is_fma(call) for call in collect(value, Call))

    def divide(n: Any) -> Any:
        if dtype_of(n) != "float32" or _is_power_of_two(n.b) or not stays(n.b):
            return n
        return thread_call(QUOTIENT, [n.a, n.b], dtype="float32", span=n.span)

    for bind in collect(node.body, Bind):
        if not stays(bind.value):
            changing.add(bind.var)
    return with_body(node, structural_map(node.body, (Div, divide)))


def _is_power_of_two(divisor: Any) -> bool:
    """Is the divisor a constant with an exact reciprocal? Compilers multiply by it anyway."""
    return isinstance(divisor, FloatImm) and frexp(abs(float(divisor.value)))[0] == 0.5


SHARE_DIVISORS = Pass("share_divisors", share_divisors)
