"""Keeps ptxas from dropping the sign of a negated int32 in a minimum or maximum of three values.

From sm_90 on ``min(x, min(y, -z))`` is one instruction, VIMNMX3. ptxas 13.0 emits it with ``z`` instead of ``-z``; it
does so for max too, for all spellings of ``-z``, and where the two minima are separate statements. Unsigned integers
and floats are right. In a kernel that has both negations and minima or maxima of int32, this pass replaces each
negation by a call of ``tc_negative``, which ptxas does not fuse (docs/notes/gpu.md).
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import BufferStore, Div, FloorDiv, Max, Min, Mul, PrimFunc, Sub, TensorLoad, structural_mutate
from tilecore.ir.visit import collect

_FIRST = 90  # the architecture that has the instruction


def keep_signs(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if architecture_of(env.target).capability < _FIRST:
        return func
    if not any(dtype_of(node) == "int32" for node in collect(func.body, Max, Min)):
        return func

    def hide(node: Any, mutator: Any) -> Any:
        negated = _negated(node) if dtype_of(node) == "int32" else None
        return mutator.default_mutate(node) if negated is None else instructions.negative(mutator.mutate(negated))

    def store(node: BufferStore, mutator: Any) -> Any:
        return BufferStore(node.buffer, mutator.mutate(node.value), node.indices, span=node.span)

    rules = [((Mul, Sub, FloorDiv, Div), hide), (BufferStore, store), (TensorLoad, lambda node, mutator: node)]
    return func.with_body(structural_mutate(func.body, rules))


def _negated(node: Any) -> Any:
    """The value x where the expression is -x; None where it is no negation."""
    if isinstance(node, Sub):
        return node.b if constant(node.a) == 0 else None
    if constant(node.b) == -1:
        return node.a
    return node.b if isinstance(node, Mul) and constant(node.a) == -1 else None


KEEP_SIGNS = Pass("keep_signs", keep_signs)
