"""Gives a fragment the extents that the kernel's loops index.

A program may allocate a fragment with fewer elements than its loops store to, as in

    sinks = T.alloc_fragment([heads], "float16")
    for i in T.Parallel(block_M):
        sinks[i] = Sinks[head]

Registers of threads have no end that such a store would run past, so the program is right on the GPUs it was written
for. Where a fragment lies in memory, it needs the elements.
"""

from __future__ import annotations

from typing import Any

from tilecore.frontend.place_warnings import warn_at
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import (
    AllocBuffer,
    BufferStore,
    Call,
    For,
    IfThenElse,
    Range,
    Select,
    Stmt,
    TensorLoad,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.replace_buffers import with_buffers
from tilecore.ir.scopes import is_fragment, is_shared
from tilecore.ir.spans import location_of_span
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables


class ExtentWarning(UserWarning):
    """A kernel indexes a fragment, or shared memory, beyond its extents."""


def cover_indices(body: Stmt) -> Stmt:
    """The body with larger fragments where an index that no condition guards runs past an axis; each is warned of.

    Indices count that are linear in variables of loops with constant bounds. A fragment with views stays as it is: they
    have as many elements. Of shared memory that is indexed so there is a warning alone: what lies behind it is another
    buffer's.
    """
    if not any(is_fragment(node.buffer) or is_shared(node.buffer) for node in collect(body, AllocBuffer)):
        return body
    viewed = memory_roots(body)
    extents: dict[Var, list[int]] = {}
    places: dict[Var, Any] = {}
    ranges: dict[Var, Range] = {}

    def note(buffer: Var, indices: Any, span: Any) -> None:
        if len(indices) != len(buffer.shape):
            return
        if is_shared(buffer):
            _warn_of_shared(buffer, indices, ranges, span)
        if not is_fragment(buffer) or buffer in viewed:
            return
        for axis, index in enumerate(indices):
            size, last = constant(buffer.shape[axis]), _last(index, ranges)
            if size is not None and last is not None and last >= extents.get(buffer, [size] * (axis + 1))[axis]:
                extents.setdefault(buffer, [constant(s) or 0 for s in buffer.shape])[axis] = last + 1
                places.setdefault(buffer, span)

    def loop(node: For, mutator: Any) -> Any:
        if constant(node.min) is not None and constant(node.extent):
            ranges[node.loop_var] = Range.from_min_extent(node.min, node.extent)
        return mutator.default_mutate(node)

    def store(node: BufferStore, mutator: Any) -> Any:
        note(node.buffer, node.indices, node.span)
        return mutator.default_mutate(node)

    def load(node: TensorLoad, mutator: Any) -> Any:
        note(node.source, node.indices, node.span)
        return mutator.default_mutate(node)

    def guarded(node: Any, mutator: Any) -> Any:
        """What a condition guards may not run at all."""
        is_condition = not isinstance(node, Call) or op_name(node) == "if_then_else"
        return node if is_condition else mutator.default_mutate(node)

    structural_mutate(
        body, [(For, loop), (BufferStore, store), (TensorLoad, load), ((IfThenElse, Select, Call), guarded)]
    )
    return with_buffers(
        body, {old: _larger(old, sizes, places[old]) for old, sizes in extents.items()} if extents else {}
    )


def _warn_of_shared(buffer: Var, indices: Any, ranges: dict[Var, Range], span: Any) -> None:
    for axis, index in enumerate(indices):
        size, last = constant(buffer.shape[axis]), _last(index, ranges)
        if size is not None and last is not None and last >= size:
            text = f"the index of axis {axis} of {buffer.name} goes up to {last}, and the axis has {size} elements"
            warn_at(
                location_of_span(span), f"{text}: what lies behind them is another buffer's, or nobody's", ExtentWarning
            )
            return


def _last(index: Any, ranges: dict[Var, Range]) -> int | None:
    """The largest value of an index; None where that is not known.

    The analyzer's bound is the largest value only where the index is linear in each variable: ``i + (i + 1) % 4`` does
    not reach it.
    """
    analyzer = Analyzer()
    for var in variables(index):
        if var not in ranges or not isinstance(coefficient(index, var), int):
            return None
        analyzer.bind(var, ranges[var])
    return int(analyzer.const_int_bound(analyzer.simplify(index)).max_value)


def _larger(fragment: Var, sizes: list[int], span: Any) -> Var:
    text = f"the fragment {fragment.name} of shape {tuple(constant(s) for s in fragment.shape)} is indexed beyond it"
    warn_at(location_of_span(span), f"{text}: it gets the shape {tuple(sizes)}", ExtentWarning)
    return tirx.decl_buffer(sizes, dtype_of(fragment), str(fragment.name), scope="local.fragment", layout=None)
