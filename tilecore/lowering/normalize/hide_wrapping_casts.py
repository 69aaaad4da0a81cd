"""Hides integer casts that may wrap from TVM's analyzer, which assumes that casts preserve values.

It would have it that a uint32 as an int32 is never negative, or that a multiple of 3 as a uint8 is one too. Such a cast
becomes one to the type's sibling, of the other sign, whose bits are taken as they are. Whether an unsigned number is
below 0 is decided here, as TVM's analyzer ends the process over it, and what is chosen by that with it.
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

_INFINITE = 2**63 - 1  # of TVM's analyzer


def hide_wrapping_casts(func: PrimFunc, env: PassEnv) -> PrimFunc:
    analyzer = Analyzer()

    def axis(node: AttrStmt, mutator: Any) -> Any:
        if is_axis(node):
            analyzer.bind(node.node.var, Range.from_min_extent(const(0, dtype_of(node.node.var)), node.value))
        return mutator.default_mutate(node)

    def hide(node: Cast, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        return _bits(rewritten) if _misread(analyzer, rewritten) else rewritten

    decisions = [((LT, LE, GT, GE), _decide), ((Call, Select), _choose)]
    rules = [(For, binding_loops(analyzer)), (AttrStmt, axis), (Cast, hide), *decisions]
    return func.with_body(structural_mutate(func.body, rules))


def _decide(node: Any, mutator: Any) -> Any:
    """``x < 0`` is false and ``x >= 0`` true of what has no sign; written either way round."""
    result = mutator.default_mutate(node)
    zero = result.b if isinstance(result, (LT, GE)) else result.a
    facts = FACTS.get(dtype_of(zero))
    if facts is None or facts.kind != "uint" or constant(zero) != 0:
        return result
    return const(isinstance(result, (GE, LE)), "bool")


def _choose(node: Any, mutator: Any) -> Any:
    made = mutator.default_mutate(node)
    if isinstance(made, Call) and op_name(made) != "if_then_else":
        return made
    condition, *choices = made.args if isinstance(made, Call) else (made.condition, made.true_value, made.false_value)
    known = constant(condition)
    return made if known is None else choices[not known]


def _misread(analyzer: Analyzer, node: Cast) -> bool:
    """Does the analyzer know something of the cast that holds only if it keeps the value?"""
    kinds = [FACTS.get(dtype_of(side)) for side in (node, node.value)]
    if any(facts is None or facts.kind not in ("int", "uint") or facts.bits < 8 for facts in kinds):
        return False
    low, high = FACTS[dtype_of(node)].integer_range
    given, claimed = (_known(analyzer, side) for side in (node.value, node))
    if low <= given[0] and given[1] <= high:
        return False
    return claimed != (low, high) or int(analyzer.modular_set(node).coeff) != 1


def _known(analyzer: Analyzer, value: Expr) -> tuple[int, int]:
    """The range that the analyzer knows; the ends of what it counts to stand for those of the type."""
    bound, (low, high) = analyzer.const_int_bound(value), FACTS[dtype_of(value)].integer_range
    least, most = int(bound.min_value), int(bound.max_value)
    return (low if least <= -_INFINITE else least, high if most >= _INFINITE else most)


def _bits(node: Cast) -> Expr:
    target = dtype_of(node)
    sibling = target.removeprefix("u") if target.startswith("u") else f"u{target}"
    return Call("tirx.reinterpret", [cast(node.value, sibling)], ret_ty=target)


HIDE_WRAPPING_CASTS = Pass("hide_wrapping_casts", hide_wrapping_casts)
