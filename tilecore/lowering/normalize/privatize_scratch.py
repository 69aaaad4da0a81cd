"""Privatizes scratch memory of T.Parallel: each iteration gets its own copy of a buffer that all iterations write.

A copy starts with the values of the buffer before the loop. If nothing reads the buffer after the loop, it is allocated
inside the loop. Otherwise it stays outside, and if an iteration may read it before it writes it, its values from before
the loop are restored at the start of each iteration.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import const, constant, seq, with_body
from tilecore.ir.nodes import (
    AllocBuffer,
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
from tilecore.ir.parallel_nests import inner_loop, innermost, region_facts
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
    """Rewrites the T.Parallel nests of a function.

    roots: for buffers with views, the buffer that owns the memory. read_counts: the number of reads of a buffer,
    without those in nests that write it first. depth: the number of sequential loops around the current statement.
    """

    def __init__(self, body: Stmt) -> None:
        self.roots = memory_roots(body)
        self.depth = 0
        self.scratch_of_nest: dict[For, dict[Var, bool]] = {}
        self.read_counts = _count_reads(body)
        for nest in _nests(body):
            for buffer, is_read_first in self._scratch(nest).items():
                if not is_read_first:
                    self.read_counts[buffer] = self.read_counts.get(buffer, 0) - _count_reads(nest).get(buffer, 0)

    def _scratch(self, nest: For) -> dict[Var, bool]:
        """The scratch buffers of a nest that are allocated outside, each with: may an iteration read it first?"""
        if nest not in self.scratch_of_nest:
            inside = {a.buffer for a in collect(nest, AllocBuffer)}
            buffers = {self.roots.get(b, b) for b in region_facts(nest).scratch if is_private(b)}
            body = innermost(nest).body
            self.scratch_of_nest[nest] = {b: b in self.roots or reads_first(body, b) for b in buffers - inside}
        return self.scratch_of_nest[nest]

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
        for buffer, is_read_first in self._scratch(nest).items():
            if not self._is_read_after(nest, buffer, is_read_first):
                nest = _with_private_copy(nest, buffer, is_read_first)
            elif is_read_first:
                backup = _like(buffer, "before")
                before += [AllocBuffer(backup, span=nest.span), _copied(buffer, backup, nest.span)]
                nest = _starting_with(nest, lambda s=backup, b=buffer: [_copied(s, b, None)], between=True)
        return seq([*before, nest])

    def _is_read_after(self, nest: For, buffer: Var, is_read_first: bool) -> bool:
        if buffer in self.roots:
            return True
        reads_in_nest = _count_reads(nest).get(buffer, 0) if is_read_first else 0
        return self.read_counts.get(buffer, 0) > reads_in_nest or (is_read_first and self.depth > 0)


def _count_reads(body: Stmt) -> dict[Var, int]:
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


def _starting_with(node: For, make: Any, between: bool = False) -> For:
    """The nest with the statements of ``make()`` at the start of each iteration.

    between: the statements also precede the bindings between the loops of the nest.
    """
    inner = inner_loop(node)
    parts = _parts(node.body)
    if inner is None:
        parts = [*make(), *parts]
    else:
        parts = [*(make() if between and len(parts) > 1 else []), *parts[:-1], _starting_with(inner, make, between)]
    return with_body(node, seq(parts))


def _with_private_copy(nest: For, buffer: Var, is_read_first: bool) -> For:
    """The nest with ``buffer`` replaced by a buffer that each iteration allocates."""
    private_copy = _like(buffer, "own")

    def change(node: Any) -> Any:
        if isinstance(node, TensorLoad):
            return BufferLoad(private_copy, list(node.indices), span=node.span) if node.source.same_as(buffer) else node
        return (
            BufferStore(private_copy, node.value, list(node.indices), span=node.span)
            if node.buffer.same_as(buffer)
            else node
        )

    inner = innermost(nest)
    body = structural_map(inner.body, ((TensorLoad, BufferStore), change))
    start = [
        AllocBuffer(private_copy, span=nest.span),
        *([_copied(buffer, private_copy, nest.span)] if is_read_first else []),
    ]
    return _replaced(nest, seq([*start, *_parts(body)]))


def _replaced(node: For, body: Stmt) -> For:
    """The nest with ``body`` as the body of its innermost loop."""
    inner = inner_loop(node)
    return with_body(node, body if inner is None else seq([*_parts(node.body)[:-1], _replaced(inner, body)]))


def _like(buffer: Var, suffix: str) -> Var:
    name = f"{buffer.name}_{suffix}"
    return tirx.decl_buffer(list(buffer.shape), str(buffer.dtype), name, scope=str(buffer.scope()), layout=None)


def _copied(source: Var, target: Var, span: Any) -> Stmt:
    """Serial loops that copy all elements of ``source`` to ``target``."""
    indices = [const(0, "int32") if constant(size) == 1 else Var("e", "int32") for size in source.shape]
    copies: Stmt = BufferStore(target, BufferLoad(source, list(indices)), list(indices), span=span)
    for index, size in zip(reversed(indices), reversed(list(source.shape)), strict=True):
        if index in variables(copies) and isinstance(index, Var):
            copies = For(index, const(0, "int32"), size, ForKind.SERIAL, copies, span=span)
    return copies


PRIVATIZE_SCRATCH = Pass("privatize_scratch", privatize_scratch)
