"""Checks what stands inside T.Parallel, before any pass runs: its iterations have no order and belong to no thread.

- A tile operation, or a T.Pipelined loop, is work of the whole block, which iterations cannot do one by one.
- Another T.Parallel must be the only statement of the loop around it, so that the two are one nest.
- A fragment is not indexed by a loop whose number of iterations is not a constant, because its elements are distributed
  over the threads when the kernel is compiled.
- A T.alloc_local is not indexed by the loop, because each thread has its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import constant, statements_of
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
)
from tilecore.ir.scopes import is_fragment
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import as_tile_call, name_in_language
from tilecore.ir.visit import children, collect, variables


@dataclass(frozen=True)
class _Around:
    """The T.Parallel loops around a statement, the outermost first. is_open: whether a further T.Parallel here belongs
    to their nest."""

    loops: tuple[For, ...] = ()
    is_open: bool = False


def check_nests(func: PrimFunc) -> None:
    """Raises LanguageError for a statement that cannot stand inside T.Parallel."""
    _check(func.body, _Around())


def _check(node: Stmt, around: _Around) -> None:
    if isinstance(node, For):
        _check_loop(node, around)
        return
    if around.loops:
        if isinstance(node, Evaluate):
            _check_tile_operation(node)
        if isinstance(node, (BufferStore, Evaluate, Bind)):
            _check_indices(node, around.loops)
    inside = around if isinstance(node, (AttrStmt, SeqStmt)) else replace(around, is_open=False)
    if isinstance(node, SeqStmt):
        parts = [part for part in statements_of(node) if not isinstance(part, (Bind, DeclBuffer))]
        inside = replace(around, is_open=around.is_open and len(parts) == 1)
    for child in children(node):
        _check(child, inside)


def _check_loop(loop: For, around: _Around) -> None:
    is_parallel = loop.kind == ForKind.PARALLEL
    if around.loops and is_parallel and not around.is_open:
        raise LanguageError(
            "a T.Parallel stands inside another T.Parallel, beside other statements or in a loop or an `if`",
            location=location_of_span(loop.span),
            found=f"`{loop.loop_var}` inside `{around.loops[-1].loop_var}`",
            expected="nested T.Parallel loops with nothing in between, which are one nest",
            hint="write the inner loop as T.serial, or one T.Parallel over both extents",
        )
    if around.loops and str((loop.annotations or {}).get(LoopAttr.KIND, "")) == "pipelined":
        raise LanguageError(
            "T.Pipelined stands inside T.Parallel",
            location=location_of_span(loop.span),
            expected="T.Parallel inside T.Pipelined",
            hint="T.serial is a loop that each iteration of T.Parallel runs by itself",
        )
    inside = _Around((*around.loops, loop), is_open=True) if is_parallel else replace(around, is_open=False)
    _check(loop.body, inside)


def _check_tile_operation(node: Evaluate) -> None:
    call = as_tile_call(node)
    if call is not None and not call.op.in_parallel:
        raise LanguageError(
            f"{name_in_language(call)} stands inside T.Parallel",
            location=location_of_span(call.span),
            expected="code that works element by element",
            hint="the whole block executes it together: move it out of the loop, or loop over the elements instead",
        )


def _check_indices(node: Any, loops: tuple[For, ...]) -> None:
    """Checks the elements of fragments and of local memory that a statement accesses."""
    accesses = [(load.source, load.indices) for load in collect(node, TensorLoad)]
    if isinstance(node, BufferStore):
        accesses.append((node.buffer, node.indices))
    for buffer, indices in accesses:
        if not is_fragment(buffer) and str(buffer.scope()) != "local":
            continue
        used: set[Var] = set().union(*(variables(index) for index in indices))
        for loop in loops:
            if loop.loop_var not in used:
                continue
            if is_fragment(buffer) and constant(loop.extent) is None:
                raise _unknown_extent(node, buffer, loop)
            if not is_fragment(buffer):
                raise _local_element(node, buffer, loop)


def _unknown_extent(node: Stmt, buffer: Any, loop: For) -> LanguageError:
    return LanguageError(
        f"fragment {buffer.name} is indexed by a T.Parallel loop whose number of iterations is not a constant",
        location=location_of_span(node.span),
        found=f"`{loop.loop_var}` from 0 to {loop.extent}",
        expected="a loop over the fragment's own extents",
        hint="loop over the whole fragment, with an `if` around what only some iterations do",
    )


def _local_element(node: Stmt, buffer: Any, loop: For) -> LanguageError:
    return LanguageError(
        f"Local buffer {buffer.name} is indexed by T.Parallel loop variable `{loop.loop_var}`",
        location=location_of_span(node.span),
        found=f"{buffer.name}, of T.alloc_local, which each thread has by itself",
        expected="a buffer that the threads of the block have together, or an index that is the same in all iterations",
        hint="T.alloc_fragment distributes the elements over the threads; T.serial loops in each thread",
    )
