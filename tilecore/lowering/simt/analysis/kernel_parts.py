"""Collects how a kernel uses fragments, separately for the code of each range of its threads (ir/thread_ranges.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.errors import LanguageError
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import constant
from tilecore.ir.nodes import AllocBuffer, AttrStmt, DeclBuffer, Evaluate, For, IfThenElse, SeqStmt, Stmt, Var, While
from tilecore.ir.scopes import is_fragment
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import ThreadRange, range_of
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables
from tilecore.lowering.simt.analysis.parallel_nests import Nest, accesses_of, is_parallel, short_loops
from tilecore.lowering.simt.choose_tile_ops import chosen


def kernel_parts(body: Stmt, threads: int, env: PassEnv) -> list[KernelPart]:
    """The code of the whole block of ``threads`` threads, and the code of each range of threads in it.

    Each fragment belongs to the part that uses it. Raises LanguageError where two parts use one fragment.
    """
    whole = ThreadRange(0, threads)
    ranges = dict.fromkeys([whole, *(r for node in collect(body, AttrStmt) if (r := range_of(node)) is not None)])
    parts = [KernelPart(body, each, each == whole, env) for each in ranges]
    owners: dict[Var, KernelPart] = {}
    for part in parts:
        for buffer, span in part.used.items():
            other = owners.setdefault(buffer, part)
            if other is not part:
                raise LanguageError(
                    f"the fragment {buffer.name} is held in registers of {other.threads} and used by {part.threads}",
                    location=location_of_span(span),
                    found=f"{buffer.name} used in the code of two ranges of threads",
                    expected="fragments that one range of threads uses: its registers cannot be read by other threads",
                    hint="allocate a fragment in each range, and pass values from one to the other in shared memory",
                )
    for part in parts:
        part.buffers = [buffer for buffer in part.buffers if owners.get(buffer, parts[0]) is part]
        part.views = {view: root for view, root in part.views.items() if root in part.buffers}
    return parts


class KernelPart:
    """The code of one range of threads.

    nests: the parallel loop nests. calls: the tile operations that are not lowered yet, each with its implementation.
    buffers: the fragments that belong to the part. loose: fragments that are accessed outside of nests and operations,
    each with whether all those indices are constant. views: the views of fragments, each with the fragment that it is
    of. used: the fragments that the code uses, by themselves or by views, each with the span of its first use. around:
    the serial loops around each nest, by number. writers: those around each nest or operation that writes a buffer.
    inside: does the code outside of all ranges belong to it?
    """

    def __init__(self, body: Stmt, threads: ThreadRange, inside: bool, env: PassEnv) -> None:
        self.threads, self.env = threads, env
        self.nests: list[Nest] = []
        self.calls: list[tuple[TileCall, TileOpImpl]] = []
        self.loose: dict[Var, bool] = {}
        self.used: dict[Var, Any] = {}
        self.buffers = [a.buffer for a in collect(body, AllocBuffer) if is_fragment(a.buffer)]
        self._roots = memory_roots(body)
        self._fragments = set(self.buffers)
        self._serial = short_loops(body)
        self.views = {view: root for view, root in self._roots.items() if view is not root and is_fragment(view)}
        self.around: dict[For, frozenset[int]] = {}
        self.writers: dict[Var, list[frozenset[int]]] = {}
        self._loops, self._loop_count = frozenset[int](), 0
        self._gather(body, inside)

    def _gather(self, node: Stmt, inside: bool) -> None:
        """inside: does the statement belong to the code of these threads?"""
        threads = range_of(node)
        if threads is not None:
            self._gather(node.body, threads == self.threads)
            return
        parts = None if is_parallel(node) else _parts(node)
        if parts is None:
            if inside:
                self._simple(node)
            return
        outside = self._loops
        if isinstance(node, (For, While)):
            self._loop_count += 1
            self._loops = outside | {self._loop_count}
        for part in parts:
            if isinstance(part, Stmt):
                self._gather(part, inside)
            elif inside:
                self._use(part, node.span)
                self._access_outside(part)
        self._loops = outside

    def _simple(self, node: Any) -> None:
        if not isinstance(node, (AllocBuffer, DeclBuffer)):
            self._use(node, node.span)
        call = as_tile_call(node) if isinstance(node, Evaluate) else None
        if is_parallel(node):
            nest = Nest(node, self._roots, self._serial)
            self.nests.append(nest)
            self.around[node] = self._loops
            self._write(a.buffer for a in nest.accesses if a.writes)
        elif call is not None and CallAttr.IMPLEMENTATION in call.hints:
            self.calls.append((call, chosen(call, self.env)))
            self._write(call.args[name].source for name in call.op.writes)
        else:
            self._access_outside(node)

    def _write(self, buffers: Iterable[Var]) -> None:
        for buffer in set(buffers):
            self.writers.setdefault(buffer, []).append(self._loops)

    def _access_outside(self, node: Any) -> None:
        """Notes the fragments that a statement or an expression outside of nests and operations accesses."""
        for access in accesses_of(node):
            if is_fragment(access.buffer):
                are_constant = bool(access.indices) and all(constant(index) is not None for index in access.indices)
                self.loose[access.buffer] = self.loose.get(access.buffer, True) and are_constant

    def _use(self, node: Any, span: Any) -> None:
        used = {self._roots.get(buffer, buffer) for buffer in variables(node)}
        for buffer in sorted(used & self._fragments, key=lambda v: str(v.name)):
            self.used.setdefault(buffer, span)


def _parts(node: Stmt) -> list[Any] | None:
    """The statements and expressions directly inside a compound statement; None for a simple one."""
    if isinstance(node, SeqStmt):
        return list(node.seq)
    if isinstance(node, (For, AttrStmt)):
        return [node.min, node.extent, node.body] if isinstance(node, For) else [node.body]
    if isinstance(node, While):
        return [node.condition, node.body]
    if isinstance(node, IfThenElse):
        return [node.condition, node.then_case, *([] if node.else_case is None else [node.else_case])]
    return None
