"""Fuses adjacent parallel loops that work on the same elements, so that a tile is traversed once for all operations.

A buffer that is then live within one iteration shrinks to the elements of one iteration.

Two loops are fused when iteration i of either accesses only slice i of every buffer that both access and one writes:
some axis of the buffer is indexed by the same expression of the loop variable in all accesses. Two parameters that may
alias count as one buffer.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import constant, dtype_of, seq, statements_of, with_body
from tilecore.ir.memory_writes import may_alias
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    BufferLoad,
    BufferStore,
    For,
    IfThenElse,
    IntImm,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    While,
    structural_equal,
    structural_map,
    tirx,
)
from tilecore.ir.scopes import is_global, is_total
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import substitute
from tilecore.lowering.loops.loop_parts import Part, Summary, is_candidate, summarize

# a loop without an inner loop is fused into a nest only when it is short: a long one is better vectorized alone
SHORT = 16


def fuse_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    work = _Fuser(memory_roots(func.body))
    body = work.statement(func.body)
    if work.merged or work.shrunk:
        env.note("fusion", {"loops merged": work.merged, "buffers shrunk": sorted(work.shrunk)})
    return func.with_body(body)


def _same_shape(a: Part, b: Part) -> bool:
    first, second = a.node, b.node
    if dtype_of(first.loop_var) != dtype_of(second.loop_var) or constant(first.min) != 0 or constant(second.min) != 0:
        return False
    if not structural_equal(first.extent, second.extent):
        return False
    extent = constant(first.extent)
    short = extent is not None and extent <= SHORT
    return short or a.summary.has_inner_loop == b.summary.has_inner_loop


def _can_move_up(part: Part, over: Summary) -> bool:
    """May a simple statement run before the statement that ``over`` describes?"""
    if isinstance(part.node, AllocBuffer):
        return True
    if part.summary.opaque:
        return False
    for buffer, access in part.summary.accesses.items():
        other_access = over.accesses.get(buffer)
        if other_access is not None and (other_access.written or access.written):
            return False
    return True


class _Fuser:
    def __init__(self, roots: dict[Var, Var]) -> None:
        self.roots = roots
        self.merged = 0
        self.shrunk: set[str] = set()

    # -- walking ----------------------------------------------------------------------------------------------

    def statement(self, node: Stmt) -> Stmt:
        if isinstance(node, SeqStmt):
            return seq(self.block(statements_of(node)))
        if isinstance(node, For):
            return with_body(node, self.statement(node.body))
        if isinstance(node, AttrStmt):
            return AttrStmt(node.node, node.attr_key, node.value, self.statement(node.body), span=node.span)
        if isinstance(node, While):
            return While(node.condition, self.statement(node.body), span=node.span)
        if isinstance(node, IfThenElse):
            other = None if node.else_case is None else self.statement(node.else_case)
            return IfThenElse(node.condition, self.statement(node.then_case), other, span=node.span)
        return node

    def block(self, statements: list[Stmt]) -> list[Stmt]:
        """Fuse the loops of one block, shrink its buffers, then process each statement's body."""
        parts: list[Part] = []
        for statement in statements:
            part = Part(statement)
            if not (is_candidate(statement) and self._fuse_with_earlier(parts, part)):
                parts.append(part)
        return [self.statement(part) for part in self._shrink(parts)]

    # -- merging ----------------------------------------------------------------------------------------------

    def _fuse_with_earlier(self, done: list[Part], loop: Part) -> bool:
        """Fuse ``loop`` with the last loop of ``done`` if only simple statements stand between; these move in front."""
        for position in range(len(done) - 1, -1, -1):
            earlier = done[position]
            if is_candidate(earlier.node):
                return self._try_to_fuse(done, position, loop)
            if not isinstance(earlier.node, (AllocBuffer, BufferStore)):
                return False
        return False

    def _try_to_fuse(self, done: list[Part], position: int, loop: Part) -> bool:
        earlier, between = done[position], done[position + 1 :]
        first, second = earlier.summary, loop.summary
        if first.opaque or second.opaque or not _same_shape(earlier, loop):
            return False
        if not all(_can_move_up(part, first) for part in between):
            return False
        if any(self._may_conflict(part.summary, first) for part in between):
            return False
        body = substitute(loop.node.body, {loop.node.loop_var: earlier.node.loop_var})
        moved = summarize(body)
        if not self._independent(first, moved, earlier):
            return False
        earlier.fuse(loop.node, body, moved)
        done[position:] = [*between, earlier]
        self.merged += 1
        return True

    def _independent(self, first: Summary, second: Summary, loop: Part) -> bool:
        if not first.accesses.keys() & second.accesses.keys():
            return False  # no buffer in common: nothing is gained
        for buffer, second_access in second.accesses.items():
            first_access = first.accesses.get(buffer)
            if first_access is None or not (first_access.written or second_access.written):
                continue
            if buffer in self.roots or loop.shared_axis(first_access, second_access) is None:
                return False
        return not self._may_conflict(second, first, loop)

    def _may_conflict(self, first: Summary, second: Summary, loop: Part | None = None) -> bool:
        """May both access the same memory through different buffers, and one write it? That happens by views, and by
        parameters that may alias. For the latter an axis may separate the iterations of ``loop``, as for one buffer."""
        for buffer, access in first.accesses.items():
            for other, other_access in second.accesses.items():
                if buffer.same_as(other) or not (access.written or other_access.written):
                    continue
                if buffer in self.roots and other in self.roots and self.roots[buffer].same_as(self.roots[other]):
                    return True
                if may_alias(buffer, other):
                    alike = loop is not None and structural_equal(buffer.shape, other.shape)
                    if loop is None or not alike or loop.shared_axis(access, other_access) is None:
                        return True
        return False

    # -- shrinking --------------------------------------------------------------------------------------------

    def _shrink(self, parts: list[Part]) -> list[Stmt]:
        """Move buffers that only one parallel loop accesses into that loop, without the axis that it runs along."""
        allocs = [part for part in parts if isinstance(part.node, AllocBuffer)]
        users: dict[Var, list[Part]] = {}
        for part in parts if allocs else ():
            for buffer in part.summary.accesses:
                users.setdefault(buffer, []).append(part)
        moved: set[int] = set()
        axes: dict[int, list[tuple[AllocBuffer, int]]] = {}  # what moves into a loop, by the loop's id
        for alloc in allocs:
            buffer = alloc.node.buffer
            (loop, *others) = users.get(buffer) or [alloc]
            if others or buffer in self.roots or not is_candidate(loop.node):
                continue
            if loop.summary.opaque or is_total(buffer) or is_global(buffer):
                continue
            axis = loop.shared_axis(loop.summary.accesses[buffer])
            if axis is not None:
                axes.setdefault(id(loop), []).append((alloc.node, axis))
                moved.add(id(alloc))
                self.shrunk.add(str(buffer.name))
        return [_without_axes(part.statement(), axes.get(id(part), [])) for part in parts if id(part) not in moved]


def _without_axes(node: Stmt, moved: list[tuple[AllocBuffer, int]]) -> Stmt:
    """The loop ``node`` with the buffers allocated inside it, each one element long along its axis."""
    if not moved:
        return node
    zero = IntImm("int32", 0)
    replaced: dict[Var, tuple[Var, int]] = {}  # by the old buffer: the new one, and the axis
    allocs: list[Stmt] = []
    for alloc, axis in moved:
        old, shape = alloc.buffer, list(alloc.buffer.shape)
        shape[axis] = IntImm("int32", 1)
        new = tirx.decl_buffer(shape, str(old.dtype), str(old.name), scope=str(old.scope()), layout=None)
        replaced[old] = new, axis
        allocs.insert(0, AllocBuffer(new, span=alloc.span))

    def change(node: Any) -> Any:
        is_load = isinstance(node, TensorLoad)
        new = replaced.get(node.source if is_load else node.buffer)
        if new is None:
            return node
        buffer, axis = new
        indices = list(node.indices)
        indices[axis] = zero
        if is_load:
            return BufferLoad(buffer, indices, span=node.span)
        return BufferStore(buffer, node.value, indices, span=node.span)

    body = structural_map(node.body, ((TensorLoad, BufferStore), change))
    return with_body(node, seq([*allocs, *statements_of(body)]))


FUSE_LOOPS = Pass("fuse_loops", fuse_loops)
