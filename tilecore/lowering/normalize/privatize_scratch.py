"""Gives the iterations of T.Parallel their own copies of scratch: memory of a thread that all of them write at one
place. A copy starts with what the memory held before the loop.

Scratch that nothing reads afterwards is allocated in the loop itself. Else it stays where it is, and what it held is
put back at the start of each iteration, if an iteration may read it before it writes it.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import const, constant, seq, with_body
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferStore,
    For,
    ForKind,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    While,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.parallel_nests import region_facts
from tilecore.ir.scopes import is_private
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.first_reads import reads_first


def privatize_scratch(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if not any(is_private(a.buffer) for a in collect(func.body, AllocBuffer)):
        return func
    work = _Privatizer(func.body)
    return func.with_body(structural_mutate(func.body, [(For, work.loop), (While, work.repeat)]))


class _Privatizer:
    """roots: for buffers with views, the one whose memory it is. readings: of a buffer, how often anything reads it; a
    nest that writes it first does not count. depth: sequential loops around the statement at hand."""

    def __init__(self, body: Stmt) -> None:
        self.roots = memory_roots(body)
        self.depth = 0
        self.own: dict[For, dict[Var, bool]] = {}
        self.readings = _readings(body)
        for nest in _nests(body):
            for buffer, first in self._scratch(nest).items():
                if not first:
                    self.readings[buffer] = self.readings.get(buffer, 0) - _readings(nest).get(buffer, 0)

    def _scratch(self, nest: For) -> dict[Var, bool]:
        """The scratch of a nest, allocated outside; and may an iteration read it before it writes it?"""
        if nest not in self.own:
            inside = {a.buffer for a in collect(nest, AllocBuffer)}
            found = {self.roots.get(b, b) for b in region_facts(nest).scratch if is_private(b)}
            body = _innermost(nest).body
            self.own[nest] = {b: b in self.roots or reads_first(body, b) for b in found - inside}
        return self.own[nest]

    # -- rewriting --------------------------------------------------------------------------------------------

    def repeat(self, node: While, mutator: Any) -> Any:
        self.depth += 1
        repeated = mutator.default_mutate(node)
        self.depth -= 1
        return repeated

    def loop(self, node: For, mutator: Any) -> Any:
        if node.kind == ForKind.PARALLEL:
            return self._nest(node)
        return self.repeat(node, mutator)

    def _nest(self, nest: For) -> Stmt:
        before: list[Stmt] = []
        for buffer, first in self._scratch(nest).items():
            if not self._is_read_after(nest, buffer, first):
                nest = _with_own(nest, buffer, first)
            elif first:
                saved = _like(buffer, "before")
                before += [AllocBuffer(saved, span=nest.span), _copied(buffer, saved, nest.span)]
                nest = _starting_with(nest, lambda s=saved, b=buffer: [_copied(s, b, None)], between=True)
        return seq([*before, nest])

    def _is_read_after(self, nest: For, buffer: Var, first: bool) -> bool:
        if buffer in self.roots:
            return True
        here = _readings(nest).get(buffer, 0) if first else 0
        return self.readings.get(buffer, 0) > here or (first and self.depth > 0)


def _readings(body: Stmt) -> dict[Var, int]:
    counts: dict[Var, int] = {}
    for access in collect(body, TensorLoad, TensorRegion):
        counts[access.source] = counts.get(access.source, 0) + 1
    return counts


def _nests(body: Stmt) -> list[For]:
    """The outermost T.Parallel loops."""
    nests: list[For] = []

    def loop(node: For, mutator: Any) -> Any:
        if node.kind != ForKind.PARALLEL:
            return mutator.default_mutate(node)
        nests.append(node)
        return node

    structural_mutate(body, [(For, loop)])
    return nests


def _parts(body: Stmt) -> list[Stmt]:
    return list(body.seq) if isinstance(body, SeqStmt) else [body]


def _inner(node: For) -> For | None:
    """The T.Parallel loop that, but for variables bound before it, is all there is in ``node``."""
    *binds, last = _parts(node.body)
    perfect = isinstance(last, For) and last.kind == ForKind.PARALLEL and all(isinstance(b, Bind) for b in binds)
    return last if perfect else None


def _innermost(node: For) -> For:
    inner = _inner(node)
    return node if inner is None else _innermost(inner)


def _starting_with(node: For, make: Any, between: bool = False) -> For:
    """The nest with the statements that ``make`` gives at the start of each iteration (and of each of its loops that
    binds variables, if ``between``)."""
    inner = _inner(node)
    parts = _parts(node.body)
    if inner is None:
        parts = [*make(), *parts]
    else:
        parts = [*(make() if between and len(parts) > 1 else []), *parts[:-1], _starting_with(inner, make, between)]
    return with_body(node, seq(parts))


def _with_own(nest: For, buffer: Var, first: bool) -> For:
    """The nest with a buffer of its own in each iteration in the place of ``buffer``."""
    own = _like(buffer, "own")

    def change(node: Any) -> Any:
        if isinstance(node, TensorLoad):
            return BufferLoad(own, list(node.indices), span=node.span) if node.source.same_as(buffer) else node
        return BufferStore(own, node.value, list(node.indices), span=node.span) if node.buffer.same_as(buffer) else node

    inner = _innermost(nest)
    body = structural_map(inner.body, ((TensorLoad, BufferStore), change))
    start = [AllocBuffer(own, span=nest.span), *([_copied(buffer, own, nest.span)] if first else [])]
    return _replaced(nest, seq([*start, *_parts(body)]))


def _replaced(node: For, body: Stmt) -> For:
    """The nest with another body of its innermost loop."""
    inner = _inner(node)
    return with_body(node, body if inner is None else seq([*_parts(node.body)[:-1], _replaced(inner, body)]))


def _like(buffer: Var, suffix: str) -> Var:
    name = f"{buffer.name}_{suffix}"
    return tirx.decl_buffer(list(buffer.shape), str(buffer.dtype), name, scope=str(buffer.scope()), layout=None)


def _copied(source: Var, target: Var, span: Any) -> Stmt:
    """All elements of ``source`` to ``target``, one after the other."""
    indices = [const(0, "int32") if constant(size) == 1 else Var("e", "int32") for size in source.shape]
    copies: Stmt = BufferStore(target, BufferLoad(source, list(indices)), list(indices), span=span)
    for index, size in zip(reversed(indices), reversed(list(source.shape)), strict=True):
        if index in variables(copies) and isinstance(index, Var):
            copies = For(index, const(0, "int32"), size, ForKind.SERIAL, copies, span=span)
    return copies


PRIVATIZE_SCRATCH = Pass("privatize_scratch", privatize_scratch)
