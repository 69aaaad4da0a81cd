"""Leaves out masks of accumulators where they keep all elements: there the gemm starts from zero.

Causal attention sets the scores of keys that come after the query to minus infinity, the others to 0, and adds the
products. Only blocks on the diagonal have keys of both kinds. The condition is tested once for the whole nest, at the
element where it is the last to hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, seq
from tilecore.ir.nodes import (
    AttrStmt,
    Call,
    Expr,
    FloatImm,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.ranges import binding_loops
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, jumps_out, reads_variable, substitute
from tilecore.lowering.analysis.kernels import is_axis
from tilecore.lowering.loops.fold_clears import added_product, with_clear
from tilecore.lowering.loops.recognize_fills import choice_of, fits, whole_nest

_LESS = (tirx.LT, tirx.LE)
_GREATER = (tirx.GT, tirx.GE)


def fold_masks(func: PrimFunc, env: PassEnv) -> PrimFunc:
    analyzer = Analyzer()
    aliased = memory_roots(func.body)

    def axis(node: AttrStmt, mutator: Any) -> Any:
        if is_axis(node):
            zero = IntImm(dtype_of(node.node.var), 0)
            analyzer.bind(node.node.var, Range.from_min_extent(zero, node.value))
        return mutator.default_mutate(node)

    def sequence(node: SeqStmt, mutator: Any) -> Any:
        parts = list(node.seq)
        for index, part in enumerate(parts):
            mask = _mask(part, analyzer)
            if mask is None or mask[0] in aliased:
                continue
            buffer, keeps_all = mask
            user = next((i for i in range(index + 1, len(parts)) if reads_variable(parts[i], buffer)), None)
            product = None if user is None else added_product(parts[user], buffer)
            if user is None or product is None or any(map(jumps_out, parts[index + 1 : user])):
                continue
            parts[index] = IfThenElse(tirx.Not(keeps_all), part, None, span=part.span)
            parts[user] = with_clear(product, keeps_all)
        return mutator.default_mutate(seq(parts))

    bind_loop = binding_loops(analyzer)
    return func.with_body(structural_mutate(func.body, [(AttrStmt, axis), (For, bind_loop), (SeqStmt, sequence)]))


def _mask(node: Stmt, analyzer: Analyzer) -> tuple[Var, Expr] | None:
    """The buffer that a nest sets to 0 where a condition holds, and whether it holds for all elements; None for
    another statement, or where no test says that."""
    whole = whole_nest(node) if isinstance(node, For) and node.kind == ForKind.PARALLEL else None
    choice = None if whole is None else choice_of(whole[1].value)
    if whole is None or choice is None or not _is_zero(choice[1]):
        return None
    loops, store = whole
    for loop in loops:
        analyzer.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent))
    if collect(choice[0], TensorLoad, Call) or not fits(choice[0], analyzer):
        return None
    tests = [_at_its_last(comparison, loops) for comparison in _comparisons(choice[0])]
    if None in tests:
        return None
    needed = [test for test in map(analyzer.simplify, tests) if constant(test) != 1]
    if not needed:
        return None  # a fill (recognize_fills.py)
    keeps_all = needed[0]
    for test in needed[1:]:
        keeps_all = tirx.And(keeps_all, test)
    return store.buffer, keeps_all


def _is_zero(value: Expr) -> bool:
    if isinstance(value, FloatImm):
        return float(value.value) == 0.0
    return constant(getattr(value, "value", value) if isinstance(value, tirx.Cast) else value) == 0


def _comparisons(condition: Expr) -> Iterator[Expr]:
    """The conditions that must all hold."""
    if isinstance(condition, tirx.And):
        yield from _comparisons(condition.a)
        yield from _comparisons(condition.b)
    else:
        yield condition


def _at_its_last(comparison: Expr, loops: list[For]) -> Expr | None:
    """The comparison for the element of the nest at which its sides are nearest to breaking it; None where they are no
    sums of multiples of the indices."""
    if not isinstance(comparison, (*_LESS, *_GREATER)):
        return None
    corner: dict[Var, Any] = {}
    for loop in loops:
        left, right = (coefficient(side, loop.loop_var) for side in (comparison.a, comparison.b))
        if not (isinstance(left, int) and isinstance(right, int)):
            return None
        grows = left > right
        at_end = grows if isinstance(comparison, _LESS) else not grows
        last = (constant(loop.extent) or 1) - 1
        corner[loop.loop_var] = const(last if at_end else 0, dtype_of(loop.loop_var))
    return substitute(comparison, corner)


FOLD_MASKS = Pass("fold_masks", fold_masks)
