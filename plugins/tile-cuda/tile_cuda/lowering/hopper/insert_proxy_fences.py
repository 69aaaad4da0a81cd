"""Inserts proxy fences: wgmma and explicit TMA stores then see what threads write to shared memory.

Both read through the asynchronous proxy. A fence of the writing thread and a barrier after it order the write before
the reads of others (PTX ISA, "Proxies"). So a fence stands in front of every barrier that follows such a write, unless
the kernel's own T.fence_proxy_async stands between; an explicit arrival counts as a barrier. A thread that arrives when
its asynchronous copies land (T.cp_async_barrier_noinc) cannot fence them: there the threads that start wgmma do.
"""

from __future__ import annotations

from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaStatementAttr
from tile_cuda.lowering.hopper.written_tiles import written_by_threads
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import constant, op_name, seq, with_body
from tilecore.ir.nodes import (
    AttrStmt,
    Break,
    Call,
    Continue,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    While,
    structural_map,
)
from tilecore.ir.thread_calls import NAMED_BARRIER
from tilecore.ir.thread_ranges import range_of
from tilecore.ir.tile_op_table import SYNC_THREADS
from tilecore.ir.visit import collect, jumps_out, stores, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.simt.analysis.asynchronous import ASYNC_NEST

_BARRIERS = (SYNC_THREADS, NAMED_BARRIER, instructions.NAMED_ARRIVE)


def insert_proxy_fences(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return func.with_body(each_kernel(func.body, _with_fences))


def _with_fences(body: Stmt, threads: Threads) -> Stmt:
    groups = [node for node in collect(body, AttrStmt) if node.attr_key == CudaStatementAttr.WGMMA_GROUP]
    read = {element.source for group in groups for element in collect(group, TensorLoad)}
    stored = [call for call in collect(body, Call) if op_name(call) == instructions.TMA_STORE]
    read |= {call.args[1].source for call in stored if instructions.is_explicit(call)}
    tiles = read & written_by_threads(body)
    if not tiles:
        return body
    fenced, _ = _Fences(tiles).statement(body, False)
    copied = _copied_asynchronously(body) & tiles
    return structural_map(fenced, (AttrStmt, lambda node: _fenced_group(node, copied))) if copied else fenced


def _copied_asynchronously(body: Stmt) -> set[Var]:
    """The tiles of asynchronous copies of threads, in kernels where an mbarrier says that they have landed."""
    calls = (call for call in collect(body, Call) if op_name(call) == instructions.MBARRIER)
    if not any(str(call.args[0].value) == "arrive_on_copies" for call in calls):
        return set()
    nests = (node for node in collect(body, AttrStmt) if node.attr_key == StatementAttr.NEST)
    copies = [node for node in nests if constant(node.value) == ASYNC_NEST]
    return {store.buffer for node in copies for store in stores(node)}


def _fenced_group(node: AttrStmt, copied: set[Var]) -> Stmt:
    """A wgmma group with a fence in front, if it reads one of these tiles."""
    if node.attr_key != CudaStatementAttr.WGMMA_GROUP:
        return node
    return seq([instructions.proxy_fence(), node]) if {e.source for e in collect(node, TensorLoad)} & copied else node


def _is_barrier(call: Any) -> bool:
    """Whether other threads may pass it, and then use what was written before it."""
    return op_name(call) in _BARRIERS or instructions.is_explicit_arrival(call)


class _Fences:
    """Inserts fences.

    Each method returns the statement with its fences, and whether it ends ``dirty``: a write has no fence after it yet.
    """

    def __init__(self, tiles: set[Var]) -> None:
        self.tiles = tiles
        self.jumps: list[dict[type, bool]] = []  # for each enclosing loop: is a write without a fence at such a jump?

    def statement(self, node: Stmt, dirty: bool) -> tuple[Stmt, bool]:
        if isinstance(node, SeqStmt):
            parts = []
            for part in node.seq:
                fenced, dirty = self.statement(part, dirty)
                parts.append(fenced)
            return seq(parts), dirty
        if isinstance(node, Evaluate) and _is_barrier(node.value):
            return (seq([instructions.proxy_fence(), node]) if dirty else node), False
        if isinstance(node, Evaluate) and op_name(node.value) == instructions.PROXY_FENCE:
            return node, False
        if isinstance(node, (Break, Continue)):
            self.jumps[-1][type(node)] |= dirty
            return node, False  # the code after a jump is not reached
        if not any(map(_is_barrier, collect(node, Call))) and not jumps_out(node):
            return node, dirty or self._writes(node)
        return self._compound(node, dirty)

    def _compound(self, node: Any, dirty: bool) -> tuple[Stmt, bool]:
        if isinstance(node, (For, While)):
            body, after, after_break = self._iteration(node.body, dirty)
            if after and not dirty:  # the next iteration begins dirty
                body, after, after_break = self._iteration(node.body, True)
            loop = with_body(node, body) if isinstance(node, For) else While(node.condition, body, span=node.span)
            return loop, dirty or after or after_break
        if isinstance(node, IfThenElse):
            then, after = self.statement(node.then_case, dirty)
            other, after_other = None, dirty
            if node.else_case is not None:
                other, after_other = self.statement(node.else_case, dirty)
            return IfThenElse(node.condition, then, other, span=node.span), after or after_other
        body, after = self.statement(node.body, dirty)
        if range_of(node) is not None:  # fences of some threads are not for what others wrote before
            after = after or dirty
        return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span), after

    def _iteration(self, body: Stmt, dirty: bool) -> tuple[Stmt, bool, bool]:
        """(an iteration with its fences, is it dirty where the next iteration begins, is it dirty at a break)."""
        self.jumps.append({Break: False, Continue: False})
        fenced, after = self.statement(body, dirty)
        jumps = self.jumps.pop()
        return fenced, after or jumps[Continue], jumps[Break]

    def _writes(self, node: Stmt) -> bool:
        return bool(written_by_threads(node) & self.tiles & variables(node))


INSERT_PROXY_FENCES = Pass("insert_proxy_fences", insert_proxy_fences)
