"""Replaces parallel nests that store one constant to all elements of a buffer by the operation ``fill``.

A mask that keeps everything is such a nest: attention sets the scores of keys that it must not see to minus infinity
and the others to 0 before it adds the products, and without a causal mask it sees all keys. A gemm can start from a
fill with zeros by itself (fold_clears.py).
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import FACTS
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant, dtype_of, op_name, statements_of
from tilecore.ir.nodes import (
    Add,
    AttrStmt,
    Bind,
    BufferStore,
    Call,
    Cast,
    Expr,
    FloatImm,
    For,
    ForKind,
    IntImm,
    Mul,
    PrimFunc,
    Range,
    Select,
    Stmt,
    Sub,
    TensorLoad,
    structural_mutate,
    tirx,
)
from tilecore.ir.ranges import binding_loops
from tilecore.ir.regions import whole_region
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import tile_statement
from tilecore.ir.visit import collect, substitute
from tilecore.lowering.analysis.kernels import is_axis


def recognize_fills(func: PrimFunc, env: PassEnv) -> PrimFunc:
    analyzer = Analyzer()
    bind_loop = binding_loops(analyzer)

    def axis(node: AttrStmt, mutator: Any) -> Any:
        if is_axis(node):
            zero = IntImm(dtype_of(node.node.var), 0)
            analyzer.bind(node.node.var, Range.from_min_extent(zero, node.value))
        return mutator.default_mutate(node)

    def nest(node: For, mutator: Any) -> Any:
        fill = _fill(node, analyzer) if node.kind == ForKind.PARALLEL else None
        return bind_loop(node, mutator) if fill is None else fill

    return func.with_body(structural_mutate(func.body, [(AttrStmt, axis), (For, nest)]))


def _fill(node: For, analyzer: Analyzer) -> Stmt | None:
    """The nest as a fill; None if it is none."""
    whole = whole_nest(node)
    if whole is None:
        return None
    loops, body = whole
    for loop in loops:
        analyzer.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent))
    value = _constant(body.value, analyzer)
    if value is None:
        return None
    return tile_statement("fill", [whole_region(body.buffer), value], span=node.span)


def whole_nest(node: For) -> tuple[list[For], BufferStore] | None:
    """The loops of a parallel nest that stores once to each element of a buffer of the block, and the store, with the
    variables of the body replaced by their values; None for another nest."""
    loops: list[For] = []
    body: Stmt = node
    while isinstance(body, For) and body.kind == ForKind.PARALLEL:
        loops.append(body)
        body = body.body
    *binds, body = statements_of(body) or [body]
    if not all(isinstance(bind, Bind) for bind in binds):
        return None
    for bind in reversed(binds):
        body = substitute(body, {bind.var: bind.value})
    if not isinstance(body, BufferStore) or is_global(body.buffer) or len(loops) != len(body.indices):
        return None
    for loop, index, size in zip(loops, body.indices, body.buffer.shape, strict=True):
        whole = constant(loop.min) == 0 and constant(loop.extent) is not None
        if not (whole and loop.loop_var.same_as(index) and constant(loop.extent) == constant(size)):
            return None
    return loops, body


def choice_of(value: Expr) -> tuple[Expr, Expr, Expr] | None:
    """The condition of a choice and its two values; None for another expression."""
    if isinstance(value, Select):
        return value.condition, value.true_value, value.false_value
    if isinstance(value, Cast):
        inner = choice_of(value.value)
        return inner and (inner[0], *(Cast(dtype_of(value), side) for side in inner[1:]))
    return tuple(value.args) if isinstance(value, Call) and op_name(value) == "if_then_else" else None


def _constant(value: Expr, analyzer: Analyzer) -> Expr | None:
    """The one constant that the value is for all elements: a literal, or a choice whose condition is known. No
    arithmetic on floats is simplified: x * 0 is no zero where x is infinite."""
    if isinstance(value, (IntImm, FloatImm)):
        return value
    if isinstance(value, Cast) and isinstance(value.value, IntImm):
        return tirx.const(int(value.value), dtype_of(value))
    choice = choice_of(value)
    if choice is None:
        return None
    condition, then, other = choice
    if collect(condition, TensorLoad, Call) or not fits(condition, analyzer):
        return None
    if analyzer.can_prove(condition):
        return _constant(then, analyzer)
    return _constant(other, analyzer) if analyzer.can_prove(tirx.Not(condition)) else None


def fits(condition: Expr, analyzer: Analyzer) -> bool:
    """Does no integer in the condition wrap around, which the analyzer would not see?"""
    for node in collect(condition, Add, Sub, Mul):
        facts = FACTS.get(dtype_of(node))
        if facts is None or facts.kind == "float":
            return False
        low, high = facts.integer_range
        bound = analyzer.const_int_bound(node)
        if int(bound.min_value) < low or int(bound.max_value) > high:
            return False
    return not collect(condition, FloatImm)


RECOGNIZE_FILLS = Pass("recognize_fills", recognize_fills)
