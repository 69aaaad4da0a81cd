"""Batches the divisions of an unrolled loop by one divisor, so that one test chooses the fast path for all of them.

A loop whose only statement stores a value that contains ``a(i) / b`` is split: a loop that writes all ``a(i)`` to an
array of registers, the division of that array by ``b`` (``tc_quotients``), and the loop with the elements of the array
in place of the divisions. The dividends must not depend on what the loop stores. docs/notes/gpu.md has the gain.

With TL_ENABLE_FAST_MATH, ``a(i) / b`` is ``a(i) * (1 / b)`` instead, with an approximate reciprocal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tile_cuda import instructions
from tile_cuda.options import FAST_MATH
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, load, op_name, seq, store, with_body
from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferStore,
    Call,
    For,
    ForKind,
    PrimFunc,
    Stmt,
    TensorLoad,
    Var,
    structural_equal,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.thread_calls import QUOTIENT
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, reads_variable, substitute

_MOST = 64  # elements: a larger array would not stay in registers


def batch_divisions(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if not any(op_name(call) == QUOTIENT for call in collect(func.body, Call)):
        return func
    if FAST_MATH.value_in(env.config):
        return func.with_body(structural_map(func.body, (Call, _by_reciprocal)))
    analyzer, roots = Analyzer(), memory_roots(func.body)

    def loop(node: For, mutator: Any) -> Any:
        changed = mutator.default_mutate(node)
        size = constant(changed.extent)
        if changed.kind != ForKind.UNROLLED or constant(changed.min) != 0 or size is None or not 1 < size <= _MOST:
            return changed
        return _split_loop(changed, size, analyzer, roots)

    return func.with_body(structural_mutate(func.body, [(For, loop)]))


def _by_reciprocal(call: Call) -> Any:
    if op_name(call) != QUOTIENT:
        return call
    dividend, divisor = call.args
    return dividend * (const(1.0, dtype_of(divisor)) / divisor)


def _split_loop(node: For, size: int, analyzer: Analyzer, roots: Mapping[Var, Var]) -> Stmt:
    body = node.body
    if not isinstance(body, BufferStore):
        return node
    calls = list(collect(body.value, Call))
    quotients = [call for call in calls if op_name(call) == QUOTIENT]
    if len(quotients) != 1 or any(op_name(call) == "if_then_else" for call in calls):
        return node  # the dividends would be read without the condition that guards them
    dividend, divisor = quotients[0].args
    if not reads_variable(dividend, node.loop_var) or effect_in(body.value):
        return node
    if not is_independent(dividend, body, node.loop_var, analyzer, roots):
        return node
    array = tirx.decl_buffer([size], "float32", "quotients", scope="local", layout=None)
    first = Var(str(node.loop_var.name), node.loop_var.ty)
    fill = store(array, substitute(dividend, {node.loop_var: first}), [first], body.span)
    filled = For(first, node.min, node.extent, node.kind, fill, annotations=node.annotations, span=node.span)
    value = structural_map(
        body.value, (Call, lambda call: load(array, [node.loop_var]) if op_name(call) == QUOTIENT else call)
    )
    rest = with_body(node, BufferStore(body.buffer, value, body.indices, span=body.span))
    divided = instructions.quotients(load(array, [const(0, "int32")]), divisor, size, body.span)
    return seq([AllocBuffer(array), filled, divided, rest])


def is_independent(value: Any, body: BufferStore, var: Var, analyzer: Analyzer, roots: Mapping[Var, Var]) -> bool:
    """Whether a value that the iteration computes reads no element that an earlier iteration stores.

    It may read the element that its own iteration stores, where each iteration stores another element.
    """
    memory = roots.get(body.buffer, body.buffer)
    reads = [read for read in collect(value, TensorLoad) if roots.get(read.source, read.source) == memory]
    if not reads:
        return True
    (index,) = body.indices
    step = constant(analyzer.simplify(substitute(index, {var: var + const(1, str(var.ty.dtype))}) - index))
    return bool(step) and all(read.source == body.buffer and structural_equal(read.indices[0], index) for read in reads)


BATCH_DIVISIONS = Pass("batch_divisions", batch_divisions)
