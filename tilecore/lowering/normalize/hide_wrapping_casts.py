"""Hides from TVM's analyzer the integer casts that may wrap, as it assumes that casts preserve values.

The analyzer assumes that a uint32 cast to int32 is never negative, and that a multiple of 3 cast to uint8 remains one.
Such a cast becomes a cast to the type of the same width and the other sign, and a reinterpretation of its bits.
Comparisons of unsigned values with 0 are folded here, with the choices that depend on them, because TVM's analyzer
aborts the process on them.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import FACTS
from tilecore.ir.build import cast, const, constant, dtype_of, op_name
from tilecore.ir.nodes import (
    GE,
    GT,
    LE,
    LT,
    Analyzer,
    AttrStmt,
    Call,
    Cast,
    Expr,
    For,
    PrimFunc,
    Range,
    Select,
    structural_mutate,
)
from tilecore.ir.ranges import binding_loops
from tilecore.lowering.analysis.kernels import is_axis

_INFINITE = 2**63 - 1  # the bound that TVM's analyzer uses for infinity


def hide_wrapping_casts(func: PrimFunc, env: PassEnv) -> PrimFunc:
    analyzer = Analyzer()

    def axis(node: AttrStmt, mutator: Any) -> Any:
        if is_axis(node):
            analyzer.bind(node.node.var, Range.from_min_extent(const(0, dtype_of(node.node.var)), node.value))
        return mutator.default_mutate(node)

    def hide(node: Cast, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        return _reinterpreted(rewritten) if _may_be_misread(analyzer, rewritten) else rewritten

    decisions = [((LT, LE, GT, GE), _fold_comparison), ((Call, Select), _fold_choice)]
    rules = [(For, binding_loops(analyzer)), (AttrStmt, axis), (Cast, hide), *decisions]
    return func.with_body(structural_mutate(func.body, rules))


def _fold_comparison(node: Any, mutator: Any) -> Any:
    """For an unsigned x, folds ``x < 0`` and ``0 > x`` to false, and ``x >= 0`` and ``0 <= x`` to true."""
    result = mutator.default_mutate(node)
    zero = result.b if isinstance(result, (LT, GE)) else result.a
    facts = FACTS.get(dtype_of(zero))
    if facts is None or facts.kind != "uint" or constant(zero) != 0:
        return result
    return const(isinstance(result, (GE, LE)), "bool")


def _fold_choice(node: Any, mutator: Any) -> Any:
    rewritten = mutator.default_mutate(node)
    if isinstance(rewritten, Call) and op_name(rewritten) != "if_then_else":
        return rewritten
    condition, *choices = (
        rewritten.args
        if isinstance(rewritten, Call)
        else (rewritten.condition, rewritten.true_value, rewritten.false_value)
    )
    outcome = constant(condition)
    return rewritten if outcome is None else choices[not outcome]


def _may_be_misread(analyzer: Analyzer, node: Cast) -> bool:
    """Does the analyzer derive a fact of the cast that holds only if the cast preserves the value?"""
    kinds = [FACTS.get(dtype_of(side)) for side in (node, node.value)]
    if any(facts is None or facts.kind not in ("int", "uint") or facts.bits < 8 for facts in kinds):
        return False
    low, high = FACTS[dtype_of(node)].integer_range
    source_range, result_range = (_proved_range(analyzer, side) for side in (node.value, node))
    if low <= source_range[0] and source_range[1] <= high:
        return False
    return result_range != (low, high) or int(analyzer.modular_set(node).coeff) != 1


def _proved_range(analyzer: Analyzer, value: Expr) -> tuple[int, int]:
    """The range of a value that the analyzer proves; infinite bounds become the bounds of the type."""
    bound, (low, high) = analyzer.const_int_bound(value), FACTS[dtype_of(value)].integer_range
    least, most = int(bound.min_value), int(bound.max_value)
    return (low if least <= -_INFINITE else least, high if most >= _INFINITE else most)


def _reinterpreted(node: Cast) -> Expr:
    target = dtype_of(node)
    sibling = target.removeprefix("u") if target.startswith("u") else f"u{target}"
    return Call("tirx.reinterpret", [cast(node.value, sibling)], ret_ty=target)


HIDE_WRAPPING_CASTS = Pass("hide_wrapping_casts", hide_wrapping_casts)
