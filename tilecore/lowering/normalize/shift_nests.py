"""Shifts the variables of T.Parallel nests so that fragments are indexed by them alone.

``for i, j in T.Parallel(32, N): if i < 16: S[i, j] = F[i + 16, j]`` copies the lower half of a fragment of 32 rows. The
same nest over the rows of the fragment, ``if 16 <= i < 32: S[i - 16, j] = F[i, j]``, lets each thread do the rows that
it holds. So F stays in registers (infer_layouts), where it needed shared memory before.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, const, constant, dtype_of, with_body
from tilecore.ir.nodes import (
    BufferLoad,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    Range,
    Stmt,
    TensorLoad,
    Var,
    structural_map,
    tirx,
)
from tilecore.ir.scopes import is_fragment
from tilecore.ir.visit import collect, substitute, variables


def shift_nests(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return func.with_body(structural_map(func.body, (For, _shifted)))


def _shifted(loop: For) -> Any:
    """The nest with shifted variables; the loop itself where nothing is to be shifted."""
    loops = _nest(loop)
    if not loops:
        return loop
    branch = loops[-1].body
    if not isinstance(branch, IfThenElse) or branch.else_case is not None:
        return loop
    offsets = {}
    for level in loops:
        offset = _offset(level, branch)
        if offset:
            offsets[level.loop_var] = offset
    if not offsets:
        return loop
    shifted = {var: var - const(offset, dtype_of(var)) for var, offset in offsets.items()}
    analyzer = Analyzer()
    for level in loops:
        analyzer.bind(level.loop_var, Range.from_min_extent(level.min, level.extent))
    bounds = [
        var >= const(offset, dtype_of(var)) if offset > 0 else var < const(_extent(loops, var) + offset, dtype_of(var))
        for var, offset in offsets.items()
    ]
    condition = all_of([*bounds, analyzer.simplify(substitute(branch.condition, shifted))])
    then = _simplified(substitute(branch.then_case, shifted), analyzer)
    body: Stmt = IfThenElse(condition, then, None, span=branch.span)
    for level in reversed(loops):
        body = with_body(level, body)
    return body


def _nest(loop: For) -> list[For]:
    """The parallel loops of known sizes from 0 that stand directly inside each other; none for any other loop."""
    loops = []
    node: Any = loop
    while isinstance(node, For) and node.kind == ForKind.PARALLEL:
        if constant(node.min) != 0 or constant(node.extent) is None:
            return []
        loops.append(node)
        node = node.body
    return loops


def _extent(loops: list[For], var: Var) -> int:
    return next(int(constant(level.extent) or 0) for level in loops if level.loop_var.same_as(var))


def _offset(level: For, branch: IfThenElse) -> int:
    """What all accesses to fragments add to the loop's variable, where the condition keeps them inside; otherwise 0."""
    var, extent = level.loop_var, int(constant(level.extent) or 0)
    accesses = [(node.source, node.indices) for node in collect(branch, TensorLoad)]
    accesses += [(node.buffer, node.indices) for node in collect(branch, BufferStore)]
    analyzer, offsets = Analyzer(), set()
    for buffer, indices in accesses:
        if not is_fragment(buffer):
            continue
        for size, index in zip(buffer.shape, indices, strict=True):
            if var not in variables(index):
                continue
            offset = constant(analyzer.simplify(index - var))
            if offset is None or constant(size) != extent:
                return 0
            offsets.add(offset)
    if len(offsets) != 1:
        return 0
    (offset,) = offsets
    analyzer.bind(var, Range.from_min_extent(level.min, level.extent))
    moved = var + const(offset, dtype_of(var))
    outside = tirx.Or(moved < const(0, dtype_of(var)), moved >= const(extent, dtype_of(var)))
    return int(offset) if analyzer.can_prove(tirx.Not(tirx.And(branch.condition, outside))) else 0


def _simplified(body: Stmt, analyzer: Analyzer) -> Any:
    """The code with simple indices."""

    def change(node: Any) -> Any:
        indices = [analyzer.simplify(index) for index in node.indices]
        if isinstance(node, TensorLoad):
            return BufferLoad(node.source, indices, span=node.span)
        return BufferStore(node.buffer, node.value, indices, span=node.span)

    return structural_map(body, ((TensorLoad, BufferStore), change))


SHIFT_NESTS = Pass("shift_nests", shift_nests)
