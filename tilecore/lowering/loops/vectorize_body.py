"""Vectorizes the statements of a loop body: each lane is one iteration, and an ``if`` becomes a mask
(if-conversion)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.ir.build import dtype_of, op_name, seq
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    PrimType,
    Select,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    tirx,
)
from tilecore.ir.thread_calls import ASSUME
from tilecore.ir.visit import collect
from tilecore.lowering.loops.lane_ops import masked_store
from tilecore.lowering.loops.vectorize_expressions import CannotVectorizeError, LaneExpressions, lanes_of


class Lanes(LaneExpressions):
    """The vector form of a loop body."""

    def statement(self, node: Stmt) -> Stmt:
        handler = _STATEMENTS.get(type(node))
        if handler is None:
            raise CannotVectorizeError(f"the body contains {type(node).__name__}, which has no vector form")
        return handler(self, node)

    def _seq(self, node: SeqStmt) -> Stmt:
        return seq([self.statement(part) for part in node.seq])

    def _bind(self, node: Bind) -> Stmt:
        value = self.expr(node.value)
        if lanes_of(value) == 1:
            return Bind(node.var, value, span=node.span)
        vector = Var(str(node.var.name), PrimType(dtype_of(value)))
        self.vectors[node.var] = vector
        self.varying.add(node.var)
        return Bind(vector, value, span=node.span)

    def _alloc(self, node: AllocBuffer) -> Stmt:
        old = node.buffer
        vectors = tirx.decl_buffer(
            list(old.shape), f"{old.dtype}x{self.count}", str(old.name), scope="local", layout=None
        )
        self.buffers[old] = (vectors, 0)
        self.varying.add(old)
        return AllocBuffer(vectors, span=node.span)

    def _store(self, node: BufferStore) -> Stmt:
        if node.buffer in self.buffers:
            return self._store_private(node)
        value = self.vector(self.expr(node.value))
        index = self._index(node.buffer, node.indices)
        if lanes_of(index) == 1:
            raise CannotVectorizeError(f"every iteration writes the same element of {node.buffer.name}")
        if self.mask is not None:
            return masked_store(node.buffer, index, value, self.mask, node.span)
        return BufferStore(node.buffer, value, [index], span=node.span)

    def _store_private(self, node: BufferStore) -> Stmt:
        buffer, slot = self.buffers[node.buffer]
        index = self.expr(node.indices[0])
        if lanes_of(index) != 1:
            raise CannotVectorizeError(
                f"{node.buffer.name} is private to an iteration and is indexed by the loop variable"
            )
        value = self.vector(self.expr(node.value))
        indices = [index + slot]
        if self.mask is not None:
            value = Select(self.mask, value, BufferLoad(buffer, indices))
        return BufferStore(buffer, value, indices, span=node.span)

    def _if(self, node: IfThenElse) -> Stmt:
        condition = self.expr(node.condition)
        if lanes_of(condition) == 1:
            other = None if node.else_case is None else self.statement(node.else_case)
            return IfThenElse(condition, self.statement(node.then_case), other, span=node.span)
        parts: list[Stmt] = []
        if collect(condition, TensorLoad):  # the branches may write what the condition reads
            mask = Var("mask", PrimType(dtype_of(condition)))
            parts.append(Bind(mask, condition, span=node.span))
            condition = mask
        parts.append(self._masked(condition, lambda: self.statement(node.then_case)))
        if node.else_case is not None:
            parts.append(self._masked(tirx.Not(condition), lambda: self.statement(node.else_case)))
        return seq(parts)

    def _for(self, node: For) -> Stmt:
        start, extent = self.expr(node.min), self.expr(node.extent)
        if lanes_of(start) != 1 or lanes_of(extent) != 1:
            raise CannotVectorizeError("the bounds of an inner loop differ between iterations")
        kind = ForKind.UNROLLED if node.kind == ForKind.UNROLLED else ForKind.SERIAL
        return For(node.loop_var, start, extent, kind, self.statement(node.body), span=node.span)

    def _evaluate(self, node: Evaluate) -> Stmt:
        name = op_name(node.value)
        if name in (ASSUME, ""):
            return seq([])
        raise CannotVectorizeError(f"{name.removeprefix('tile.')} runs element by element")


_STATEMENTS: dict[type, Callable[[Lanes, Any], Stmt]] = {
    SeqStmt: Lanes._seq,
    Bind: Lanes._bind,
    AllocBuffer: Lanes._alloc,
    BufferStore: Lanes._store,
    IfThenElse: Lanes._if,
    For: Lanes._for,
    Evaluate: Lanes._evaluate,
}
