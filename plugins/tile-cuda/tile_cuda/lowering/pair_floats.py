"""Computes two neighbouring float32 values of an unrolled loop by one instruction, as the halves of a 64-bit register.

From sm_100 on add, sub, mul and fma have a form for two values (``add.rn.f32x2``, PTX ISA, "Floating Point
Instructions"), which ptxas 13.0 does not choose by itself; for float16 and bfloat16 it does. A loop over an even number
of registers, ``y[i] = f(i)``, becomes a loop over pairs: ``pair = f(2 * p), f(2 * p + 1)``, ``y[2 * p] = low(pair)``,
``y[2 * p + 1] = high(pair)``.

ptxas 13.0 fuses a product of pairs with a sum that it flows into, whatever the rounding modifier and the option -fmad
say (``--fmad=false`` for ptxas, too); it does so for ``fma.rn.f32x2`` with an addend of -0. A product that may reach a
sum in registers is therefore computed for each value alone.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.lowering.batch_divisions import is_independent
from tile_cuda.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, op_name, seq
from tilecore.ir.effects import effect_in
from tilecore.ir.nodes import (
    Add,
    Bind,
    BufferStore,
    Call,
    DeclBuffer,
    Expr,
    For,
    ForKind,
    Mul,
    PrimFunc,
    Stmt,
    Sub,
    TensorLoad,
    Var,
    structural_mutate,
)
from tilecore.ir.scopes import is_own
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, loads, stores, substitute

_FIRST = 100  # the architecture that has the instructions
_SUMS = ("add", "sub")
_OPERATIONS = {Add: "add", Sub: "sub", Mul: "mul"}


def pair_floats(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if architecture_of(env.target).capability < _FIRST:
        return func
    roots, analyzer, read = memory_roots(func.body), Analyzer(), _read_in_registers(func.body)

    def loop(node: For, mutator: Any) -> Any:
        changed = mutator.default_mutate(node)
        count, body = constant(changed.extent), changed.body
        if changed.kind != ForKind.UNROLLED or constant(changed.min) != 0 or not count or count % 2:
            return changed
        if not isinstance(body, BufferStore) or not is_own(body.buffer) or dtype_of(body.buffer) != "float32":
            return changed
        may_reach_sum = body.buffer in read
        if _operation(body.value, may_reach_sum) is None or coefficient(body.indices[0], changed.loop_var) != 1:
            return changed
        if effect_in(body.value) or not is_independent(body.value, body, changed.loop_var, analyzer, roots):
            return changed
        return _over_pairs(changed, body, count // 2, may_reach_sum)

    return func.with_body(structural_mutate(func.body, [(For, loop)]))


def _read_in_registers(body: Stmt) -> set[Var]:
    """The buffers that something else reads than moves to memory outside of registers."""
    moved = [s.value for s in stores(body) if not is_own(s.buffer) and isinstance(s.value, TensorLoad)]
    read = {load.source for load in loads(body) if not any(load.same_as(value) for value in moved)}
    viewed = {node.data.args[0] for node in collect(body, DeclBuffer)}
    return read | viewed


def _over_pairs(node: For, body: BufferStore, count: int, may_reach_sum: bool) -> Stmt:
    dtype = dtype_of(node.loop_var)
    number = Var(str(node.loop_var.name), dtype)
    first = number * const(2, dtype)

    def of_lane(value: Any, lane: int) -> Any:
        return substitute(value, {node.loop_var: first + const(lane, dtype) if lane else first})

    def pair(value: Expr, in_sum: bool) -> Expr:
        found = _operation(value, in_sum)
        if found is None:
            return instructions.float_pair(of_lane(value, 0), of_lane(value, 1))
        operation, operands = found
        return instructions.on_pairs(operation, [pair(operand, operation in _SUMS) for operand in operands])

    result = Var("pair", "uint64")
    halves = [
        BufferStore(body.buffer, instructions.float_of_pair(result, lane), [of_lane(body.indices[0], lane)])
        for lane in (0, 1)
    ]
    statements = seq([Bind(result, pair(body.value, may_reach_sum), span=body.span), *halves])
    zero, size = const(0, dtype), const(count, dtype)
    return For(number, zero, size, ForKind.UNROLLED, statements, annotations=node.annotations, span=node.span)


def _operation(value: Any, in_sum: bool) -> tuple[str, list[Expr]] | None:
    """The operation of a float32 value that has a form for pairs, and its operands; None for any other value. in_sum:
    may the value flow into a sum?"""
    if dtype_of(value) != "float32" or any(op_name(call) == "if_then_else" for call in collect(value, Call)):
        return None  # a condition may guard what it reads
    if op_name(value) == "fma":
        return "fma", list(value.args)
    name = _OPERATIONS.get(type(value))
    return None if name is None or (name == "mul" and in_sum) else (name, [value.a, value.b])


PAIR_FLOATS = Pass("pair_floats", pair_floats)
