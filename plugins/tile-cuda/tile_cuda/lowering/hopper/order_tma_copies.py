"""Inserts a barrier in front of a T.tma_copy that overwrites a tile which the threads of its role have read.

One thread starts the copy, when the others may still read. Reads by other roles are for the kernel's mbarriers. The
barrier stands in front of a loop or a condition whose code only copies.
"""

from __future__ import annotations

from typing import Any

from tile_cuda.operations import KIND, TMA_COPY
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import seq, with_body
from tilecore.ir.dialect_calls import has_dialect_calls
from tilecore.ir.nodes import (
    AttrStmt,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    While,
)
from tilecore.ir.scopes import is_shared
from tilecore.ir.thread_ranges import range_of
from tilecore.ir.tile_ops import as_tile_call, is_barrier, tile_statement
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import each_kernel

Tiles = frozenset[Var]
NONE: Tiles = frozenset()


def order_tma_copies(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if not has_dialect_calls(func.body, KIND) or not _copied(func.body):
        return func
    return func.with_body(each_kernel(func.body, lambda body, threads: _ordered(body, NONE)[0]))


def _ordered(node: Stmt, read: Tiles) -> tuple[Stmt, Tiles]:
    """The code with its barriers, and the tiles that its threads have read since the last barrier."""
    if isinstance(node, SeqStmt):
        parts = []
        for part in node.seq:
            ordered, read = _ordered(part, read)
            parts.append(ordered)
        return seq(parts), read
    if is_barrier(node):
        return node, NONE
    if isinstance(node, AttrStmt):
        body, after = _ordered(node.body, read)
        after = read | after if range_of(node) is not None else after
        return AttrStmt(node.node, node.attr_key, node.value, body, span=node.span), after
    copied, reads = _copied(node), _read(node)
    if not isinstance(node, (For, While, IfThenElse)) or not copied & reads:
        if copied & read:
            return seq([tile_statement("sync_threads", [], span=node.span), node]), reads
        return node, read | reads
    if isinstance(node, For):
        return with_body(node, _ordered(node.body, read | reads)[0]), read | reads
    if isinstance(node, While):
        return While(node.condition, _ordered(node.body, read | reads)[0], span=node.span), read | reads
    other = None if node.else_case is None else _ordered(node.else_case, read)[0]
    return IfThenElse(node.condition, _ordered(node.then_case, read)[0], other, span=node.span), read | reads


def _copied(node: Stmt) -> Tiles:
    """The shared tiles that T.tma_copy in this code fills; not those that one thread copies by itself."""
    calls = (as_tile_call(statement) for statement in collect(node, Evaluate))
    copies = (call for call in calls if call is not None and call.op.name == TMA_COPY.name)
    return frozenset(c.dst.source for c in copies if is_shared(c.dst.source) and CallAttr.ALONE not in c.hints)


def _read(node: Stmt) -> Tiles:
    """The shared memory that the code reads; an operation that also writes it counts."""
    written: set[int] = set()
    for statement in collect(node, Evaluate):
        call = as_tile_call(statement)
        if call is not None:
            only = set(call.op.writes) - set(call.op.reads)
            written |= {id(call.args[name]) for name in only if name in call.args}
    return frozenset(_sources(node, written))


def _sources(node: Stmt, written: set[int]) -> Any:
    for access in collect(node, TensorLoad, TensorRegion):
        if is_shared(access.source) and id(access) not in written:
            yield access.source


ORDER_TMA_COPIES = Pass("order_tma_copies", order_tma_copies)
