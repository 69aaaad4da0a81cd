"""Leaves the scaling of an accumulator's rows to the gemm that adds to it next, which loads its elements anyway.

Attention with an online softmax multiplies its sums by a factor for each row before each step adds to them.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.implementation import choose
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import dtype_of, nothing, seq
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import Expr, For, ForKind, Mul, PrimFunc, SeqStmt, Stmt, TensorLoad, Var, structural_map
from tilecore.ir.reductions import accumulator
from tilecore.ir.regions import whole_region
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall
from tilecore.ir.visit import jumps_out, reads_variable
from tilecore.lowering.loops.fold_clears import added_product
from tilecore.lowering.loops.gemm import REGISTER_TILES
from tilecore.lowering.loops.recognize_fills import whole_nest


def fold_scales(func: PrimFunc, env: PassEnv) -> PrimFunc:
    memory = Memory(func.body)

    def fold(node: SeqStmt) -> Any:
        parts = list(node.seq)
        changed = False
        for index, part in enumerate(parts):
            scaled = _scaled_rows(part, memory)
            user = None if scaled is None else _user(parts, index, *scaled, memory, env)
            if scaled is not None and user is not None:
                position, product = user
                hints = {**product.hints, CallAttr.ROW_FACTORS: whole_region(scaled[1])}
                parts[index], parts[position], changed = nothing(), product.rebuilt(hints=hints), True
        return seq(parts) if changed else node

    return func.with_body(structural_map(func.body, (SeqStmt, fold)))


def _scaled_rows(node: Stmt, memory: Memory) -> tuple[Var, Var] | None:
    """The buffer of the block each of whose rows the nest multiplies by one factor, and the factors; None for another
    statement."""
    whole = whole_nest(node) if isinstance(node, For) and node.kind == ForKind.PARALLEL else None
    if whole is None or len(whole[0]) != 2 or not isinstance(whole[1].value, Mul):
        return None
    loops, store = whole
    buffer, (row, column) = store.buffer, (loop.loop_var for loop in loops)
    for old, factor in ((store.value.a, store.value.b), (store.value.b, store.value.a)):
        if _is_element(old, [row, column]) and old.source.same_as(buffer) and _is_element(factor, [row]):
            factors = factor.source
            kinds = {dtype_of(buffer), dtype_of(factors), accumulator(dtype_of(buffer))}
            if len(kinds) == 1 and not is_global(factors) and not {buffer, factors} & set(memory.roots):
                return buffer, factors
    return None


def _is_element(value: Expr, at: list[Var]) -> bool:
    if not isinstance(value, TensorLoad) or len(value.indices) != len(at):
        return False
    return all(var.same_as(index) for var, index in zip(at, value.indices, strict=True))


def _user(
    parts: list[Stmt], index: int, buffer: Var, factors: Var, memory: Memory, env: PassEnv
) -> tuple[int, TileCall] | None:
    """The position of the next statement that reads the buffer, if it is a gemm that can scale rows, and the gemm."""
    position = next((i for i in range(index + 1, len(parts)) if reads_variable(parts[i], buffer)), None)
    product = None if position is None else added_product(parts[position], buffer)
    if position is None or product is None or CallAttr.ROW_FACTORS in product.hints:
        return None
    between = parts[index + 1 : position]
    if any(jumps_out(part) or memory.may_change(writes_of(part), factors) for part in between):
        return None
    return (position, product) if choose(product, env.implementations, env).impl is REGISTER_TILES else None


FOLD_SCALES = Pass("fold_scales", fold_scales)
