"""Fuses adjacent parallel loops that work on the same elements, so that a tile is traversed once for all operations.

A buffer that is then live within one iteration shrinks to the elements of one iteration.

Two loops are fused when iteration i of either accesses only slice i of every buffer that both access and one writes:
some axis of the buffer is indexed by the same expression of the loop variable in all accesses. Two parameters that may
alias count as one buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.affine import coefficient
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import constant, dtype_of, seq, statements_of, with_body
from tilecore.ir.effects import effect_in
from tilecore.ir.memory_writes import may_alias
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
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
from tilecore.ir.visit import collect, substitute, variables

# a loop without an inner loop is fused into a nest only when it is short: a long one is better vectorized alone
SHORT = 16


def fuse_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    work = _Fuser(memory_roots(func.body))
    body = work.statement(func.body)
    if work.merged or work.shrunk:
        env.note("fusion", {"loops merged": work.merged, "buffers shrunk": sorted(work.shrunk)})
    return func.with_body(body)


@dataclass
class Access:
    """Reads and writes of one buffer."""

    indices: list[list[Any]]
    written: bool = False


@dataclass
class Summary:
    """The accesses of a statement. opaque: it has other effects too and must not move."""

    accesses: dict[Var, Access]
    opaque: bool


def summarize(node: Stmt) -> Summary:
    accesses: dict[Var, Access] = {}
    for access in collect(node, TensorLoad, BufferStore):
        is_store = isinstance(access, BufferStore)
        buffer = access.buffer if is_store else access.source
        entry = accesses.setdefault(buffer, Access([]))
        entry.indices.append(list(access.indices))
        entry.written |= is_store
    opaque = bool(collect(node, Evaluate, While, tirx.Break, tirx.Continue, tirx.Return, DeclBuffer))
    return Summary(accesses, opaque or effect_in(node) is not None)


def is_candidate(node: Stmt) -> bool:
    return isinstance(node, For) and (node.kind == ForKind.PARALLEL or LoopAttr.REDUCTION in node.annotations)


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
        merged: list[Stmt] = []
        for statement in statements:
            if is_candidate(statement) and self._fuse_with_earlier(merged, statement):
                continue
            merged.append(statement)
        merged = self._shrink(merged)
        return [self.statement(part) for part in merged]

    # -- merging ----------------------------------------------------------------------------------------------

    def _fuse_with_earlier(self, done: list[Stmt], loop: For) -> bool:
        """Fuse ``loop`` with the last loop of ``done`` if only simple statements stand between; these move in front."""
        between: list[Stmt] = []
        for position in range(len(done) - 1, -1, -1):
            earlier = done[position]
            if is_candidate(earlier):
                return self._try_to_fuse(done, position, between, loop)
            if not isinstance(earlier, (AllocBuffer, BufferStore)):
                return False
            between.insert(0, earlier)
        return False

    def _try_to_fuse(self, done: list[Stmt], position: int, between: list[Stmt], loop: For) -> bool:
        earlier = done[position]
        first, second = summarize(earlier), summarize(loop)
        if first.opaque or second.opaque or not self._same_shape(earlier, loop):
            return False
        if not all(_can_move_up(statement, first) for statement in between):
            return False
        if any(self._may_conflict(summarize(statement), first) for statement in between):
            return False
        body = substitute(loop.body, {loop.loop_var: earlier.loop_var})
        if not self._independent(first, summarize(body), earlier):
            return False
        notes = {**earlier.annotations, **loop.annotations}
        kind = ForKind.PARALLEL if earlier.kind == loop.kind == ForKind.PARALLEL else ForKind.SERIAL
        inside = seq([*statements_of(earlier.body), *statements_of(body)])
        fused = For(earlier.loop_var, earlier.min, earlier.extent, kind, inside, annotations=notes, span=earlier.span)
        done[position:] = [*between, fused]
        self.merged += 1
        return True

    def _same_shape(self, a: For, b: For) -> bool:
        if dtype_of(a.loop_var) != dtype_of(b.loop_var) or constant(a.min) != 0 or constant(b.min) != 0:
            return False
        if not structural_equal(a.extent, b.extent):
            return False
        extent = constant(a.extent)
        short = extent is not None and extent <= SHORT
        return short or _has_inner_loop(a) == _has_inner_loop(b)

    def _independent(self, first: Summary, second: Summary, loop: For) -> bool:
        if not first.accesses.keys() & second.accesses.keys():
            return False  # no buffer in common: nothing is gained
        for buffer, first_access in first.accesses.items():
            second_access = second.accesses.get(buffer)
            if second_access is None or not (first_access.written or second_access.written):
                continue
            if buffer in self.roots or shared_axis([*first_access.indices, *second_access.indices], loop) is None:
                return False
        return not self._may_conflict(second, first, loop)

    def _may_conflict(self, first: Summary, second: Summary, loop: For | None = None) -> bool:
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
                    if not alike or shared_axis([*access.indices, *other_access.indices], loop) is None:
                        return True
        return False

    # -- shrinking --------------------------------------------------------------------------------------------

    def _shrink(self, statements: list[Stmt]) -> list[Stmt]:
        """Move buffers that only one parallel loop accesses into that loop, without the axis that it runs along."""
        shrunk = list(statements)
        for alloc in [s for s in shrunk if isinstance(s, AllocBuffer)]:
            buffer = alloc.buffer
            users = [s for s in shrunk if s is not alloc and buffer in summarize(s).accesses]
            if len(users) != 1 or buffer in self.roots or not isinstance(users[0], For):
                continue
            (loop,) = users
            if loop.kind != ForKind.PARALLEL and LoopAttr.REDUCTION not in loop.annotations:
                continue
            if summarize(loop).opaque or is_total(buffer) or is_global(buffer):
                continue
            axis = shared_axis(summarize(loop).accesses[buffer].indices, loop)
            if axis is None:
                continue
            shrunk[shrunk.index(loop)] = _without_axis(loop, alloc, axis)
            shrunk.remove(alloc)
            self.shrunk.add(str(buffer.name))
        return shrunk


def _has_inner_loop(loop: For) -> bool:
    return any(is_candidate(inner) for inner in collect(loop.body, For))


def _can_move_up(statement: Stmt, over: Summary) -> bool:
    """May a simple statement run before the statement that ``over`` describes?"""
    if isinstance(statement, AllocBuffer):
        return True
    summary = summarize(statement)
    if summary.opaque:
        return False
    for buffer, access in summary.accesses.items():
        other_access = over.accesses.get(buffer)
        if other_access is not None and (other_access.written or access.written):
            return False
    return True


def shared_axis(indices: list[list[Any]], loop: For) -> int | None:
    """An axis that all accesses index by the same expression, which differs between iterations of ``loop``; or None."""
    inner = {f.loop_var for f in collect(loop.body, For)} | {b.var for b in collect(loop.body, tirx.Bind)}
    for axis, expression in enumerate(indices[0]):
        step = coefficient(expression, loop.loop_var)
        if not isinstance(step, int) or step == 0 or variables(expression) & inner:
            continue
        if collect(expression, TensorLoad):
            continue
        if all(structural_equal(other[axis], expression) for other in indices[1:]):
            return axis
    return None


def _without_axis(loop: For, alloc: AllocBuffer, axis: int) -> For:
    """``loop`` with the buffer allocated inside it, one element long along ``axis``."""
    old = alloc.buffer
    shape = list(old.shape)
    shape[axis] = IntImm("int32", 1)
    new = tirx.decl_buffer(shape, str(old.dtype), str(old.name), scope=str(old.scope()), layout=None)
    zero = IntImm("int32", 0)

    def without_axis(indices: Any) -> list[Any]:
        new_indices = list(indices)
        new_indices[axis] = zero
        return new_indices

    def change(node: Any) -> Any:
        if isinstance(node, TensorLoad):
            return BufferLoad(new, without_axis(node.indices), span=node.span) if node.source.same_as(old) else node
        return (
            BufferStore(new, node.value, without_axis(node.indices), span=node.span)
            if node.buffer.same_as(old)
            else node
        )

    body = structural_map(loop.body, ((TensorLoad, BufferStore), change))
    inside = seq([AllocBuffer(new, span=alloc.span), *statements_of(body)])
    return with_body(loop, inside)


FUSE_LOOPS = Pass("fuse_loops", fuse_loops)
