"""Removes masks whose condition is known, and splits loops where a mask begins or ends to matter.

Kernels mask a tile in each iteration of a loop, as in

    for k in T.Pipelined(tiles):
        for i, j in T.Parallel(BM, BN):
            scores[i, j] = T.if_then_else(bx * BM + i >= k * BN + j, 0, -inf)

although the condition holds for all elements in most iterations. The loop is split into the iterations in which it
does and the others. Where a mask with a known condition stores zeros, it is a T.clear, which ``fold_clears`` can make
part of a matrix product.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Set
from typing import Any, NamedTuple

from tile_cuda.lowering.hopper.fold_clears import product_with_clear
from tile_cuda.lowering.hopper.wrapping import may_wrap, tests_of_ranges
from tilecore.contract.passes import PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import const, constant, dtype_of, nothing, op_name, seq, statements_of
from tilecore.ir.nodes import (
    GE,
    GT,
    LE,
    LT,
    And,
    BufferStore,
    Call,
    FloatImm,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    Not,
    Range,
    Select,
    Stmt,
    Var,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.regions import whole_region
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import tile_statement
from tilecore.ir.visit import collect, renewed, substitute, variables
from tilecore.lowering.analysis.clears import cleared_buffer

_INTEGERS = ("int32", "int64")


class Mask(NamedTuple):
    """A condition of a parallel nest, and the ranges of the nest's variables."""

    condition: Any
    ranges: dict[Var, Range]


def simplify_masks(code: Stmt, analyzer: Analyzer) -> Stmt:
    """The code without the masks and branches whose condition is known.

    analyzer: has the ranges of the block indices.
    """

    def loop(node: For, mutator: Any) -> Any:
        analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent), allow_override=True)
        if node.kind != ForKind.PARALLEL:
            return mutator.default_mutate(node)
        values = {mask.condition: _value(mask, analyzer) for mask in _masks_of(node)}
        known = {condition: value for condition, value in values.items() if value is not None}
        return _as_fill(_decided(node, known)) if known else node

    def branch(node: IfThenElse, mutator: Any) -> Any:
        value = None if may_wrap(node.condition, {}, analyzer) else constant(analyzer.simplify(node.condition))
        if value is None:
            return mutator.default_mutate(node)
        taken = node.then_case if value else node.else_case
        return nothing() if taken is None else mutator.mutate(taken)

    return structural_mutate(code, [(For, loop), (IfThenElse, branch)])


def split_masked_loops(code: Stmt, analyzer: Analyzer, env: PassEnv) -> Stmt:
    """The code with each loop split where a mask of its iterations begins to be the same for a whole tile."""

    def loop(node: For, mutator: Any) -> Any:
        analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent), allow_override=True)
        if node.kind != ForKind.SERIAL or LoopAttr.USER_BLOCKS in node.annotations:
            return mutator.default_mutate(node)
        return _split(node, analyzer, env)

    return structural_mutate(code, [(For, loop)])


def skip_masks(code: Stmt, analyzer: Analyzer, env: PassEnv, viewed: Set[Var]) -> Stmt:
    """The code in which a mask in front of a product runs only in blocks whose tile it does not leave as zeros.

    In the others the product overwrites its accumulator. This is for code outside of the loops with products, such as
    the first iteration: in loops a branch would stand between products that overlap. viewed: as in ``fold_clears``.
    """
    statements = statements_of(code)
    for index, nest in enumerate(statements):
        if isinstance(nest, IfThenElse):
            then_case = skip_masks(nest.then_case, analyzer, env, viewed)
            other = None if nest.else_case is None else skip_masks(nest.else_case, analyzer, env, viewed)
            statements[index] = IfThenElse(nest.condition, then_case, other, span=nest.span)
        elif isinstance(nest, For) and nest.kind == ForKind.PARALLEL:
            are_zeros, accumulator = _zeros_where(nest, analyzer)
            are_zeros = None if accumulator in viewed else are_zeros
            uses = [n for n in range(index + 1, len(statements)) if accumulator in variables(statements[n])]
            folded = None if are_zeros is None or not uses else product_with_clear(
                statements[uses[0]], accumulator, are_zeros, env
            )  # fmt: skip
            if folded is not None:
                statements[index] = IfThenElse(Not(are_zeros), nest, None, span=nest.span)
                statements[uses[0]] = folded
    return seq(statements)


def _zeros_where(nest: For, analyzer: Analyzer) -> tuple[Any, Any]:
    """The condition under which the nest fills a fragment with zeros, and the fragment; None where it never does."""
    masks = list(_masks_of(nest))
    if len(masks) != 1:
        return None, None
    (mask,) = masks
    tests = tests_of_ranges(mask.condition, mask.ranges, analyzer)
    for value in (True, False) if tests is not None else ():
        accumulator = cleared_buffer(_as_fill(_decided(nest, {mask.condition: value})))
        difference = _difference(mask.condition, value)
        least = None if difference is None else _least(difference, mask.ranges)
        if accumulator is not None and least is not None:
            are_zeros = Analyzer().simplify(least >= const(0, dtype_of(least)))
            return functools.reduce(And, tests or [], are_zeros), accumulator
    return None, None


def _split(node: For, analyzer: Analyzer, env: PassEnv) -> Stmt:
    """The loop as two loops: up to the first iteration with a mask that differs within a tile, and from it on."""
    nests = [s for s in statements_of(node.body) if isinstance(s, For) and s.kind == ForKind.PARALLEL]
    prefixes = [_prefix(mask, node.loop_var, analyzer) for nest in nests for mask in _masks_of(nest)]
    known = [prefix for prefix in prefixes if prefix is not None]
    if not known or len(known) < len(prefixes):
        return node
    first: Any = known[0].end
    for prefix in known[1:]:
        first = tirx.min(first, prefix.end)
    begin, end = node.min, node.min + node.extent
    first = analyzer.simplify(tirx.max(tirx.min(first.astype(dtype_of(begin)), end), begin))
    for test in {test: test for prefix in known for test in prefix.tests}:
        first = Select(test, first, begin)
    before, after = analyzer.simplify(first - begin), analyzer.simplify(end - first)
    if constant(before) == 0:
        return node
    unmasked_body = _as_fills(_decided(node.body, {prefix.condition: prefix.value for prefix in known}))
    unmasked = For(node.loop_var, begin, before, node.kind, unmasked_body, None, node.annotations, span=node.span)
    if constant(after) == 0:
        return unmasked
    env.note(
        "notes", {"text": f"loop {node.loop_var.name}: iterations whose tiles are not masked are a loop of their own"}
    )
    masked = renewed(For(node.loop_var, first, after, node.kind, node.body, None, node.annotations, span=node.span))
    return seq([unmasked, masked])


class _Prefix(NamedTuple):
    """In all iterations before ``end``, the condition has one value for all elements, where the tests hold."""

    condition: Any
    value: bool
    end: Any
    tests: list[Any]


def _prefix(mask: Mask, var: Var, analyzer: Analyzer) -> _Prefix | None:
    """The iterations from 0 on in which the mask is the same for the whole tile; None where that is not known."""
    tests = tests_of_ranges(mask.condition, mask.ranges, analyzer)
    for value in (True, False) if tests is not None else ():
        difference = _difference(mask.condition, value)
        if difference is None:
            return None
        step = _coefficient(difference, var)
        least = _least(substitute(difference, {var: const(0, dtype_of(var))}), mask.ranges)
        if step is None or least is None:
            return None
        if step < 0:  # least + step * k >= 0
            count = tirx.floordiv(least, const(-step, dtype_of(least))) + const(1, dtype_of(least))
            return _Prefix(mask.condition, value, count, tests or [])
    return None


def _value(mask: Mask, analyzer: Analyzer) -> bool | None:
    """The value of the condition for all elements; None where it is not known."""
    for value in (True, False) if not may_wrap(mask.condition, mask.ranges, analyzer) else ():
        difference = _difference(mask.condition, value)
        least = None if difference is None else _least(difference, mask.ranges)
        if least is not None and analyzer.can_prove(least >= const(0, dtype_of(least))):
            return value
    return None


def _difference(condition: Any, value: bool) -> Any:
    """An integer that is at least 0 where the condition has this value; None for conditions of other forms."""
    if isinstance(condition, Not):
        return _difference(condition.a, not value)
    if not isinstance(condition, (GE, GT, LE, LT)) or dtype_of(condition.a) not in _INTEGERS:
        return None
    a, b = (condition.a, condition.b) if isinstance(condition, (GE, GT)) else (condition.b, condition.a)
    one = const(1, dtype_of(a))
    is_strict = isinstance(condition, (GT, LT))
    if value:
        return a - b - one if is_strict else a - b
    return b - a if is_strict else b - a - one


def _coefficient(value: Any, var: Var) -> int | None:
    """By how much the value grows where the variable grows by 1, if that is always the same."""
    step = Analyzer().simplify(substitute(value, {var: var + const(1, dtype_of(var))}) - value)
    return constant(step)


def _least(value: Any, ranges: dict[Var, Range]) -> Any:
    """The least value over the ranges of a nest's variables; None where it is not linear in them."""
    ends = {}
    for var, bounds in ranges.items():
        step = _coefficient(value, var)
        if step is None:
            return None
        last = bounds.min + bounds.extent - const(1, dtype_of(bounds.extent))
        ends[var] = bounds.min if step >= 0 else last
    return Analyzer().simplify(substitute(value, ends))


def _masks_of(nest: For) -> Iterator[Mask]:
    """The conditions in a parallel nest that select between two values."""
    ranges, inner = {}, nest
    while isinstance(inner, For) and inner.kind == ForKind.PARALLEL:
        ranges[inner.loop_var] = Range.from_min_extent(inner.min, inner.extent)
        inner = inner.body
    for node in collect(inner, Call, Select):
        condition = _condition_of(node)
        if condition is not None:
            yield Mask(condition, ranges)


def _condition_of(node: Any) -> Any:
    if isinstance(node, Select):
        return node.condition
    return node.args[0] if op_name(node) == "if_then_else" else None


def _decided(code: Stmt, values: dict[Any, bool]) -> Stmt:
    """The code with the values that masks of these conditions select."""

    def select(node: Any) -> Any:
        condition = _condition_of(node)
        value = next((v for c, v in values.items() if condition is not None and c.same_as(condition)), None)
        if value is None:
            return node
        chosen = (node.true_value, node.false_value) if isinstance(node, Select) else node.args[1:]
        return chosen[0 if value else 1]

    return structural_map(code, ((Call, Select), select))


def _as_fills(body: Stmt) -> Stmt:
    return seq([_as_fill(s) if isinstance(s, For) else s for s in statements_of(body)])


def _as_fill(nest: For) -> Stmt:
    """T.fill, where the nest stores one constant to all elements of a fragment; else the nest."""
    nested, inner = [], nest
    while isinstance(inner, For) and inner.kind == ForKind.PARALLEL:
        nested.append(inner)
        inner = inner.body
    if not isinstance(inner, BufferStore) or not isinstance(inner.value, (FloatImm, IntImm)):
        return nest
    buffer = inner.buffer
    if not is_fragment(buffer) or len(inner.indices) != len(nested):
        return nest
    for index, level, size in zip(inner.indices, nested, buffer.shape, strict=True):
        is_whole = constant(level.min) == 0 and constant(level.extent) == constant(size) is not None
        if not is_whole or not index.same_as(level.loop_var):
            return nest
    return tile_statement("fill", [whole_region(buffer), inner.value], span=nest.span)
