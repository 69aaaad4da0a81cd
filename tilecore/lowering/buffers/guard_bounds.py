"""Adds bounds guards to accesses of global buffers: a read out of bounds gives the safe value, a write has no effect.

A condition is omitted where the analyzer proves it, from the ranges of loops and blocks, from enclosing ``if``s, or
from T.assume statements before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, conjuncts, const, constant, dtype_of, op_name
from tilecore.ir.intrinsics import address, as_address
from tilecore.ir.lasting import lasting, value_scope
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import (
    AttrStmt,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    Ramp,
    Range,
    SeqStmt,
    Stmt,
    TensorLoad,
    structural_equal,
    structural_mutate,
    tirx,
)
from tilecore.ir.ranges import binding_loops, known_range
from tilecore.ir.scopes import is_global
from tilecore.ir.sizes import symbols_of_shapes
from tilecore.ir.thread_calls import ASSUME, ATOMIC_ELEMENT
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.kernels import is_axis
from tilecore.lowering.loops.prefetch import PREFETCH
from tilecore.lowering.state import SafeValues


def guard_bounds(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return func.with_body(_Guard(func, env).run(func.body))


class _Guard:
    def __init__(self, func: PrimFunc, env: PassEnv) -> None:
        self.safe_values = env.state(SafeValues).by_buffer
        self.analyzer = Analyzer()
        self.memory = Memory(func.body)
        self.bind_loop = binding_loops(self.analyzer)
        self.in_vector_loop = False
        self.holding: list[Expr] = []  # conditions that hold here; the analyzer forgets those that read memory
        for symbol in symbols_of_shapes(func):
            self.analyzer.bind(
                symbol, Range.from_min_extent(const(0, dtype_of(symbol)), const(2**31 - 1, dtype_of(symbol)))
            )

    def run(self, body: Stmt) -> Stmt:
        return structural_mutate(
            body,
            [
                (AttrStmt, self.attr),
                (For, self.loop),
                (SeqStmt, self.sequence),
                (IfThenElse, self.branch),
                (BufferStore, self.store),
                (Evaluate, self.evaluate),
                (TensorLoad, self.load),
                (Call, self.call),
            ],
        )

    # -- facts for the analyzer -------------------------------------------------------------------------------

    def attr(self, node: AttrStmt, mutator: Any) -> Any:
        if is_axis(node):
            self.analyzer.bind(node.node.var, Range.from_min_extent(const(0, dtype_of(node.node.var)), node.value))
        outer = known_range(node)
        if outer is not None:
            self.analyzer.bind(*outer, allow_override=True)
        return mutator.default_mutate(node)

    def loop(self, node: For, mutator: Any) -> Any:
        outer, self.in_vector_loop = self.in_vector_loop, self.in_vector_loop or node.kind == ForKind.VECTORIZED
        rewritten = self.bind_loop(node, mutator)
        self.in_vector_loop = outer
        return rewritten

    def sequence(self, node: SeqStmt, mutator: Any) -> Stmt:
        """A statement after a T.assume is rewritten as in an ``if`` of its condition. In a T.vectorized loop the
        T.assume itself is left out: one that stayed would keep the loop from becoming a vector access."""
        rewritten = self.statements(list(node.seq), mutator) or list(node.seq[:1])
        return rewritten[0] if len(rewritten) == 1 else SeqStmt(rewritten, span=node.span)

    def statements(self, statements: list[Stmt], mutator: Any) -> list[Stmt]:
        """The statements of a block, rewritten."""
        rewritten = []
        for position, statement in enumerate(statements, 1):
            is_assumption = isinstance(statement, Evaluate) and op_name(statement.value) == ASSUME
            if not (is_assumption and self.in_vector_loop):
                rewritten.append(mutator.mutate(statement))
            if is_assumption:
                condition = statement.value.args[0]
                end = self.first_change(condition, statements, position)
                with self.scope(condition, statements[position:end]):
                    rewritten += self.statements(statements[position:end], mutator)
                return rewritten + self.statements(statements[end:], mutator)
        return rewritten

    def first_change(self, condition: Expr, statements: list[Stmt], position: int) -> int:
        """The position of the first statement that may change what ``condition`` reads."""
        read = [load.source for load in collect(condition, TensorLoad)]
        for end in range(position, len(statements)) if read else ():
            writes = writes_of(statements[end])
            if any(self.memory.may_change(writes, buffer) for buffer in read):
                return end
        return len(statements)

    @contextmanager
    def scope(self, condition: Expr, guarded: Any) -> Iterator[None]:
        """Code that is executed only where ``condition`` holds."""
        lasting_condition = lasting(condition, guarded, self.memory)
        conditions = [] if lasting_condition is None else conjuncts(lasting_condition)
        self.holding += conditions
        with value_scope(self.analyzer, condition, guarded, self.memory):
            yield
        del self.holding[len(self.holding) - len(conditions) :]

    def branch(self, node: IfThenElse, mutator: Any) -> Any:
        condition = mutator.mutate(node.condition)
        with self.scope(node.condition, node.then_case):
            then = mutator.mutate(node.then_case)
        other = None if node.else_case is None else mutator.mutate(node.else_case)
        return IfThenElse(condition, then, other, span=node.span)

    def call(self, node: Call, mutator: Any) -> Any:
        name = op_name(node)
        if name == ATOMIC_ELEMENT:  # its value outside the bounds is 0
            rewritten, needed = self.atomic(node, mutator)
            return rewritten if needed is None else tirx.if_then_else(needed, rewritten, const(0, dtype_of(node)))
        pointer = as_address(node)
        if pointer is not None:  # the foreign function checks the bounds itself
            element, access = pointer
            return address(mutator.default_mutate(element), access)
        if name != "if_then_else":
            return mutator.default_mutate(node)
        condition, then, other = node.args
        rewritten = mutator.mutate(condition)
        with self.scope(condition, then):
            then = mutator.mutate(then)
        return tirx.if_then_else(rewritten, then, mutator.mutate(other))

    # -- accesses ---------------------------------------------------------------------------------------------

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        rewritten = mutator.default_mutate(node)
        condition = self.condition(node)
        if condition is None:
            return rewritten
        dtype = dtype_of(node)
        return tirx.if_then_else(condition, rewritten, self.safe_values.get(node.source, const(0, dtype)))

    def store(self, node: BufferStore, mutator: Any) -> Any:
        condition = self.condition(node)
        rewritten = mutator.default_mutate(node)
        return rewritten if condition is None else IfThenElse(condition, rewritten, None, span=node.span)

    def evaluate(self, node: Evaluate, mutator: Any) -> Any:
        if op_name(node.value) == PREFETCH:  # harmless anywhere
            return node
        if op_name(node.value) != ATOMIC_ELEMENT:
            return mutator.default_mutate(node)
        rewritten, condition = self.atomic(node.value, mutator)
        step = Evaluate(rewritten, span=node.span)
        return step if condition is None else IfThenElse(condition, step, None, span=node.span)

    def atomic(self, node: Call, mutator: Any) -> tuple[Call, Expr | None]:
        """The rewritten atomic call, and its bounds guard. Its element is an address, not a load, and stays
        unguarded."""
        element = node.args[0]
        condition = self.condition(element)
        element_address = tirx.BufferLoad(element.source, [mutator.mutate(i) for i in element.indices])
        args = [
            element_address,
            mutator.mutate(node.args[1]),
            *node.args[2:4],
            *(mutator.mutate(a) for a in node.args[4:]),
        ]
        return Call(node.op, args, ret_ty=dtype_of(node)), condition

    def condition(self, access: Any) -> Expr | None:
        """The bounds guard of an access; None if the access is provably in bounds."""
        buffer = access.source if isinstance(access, TensorLoad) else access.buffer
        if not is_global(buffer):
            return None
        needed = []
        for index, size in zip(access.indices, buffer.shape, strict=True):
            if not self.lanes_hold(index, size):
                needed += [bound for bound in (index >= 0, index < size) if not self.holds(bound)]
        return all_of(needed) if needed else None

    def lanes_hold(self, index: Expr, size: Expr) -> bool:
        """Are the indices of all lanes of a vector known to lie in [0, size)?"""
        if not isinstance(index, Ramp) or (constant(index.stride) or 0) < 1:
            return False
        last = index.base + const((int(index.lanes) - 1) * int(index.stride), dtype_of(index.base))
        return self.holds(index.base >= 0) and self.holds(last < size)

    def holds(self, bound: Expr) -> bool:
        """Is the condition known to hold?"""
        if self.analyzer.can_prove(bound):
            return True
        return any(structural_equal(bound, condition, map_free_vars=False) for condition in self.holding)


GUARD_BOUNDS = Pass("guard_bounds", guard_bounds, needs=(SafeValues,))
