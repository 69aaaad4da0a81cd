"""Splits the code of a block into regions: sequences of statements that each thread can run from start to end alone.

Between regions stand statements of the whole block: tile operations, T.Parallel nests, uniform statements, and
reductions across threads. The body of a uniform loop or ``if`` is split when its contents need it; a divergent one
belongs to a region as a whole. T.sync_threads needs no region boundary of its own: the code is split wherever one
thread may access what another wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tilecore.errors import UnsupportedError
from tilecore.ir.build import op_name, statements_of
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    Stmt,
    Var,
    While,
)
from tilecore.ir.scopes import is_private
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import ATOMIC_ELEMENT
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import children, collect, variables
from tilecore.lowering.analysis.kernels import Threads
from tilecore.lowering.analysis.uniformity import Uniformity, is_parallel
from tilecore.lowering.loops.thread_conflicts import Footprint
from tilecore.lowering.loops.thread_reductions import ThreadReduction, extract_reductions, guard_buffer, has_reduction

# buffers with one bool for each thread, and the value of it with which a thread executes the region
Guards = tuple[tuple[Var, bool], ...]


@dataclass
class Region:
    """Statements that every thread runs, one thread after the other. block: the index of the block that contains it."""

    statements: list[Stmt]
    guards: Guards
    block: int


@dataclass
class ThreadMemory:
    """An allocation of private memory of each thread, or the declaration of a view of it."""

    statement: AllocBuffer | DeclBuffer
    block: int


@dataclass
class SplitStatement:
    """A loop or ``if`` of the whole block with split bodies. rebuild: makes the statement from the lowered bodies."""

    bodies: list[Block]
    rebuild: Callable[[list[Stmt]], Stmt]


@dataclass
class Block:
    """Consecutive statements, split into items."""

    index: int
    items: list[Stmt | Region | ThreadMemory | SplitStatement] = field(default_factory=list)


class RegionSplitter:
    """Splits the code of one kernel."""

    def __init__(self, body: Stmt, threads: Threads) -> None:
        self.threads = threads
        self.uniformity = Uniformity(body, threads)
        self.block_count = 0

    # -- blocks -----------------------------------------------------------------------------------------------

    def block(self, body: Stmt, guards: Guards = ()) -> Block:
        self.block_count += 1
        result = Block(self.block_count)
        open_region: list[Stmt] = []
        footprint = Footprint([], self.uniformity)

        def close() -> None:
            nonlocal footprint
            if open_region:
                result.items.append(Region(list(open_region), guards, result.index))
                open_region.clear()
                footprint = Footprint([], self.uniformity)

        for statement in self._with_reductions(body):
            kind = self._kind(statement, bool(guards))
            if kind == "memory":
                result.items.append(ThreadMemory(statement, result.index))
            elif kind == "allocation":
                result.items.append(statement)
            elif kind == "thread":
                statement_footprint = Footprint([statement], self.uniformity)
                if open_region and footprint.conflicts_with(statement_footprint):
                    close()
                open_region.append(statement)
                footprint.add(statement)
            elif isinstance(statement, Bind) and not footprint.conflicts_with(Footprint([statement], self.uniformity)):
                result.items.append(statement)
            else:
                close()
                result.items.extend(self._items_of(statement, kind, guards, result.index))
        close()
        return result

    def _with_reductions(self, body: Stmt) -> list[Any]:
        """The statements of a block, with reductions across threads moved out of expressions and in front."""
        statements: list[Any] = []
        for statement in statements_of(body):
            statements.extend(extract_reductions(statement, self.threads))
        return statements

    def _items_of(self, statement: Any, kind: str, guards: Guards, block_index: int) -> list[Any]:
        if kind == "reduction":
            return [statement.statement()]
        if kind == "guarded":
            return self._guarded(statement, guards, block_index)
        if kind == "mixed":
            return [self._split(statement, guards)]
        return [statement]

    # -- kinds ------------------------------------------------------------------------------------------------

    def _kind(self, node: Any, guarded: bool) -> str:
        """How a statement is lowered.

        memory, allocation: it allocates private memory, or memory of the block. thread: each thread runs it alone.
        block: it runs once for the block. reduction: it reduces across threads. mixed: it is uniform and has parts of
        several kinds. guarded: it is divergent and contains reductions across threads.
        """
        if isinstance(node, ThreadReduction):
            return "reduction"
        if isinstance(node, (AllocBuffer, DeclBuffer)):
            return "memory" if self.uniformity.root(node.buffer) in self.uniformity.varying else "allocation"
        if not isinstance(node, (For, While, IfThenElse, AttrStmt, SeqStmt)):
            by_each = self._names_varying(node) or _is_atomic(node) or self._prints_in_each_thread(node)
            return "thread" if guarded or by_each else "block"
        if not has_reduction(node):
            by_each = self._names_varying(node) or _atomics_outside_parallel(node) or self._prints_in_each_thread(node)
            if not guarded and not by_each:
                return "block"
            if guarded or is_parallel(node) or self.uniformity.is_divergent(node):
                return "thread"
            return "mixed" if self._must_be_split(node) else "thread"
        if isinstance(node, IfThenElse) and (guarded or self.uniformity.is_divergent(node)):
            return "guarded"
        if self.uniformity.is_divergent(node):
            raise UnsupportedError(
                "a reduction across threads stands in a loop that the threads leave at different times",
                location=location_of_span(node.span),
                expected="a loop with the same bounds in all threads, and no `break` that only some of them take",
            )
        return "mixed"

    def _names_varying(self, node: Stmt) -> bool:
        """Does the statement use a variable or buffer that varies between threads?"""
        return any(self.uniformity.root(var) in self.uniformity.varying for var in variables(node))

    def _prints_in_each_thread(self, node: Any) -> bool:
        """Does the node contain a T.print outside of T.Parallel that each thread executes?"""
        if is_parallel(node):
            return False
        call = as_tile_call(node) if isinstance(node, Evaluate) else None
        if call is not None and call.op.name == "print":
            return self.uniformity.prints_in_each_thread(call)
        return any(self._prints_in_each_thread(part) for part in children(node))

    def _must_be_split(self, node: Any) -> bool:
        """Does a uniform statement have parts that one thread cannot run alone?"""
        for body in children(node):
            before = Footprint([], self.uniformity)
            for part in statements_of(body):
                kind = self._kind(part, False)
                if kind in ("mixed", "guarded", "reduction") or (kind == "block" and _has_effect(part)):
                    return True
                if kind == "allocation" and not is_private(part.buffer):
                    return True
                if before.conflicts_with(Footprint([part], self.uniformity)):
                    return True
                before.add(part)
        return isinstance(node, (For, While)) and Footprint([node], self.uniformity).conflicts_with_itself()

    # -- compound statements ----------------------------------------------------------------------------------

    def _split(self, node: Any, guards: Guards) -> SplitStatement:
        if isinstance(node, For):
            kind = ForKind.SERIAL if node.kind == ForKind.VECTORIZED else node.kind

            def loop(bodies: list[Stmt]) -> Stmt:
                return For(
                    node.loop_var, node.min, node.extent, kind, bodies[0], annotations=node.annotations, span=node.span
                )

            return SplitStatement([self.block(node.body, guards)], loop)
        if isinstance(node, While):
            return SplitStatement(
                [self.block(node.body, guards)], lambda rebuilt: While(node.condition, rebuilt[0], span=node.span)
            )
        if isinstance(node, AttrStmt):
            return SplitStatement(
                [self.block(node.body, guards)],
                lambda rebuilt: AttrStmt(node.node, node.attr_key, node.value, rebuilt[0], span=node.span),
            )
        sides = [node.then_case, *([] if node.else_case is None else [node.else_case])]
        return SplitStatement(
            [self.block(side, guards) for side in sides],
            lambda rebuilt: IfThenElse(node.condition, *rebuilt, *([None] * (2 - len(rebuilt))), span=node.span),
        )

    def _guarded(self, node: IfThenElse, guards: Guards, block_index: int) -> list[Any]:
        """A divergent ``if`` around a reduction: each region inside tests whether its thread took the branch."""
        flag = guard_buffer(self.threads)
        remember = BufferStore(flag, node.condition, [self.threads.linear_index()], span=node.span)
        items: list[Any] = [AllocBuffer(flag), Region([remember], guards, block_index)]
        items += self.block(node.then_case, (*guards, (flag, True))).items
        if node.else_case is not None:
            items += self.block(node.else_case, (*guards, (flag, False))).items
        return items


def _has_effect(node: Stmt) -> bool:
    """Does a uniform statement have an effect, so that running it once for each thread would differ?"""
    return bool(collect(node, BufferStore, Evaluate))


def _is_atomic(node: Any) -> bool:
    return any(op_name(call) == ATOMIC_ELEMENT for call in collect(node, Call))


def _atomics_outside_parallel(node: Any) -> bool:
    """Does the node contain atomics that every thread executes? In a T.Parallel nest each iteration executes one."""
    if is_parallel(node):
        return False
    inner = list(children(node)) if isinstance(node, Stmt) else []
    if inner:
        return any(_atomics_outside_parallel(child) for child in inner)
    return _is_atomic(node)


def condition_of(guards: Guards, thread_index: Expr) -> list[Expr]:
    """The conditions under which the thread with this index executes a guarded region."""
    from tilecore.ir.nodes import BufferLoad, Not

    loads = [(BufferLoad(flag, [thread_index]), expected) for flag, expected in guards]
    return [load if expected else Not(load) for load, expected in loads]
