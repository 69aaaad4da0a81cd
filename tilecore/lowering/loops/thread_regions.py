"""Cuts the code of a block into regions: runs of statements that each thread can do from start to end by itself.

Between regions stand statements of the block as a whole: tile operations, T.Parallel nests, whatever is the same in
all threads, and joins of values of all threads. A loop or ``if`` that all threads go through together is cut inside
when what it contains needs it; one in which threads part ways belongs to a region as it is. T.sync_threads needs no
place here: wherever one thread may touch what another wrote, the code is cut anyway.
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
from tilecore.ir.visit import children, collect, variables
from tilecore.lowering.analysis.kernels import Threads
from tilecore.lowering.analysis.uniformity import Uniformity, is_parallel
from tilecore.lowering.loops.thread_conflicts import Footprint
from tilecore.lowering.loops.thread_reductions import Join, extract_joins, guard_buffer, has_join

Guards = tuple[tuple[Var, bool], ...]  # buffers of one bool a thread, and the value with which a thread takes part


@dataclass
class Region:
    """Statements that every thread runs, one thread after the other. block: number of the block that it stands in."""

    statements: list[Stmt]
    guards: Guards
    block: int


@dataclass
class Home:
    """Where memory of each thread is allocated, or a view of such memory is declared."""

    statement: AllocBuffer | DeclBuffer
    block: int


@dataclass
class Cut:
    """A loop or ``if`` of the whole block, its bodies cut. rebuild: makes the statement from the finished bodies."""

    bodies: list[Block]
    rebuild: Callable[[list[Stmt]], Stmt]


@dataclass
class Block:
    """Consecutive statements, cut."""

    number: int
    items: list[Stmt | Region | Home | Cut] = field(default_factory=list)


class Cutter:
    """Cuts the code of one kernel."""

    def __init__(self, body: Stmt, threads: Threads) -> None:
        self.threads = threads
        self.uniformity = Uniformity(body, threads)
        self.blocks = 0

    # -- blocks -----------------------------------------------------------------------------------------------

    def block(self, body: Stmt, guards: Guards = ()) -> Block:
        self.blocks += 1
        made = Block(self.blocks)
        open_region: list[Stmt] = []
        touched = Footprint([], self.uniformity)

        def close() -> None:
            nonlocal touched
            if open_region:
                made.items.append(Region(list(open_region), guards, made.number))
                open_region.clear()
                touched = Footprint([], self.uniformity)

        for statement in self._with_joins(body):
            kind = self._kind(statement, bool(guards))
            if kind == "home":
                made.items.append(Home(statement, made.number))
            elif kind == "allocation":
                made.items.append(statement)
            elif kind == "thread":
                own = Footprint([statement], self.uniformity)
                if open_region and touched.conflicts_with(own):
                    close()
                open_region.append(statement)
                touched.add(statement)
            elif isinstance(statement, Bind) and not touched.conflicts_with(Footprint([statement], self.uniformity)):
                made.items.append(statement)
            else:
                close()
                made.items.extend(self._of_block(statement, kind, guards, made.number))
        close()
        return made

    def _with_joins(self, body: Stmt) -> list[Any]:
        """The statements of a block; joins of threads' values taken out of them and put before."""
        found: list[Any] = []
        for statement in statements_of(body):
            found.extend(extract_joins(statement, self.threads))
        return found

    def _of_block(self, statement: Any, kind: str, guards: Guards, number: int) -> list[Any]:
        if kind == "join":
            return [statement.statement()]
        if kind == "guarded":
            return self._guarded(statement, guards, number)
        if kind == "mixed":
            return [self._cut(statement, guards)]
        return [statement]

    # -- kinds ------------------------------------------------------------------------------------------------

    def _kind(self, node: Any, guarded: bool) -> str:
        """home, allocation: of memory. thread: each thread does it by itself. block: all do it as one. join: values of
        threads are joined. mixed: has parts of both, and all threads go through it together. guarded: has joins, and
        threads part ways in it."""
        if isinstance(node, Join):
            return "join"
        if isinstance(node, (AllocBuffer, DeclBuffer)):
            return "home" if self.uniformity.root(node.buffer) in self.uniformity.varying else "allocation"
        if not isinstance(node, (For, While, IfThenElse, AttrStmt, SeqStmt)):
            return "thread" if guarded or self._names_varying(node) or _is_atomic(node) else "block"
        if not has_join(node):
            if not guarded and not self._names_varying(node) and not _atomics_outside_parallel(node):
                return "block"
            if guarded or is_parallel(node) or self.uniformity.is_divergent(node):
                return "thread"
            return "mixed" if self._must_be_cut(node) else "thread"
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
        """Does a name of something that varies stand in a statement?"""
        return any(self.uniformity.root(var) in self.uniformity.varying for var in variables(node))

    def _must_be_cut(self, node: Any) -> bool:
        """Does a statement that all threads go through together have parts that one thread cannot do by itself?"""
        for body in children(node):
            before = Footprint([], self.uniformity)
            for part in statements_of(body):
                kind = self._kind(part, False)
                if kind in ("mixed", "guarded", "join") or (kind == "block" and _acts(part)):
                    return True
                if kind == "allocation" and not is_private(part.buffer):
                    return True
                if before.conflicts_with(Footprint([part], self.uniformity)):
                    return True
                before.add(part)
        return isinstance(node, (For, While)) and Footprint([node], self.uniformity).conflicts_with_itself()

    # -- compound statements ----------------------------------------------------------------------------------

    def _cut(self, node: Any, guards: Guards) -> Cut:
        if isinstance(node, For):
            kind = ForKind.SERIAL if node.kind == ForKind.VECTORIZED else node.kind

            def loop(bodies: list[Stmt]) -> Stmt:
                return For(
                    node.loop_var, node.min, node.extent, kind, bodies[0], annotations=node.annotations, span=node.span
                )

            return Cut([self.block(node.body, guards)], loop)
        if isinstance(node, While):
            return Cut([self.block(node.body, guards)], lambda made: While(node.condition, made[0], span=node.span))
        if isinstance(node, AttrStmt):
            return Cut(
                [self.block(node.body, guards)],
                lambda made: AttrStmt(node.node, node.attr_key, node.value, made[0], span=node.span),
            )
        sides = [node.then_case, *([] if node.else_case is None else [node.else_case])]
        return Cut(
            [self.block(side, guards) for side in sides],
            lambda made: IfThenElse(node.condition, *made, *([None] * (2 - len(made))), span=node.span),
        )

    def _guarded(self, node: IfThenElse, guards: Guards, number: int) -> list[Any]:
        """An ``if`` in which threads part ways around a join: each region inside asks whether its thread takes part."""
        flag = guard_buffer(self.threads)
        remember = BufferStore(flag, node.condition, [self.threads.number()], span=node.span)
        made: list[Any] = [AllocBuffer(flag), Region([remember], guards, number)]
        made += self.block(node.then_case, (*guards, (flag, True))).items
        if node.else_case is not None:
            made += self.block(node.else_case, (*guards, (flag, False))).items
        return made


def _acts(node: Stmt) -> bool:
    """Does a statement that is the same in all threads do anything that doing it once for each thread would change?"""
    return bool(collect(node, BufferStore, Evaluate))


def _is_atomic(node: Any) -> bool:
    return any(op_name(call) == "tile.atomic_element" for call in collect(node, Call))


def _atomics_outside_parallel(node: Any) -> bool:
    """Atomics that every thread does; in a T.Parallel nest each iteration does one."""
    if is_parallel(node):
        return False
    inner = list(children(node)) if isinstance(node, Stmt) else []
    if inner:
        return any(_atomics_outside_parallel(child) for child in inner)
    return _is_atomic(node)


def condition_of(guards: Guards, number: Expr) -> list[Expr]:
    """The conditions under which the thread of this number takes part."""
    from tilecore.ir.nodes import BufferLoad, Not

    loads = [(BufferLoad(flag, [number]), wanted) for flag, wanted in guards]
    return [load if wanted else Not(load) for load, wanted in loads]
