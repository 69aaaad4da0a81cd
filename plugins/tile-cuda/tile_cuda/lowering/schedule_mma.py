"""When the operands of matrix instructions are loaded, and where copies of a pipelined loop are started.

The loads of step s + 1 are issued before the products of step s, into the other set of registers. In a loop of a
pipeline that consists of its copies and one gemm this goes on from round to round,

    wait; barrier; load step 0 of the first round
    for each round:
        for each step but the last: load the next step; start a part of the round's copies; multiply
        commit; wait; barrier; load step 0 of the next round; multiply the last step

so that no product waits for shared memory or for a barrier, and copies do not hold up the loads behind them. One
barrier a round is enough: a round's copies go where the round before read, and all of that was loaded before the
barrier.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tile_cuda.attributes import CudaStatementAttr
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, constant, dtype_of, op_name, seq, statements_of, with_body
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    BufferStore,
    Evaluate,
    FloorMod,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    Stmt,
    TensorLoad,
    Var,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.thread_calls import COMMIT_ASYNC, WAIT_ASYNC
from tilecore.ir.visit import collect, reads_variable, renewed, substitute
from tilecore.lowering.simt.analysis.asynchronous import ASYNC_NEST
from tilecore.lowering.simt.insert_barriers import BARRIER


def schedule_mma(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def loop(node: For, mutator: Any) -> Any:
        pipelined = _pipelined(node)
        return mutator.default_mutate(node) if pipelined is None else pipelined

    def attr(node: AttrStmt, mutator: Any) -> Any:
        return _alone(_Steps.of(node)) if node.attr_key == CudaStatementAttr.GEMM else mutator.default_mutate(node)

    return func.with_body(structural_mutate(func.body, [(For, loop), (AttrStmt, attr)]))


@dataclass(frozen=True)
class _Steps:
    """A product taken apart. before, after: what it does to C besides."""

    registers: list[Stmt]
    before: list[Stmt]
    after: list[Stmt]
    var: Var
    count: int
    loads: Stmt
    products: Stmt

    @staticmethod
    def of(node: AttrStmt) -> _Steps:
        parts = statements_of(node.body)
        at = next(n for n, part in enumerate(parts) if isinstance(part, For) and _has_operands(part))
        registers = [s for s in parts[:at] if isinstance(s, AllocBuffer)]
        before = [s for s in parts[:at] if not isinstance(s, AllocBuffer)]
        steps = parts[at]
        loads, products = steps.body.seq
        count = int(constant(steps.extent) or 0)
        return _Steps(registers, before, parts[at + 1 :], steps.loop_var, count, loads.body, products)

    def load(self, step: Any) -> Stmt:
        return renewed(substitute(self.loads, {self.var: _number(step)}))

    def multiply(self, step: Any) -> Stmt:
        return renewed(substitute(self.products, {self.var: _number(step)}))


def _has_operands(node: For) -> bool:
    first = statements_of(node.body)[0]
    return isinstance(first, AttrStmt) and first.attr_key == CudaStatementAttr.OPERANDS


def _number(step: Any) -> Any:
    return const(step, "int32") if isinstance(step, int) else step


def _alone(p: _Steps) -> Stmt:
    """A product by itself: the loads one step ahead."""
    statements = [*p.registers, *p.before, p.load(0)]
    if p.count > 2:
        step = Var(str(p.var.name), "int32")
        body = seq([p.load(step + 1), p.multiply(step)])
        statements.append(For(step, const(0, "int32"), const(p.count - 1, "int32"), ForKind.UNROLLED, body))
    elif p.count == 2:
        statements += [p.load(1), p.multiply(0)]
    return seq([*statements, p.multiply(p.count - 1), *p.after])


def _pipelined(node: For) -> Stmt | None:
    """A pipelined loop of copies and one product; None for any other."""
    parts = statements_of(node.body)
    names = [op_name(part.value) if isinstance(part, Evaluate) else "" for part in parts]
    if len(parts) < 5 or names[:2] != [WAIT_ASYNC, BARRIER] or names[-2] != COMMIT_ASYNC or BARRIER in names[2:]:
        return None
    product = parts[-1]
    if not (isinstance(product, AttrStmt) and product.attr_key == CudaStatementAttr.GEMM):
        return None
    p = _Steps.of(product)
    if p.before or p.after or p.count % 2 or p.count < 2:
        return None
    groups = int(constant(parts[0].value.args[0]) or 0)  # that may be on their way: stages - 2
    arrive = parts[:2]
    k, first = node.loop_var, node.min
    last_round = k + 1 < first + node.extent
    following = substitute(p.load(0), {k: k + 1})
    if not _is_ring(p.loads, k) or (constant(node.extent) or 0) < groups + 2:
        following = IfThenElse(last_round, following, None)
    initial = substitute(p.load(0), {k: first})
    if not (constant(node.extent) or 0) > 0:
        initial = IfThenElse(node.extent > 0, initial, None)
    copies = _shared_out(parts[2:-2], p.count - 1)
    rounds = [s for n in range(p.count - 1) for s in (p.load(n + 1), copies[n], p.multiply(n))]
    body = seq([*rounds, parts[-2], *arrive, following, p.multiply(p.count - 1)])
    return seq([*p.registers, *arrive, initial, with_body(node, body)])


def _is_ring(loads: Stmt, k: Var) -> bool:
    """Does ``k`` only say which slot of a ring is read? Then a round too many reads what is there."""
    zero = const(0, dtype_of(k))
    without_slot_indices = structural_map(
        loads, (FloorMod, lambda node: zero if constant(node.b) is not None else node)
    )
    return not reads_variable(without_slot_indices, k)


def _shared_out(copies: list[Stmt], parts: int) -> list[Stmt]:
    """The copies in ``parts`` parts of about equal size, in order."""
    portions: list[list[Stmt]] = [[] for _ in range(parts)]
    for copy in copies:
        for number, piece in enumerate(_pieces(copy, parts)):
            portions[number].append(piece)
    return [seq(part) for part in portions]


def _pieces(copy: Stmt, parts: int) -> list[Stmt]:
    if isinstance(copy, IfThenElse) and copy.else_case is None:
        inner = _shared_out(statements_of(copy.then_case), parts)
        return [_where(copy.condition, piece) for piece in inner]
    if isinstance(copy, AttrStmt) and copy.attr_key == StatementAttr.NEST:
        return [
            AttrStmt(copy.node, copy.attr_key, copy.value, piece, span=copy.span) for piece in _pieces(copy.body, parts)
        ]
    if isinstance(copy, For) and copy.kind == ForKind.UNROLLED and constant(copy.min) == 0:
        extent = int(constant(copy.extent) or 0)
        cuts = [extent * n // parts for n in range(parts + 1)]
        ranges = [(a, b) for a, b in pairwise(cuts) if b > a]
        return [renewed(_range_of(copy, start, stop)) for start, stop in ranges]
    return [copy]


def _where(condition: Any, piece: Stmt) -> Stmt:
    """The copies only where there is such a round. Asynchronous ones write zeros else, which nobody reads: without
    branches, the products around them stay in one block of instructions."""
    nests = statements_of(piece)
    stores = collect(piece, BufferStore)
    is_async = all(isinstance(n, AttrStmt) and constant(n.value) == ASYNC_NEST for n in nests)
    if not is_async or any(_read_by(s.value) is None for s in stores):
        return IfThenElse(condition, piece, None)

    def masked(store: BufferStore) -> BufferStore:
        condition_there, element = _read_by(store.value) or (None, None)
        both = condition if condition_there is None else tirx.all(condition, condition_there)
        value = tirx.if_then_else(both, element, tirx.const(0, dtype_of(store.value)))
        return BufferStore(store.buffer, value, list(store.indices), span=store.span)

    return structural_map(piece, (BufferStore, masked))


def _read_by(value: Any) -> tuple[Any, Any] | None:
    """(the condition or None, the element) of a value that is an element, or zero where a condition does not hold."""
    if isinstance(value, TensorLoad):
        return None, value
    if op_name(value) == "if_then_else" and isinstance(value.args[1], TensorLoad) and _is_zero(value.args[2]):
        return value.args[0], value.args[1]
    return None


def _is_zero(value: Any) -> bool:
    return getattr(value, "value", None) == 0


def _range_of(node: For, start: int, stop: int) -> Stmt:
    if stop - start == 1:
        return substitute(node.body, {node.loop_var: const(start, "int32")})
    return For(node.loop_var, const(start, "int32"), const(stop - start, "int32"), node.kind, node.body, span=node.span)


SCHEDULE_MMA = Pass("schedule_mma", schedule_mma)
