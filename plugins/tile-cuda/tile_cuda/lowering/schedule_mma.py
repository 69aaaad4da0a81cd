"""Schedules the loads of mma.sync operands and the asynchronous copies of a pipelined loop between the instructions.

The operands of step s + 1 are loaded before the instructions of step s, into the other set of registers. In a pipelined
loop that consists of its copies and one gemm, this extends over the iterations:

    wait; barrier; load step 0 of the first iteration
    for each iteration:
        for each step but the last: load the next step; start a part of the iteration's copies; multiply
        commit; wait; barrier; load step 0 of the next iteration; multiply the last step

So no MMA instruction waits for shared memory or for a barrier, and copies do not delay the loads after them. One
barrier in an iteration suffices: the copies of an iteration write the slot that the iteration before has read, and all
of that was loaded before the barrier.
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
from tilecore.ir.tile_op_table import SYNC_THREADS
from tilecore.ir.visit import collect, reads_variable, renewed, substitute
from tilecore.lowering.simt.analysis.asynchronous import ASYNC_NEST


def schedule_mma(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def loop(node: For, mutator: Any) -> Any:
        pipelined = _pipelined(node)
        return mutator.default_mutate(node) if pipelined is None else pipelined

    def attr(node: AttrStmt, mutator: Any) -> Any:
        return _prefetched(_Steps.of(node)) if node.attr_key == CudaStatementAttr.GEMM else mutator.default_mutate(node)

    return func.with_body(structural_mutate(func.body, [(For, loop), (AttrStmt, attr)]))


@dataclass(frozen=True)
class _Steps:
    """The parts of a gemm.

    registers: the allocations of operand registers. before, after: the statements on C around the steps. var, count:
    the loop over the steps. loads: of the operands of a step. multiply_adds: the MMA instructions of a step.
    """

    registers: list[Stmt]
    before: list[Stmt]
    after: list[Stmt]
    var: Var
    count: int
    loads: Stmt
    multiply_adds: Stmt

    @staticmethod
    def of(node: AttrStmt) -> _Steps:
        parts = statements_of(node.body)
        position = next(n for n, part in enumerate(parts) if isinstance(part, For) and _has_operands(part))
        registers = [s for s in parts[:position] if isinstance(s, AllocBuffer)]
        before = [s for s in parts[:position] if not isinstance(s, AllocBuffer)]
        steps = parts[position]
        loads, multiply_adds = steps.body.seq
        count = int(constant(steps.extent) or 0)
        return _Steps(registers, before, parts[position + 1 :], steps.loop_var, count, loads.body, multiply_adds)

    def load(self, step: Any) -> Stmt:
        return renewed(substitute(self.loads, {self.var: _index(step)}))

    def multiply(self, step: Any) -> Stmt:
        return renewed(substitute(self.multiply_adds, {self.var: _index(step)}))


def _has_operands(node: For) -> bool:
    first = statements_of(node.body)[0]
    return isinstance(first, AttrStmt) and first.attr_key == CudaStatementAttr.OPERANDS


def _index(step: Any) -> Any:
    return const(step, "int32") if isinstance(step, int) else step


def _prefetched(p: _Steps) -> Stmt:
    """A gemm outside of pipelined loops: the operands are loaded one step ahead."""
    statements = [*p.registers, *p.before, p.load(0)]
    if p.count > 2:
        step = Var(str(p.var.name), "int32")
        body = seq([p.load(step + 1), p.multiply(step)])
        statements.append(For(step, const(0, "int32"), const(p.count - 1, "int32"), ForKind.UNROLLED, body))
    elif p.count == 2:
        statements += [p.load(1), p.multiply(0)]
    return seq([*statements, p.multiply(p.count - 1), *p.after])


def _pipelined(node: For) -> Stmt | None:
    """The schedule of a pipelined loop that consists of copies and one gemm; None for any other loop."""
    parts = statements_of(node.body)
    names = [op_name(part.value) if isinstance(part, Evaluate) else "" for part in parts]
    if (
        len(parts) < 5
        or names[:2] != [WAIT_ASYNC, SYNC_THREADS]
        or names[-2] != COMMIT_ASYNC
        or SYNC_THREADS in names[2:]
    ):
        return None
    gemm = parts[-1]
    if not (isinstance(gemm, AttrStmt) and gemm.attr_key == CudaStatementAttr.GEMM):
        return None
    p = _Steps.of(gemm)
    if p.before or p.after or p.count % 2 or p.count < 2:
        return None
    groups = int(constant(parts[0].value.args[0]) or 0)  # of copies that may be in flight: stages - 2
    wait_and_barrier = parts[:2]
    k, first = node.loop_var, node.min
    has_next = k + 1 < first + node.extent
    following = substitute(p.load(0), {k: k + 1})
    if not _reads_circular_buffer(p.loads, k) or (constant(node.extent) or 0) < groups + 2:
        following = IfThenElse(has_next, following, None)
    initial = substitute(p.load(0), {k: first})
    if not (constant(node.extent) or 0) > 0:
        initial = IfThenElse(node.extent > 0, initial, None)
    copies = _partitioned(parts[2:-2], p.count - 1)
    steps = [s for n in range(p.count - 1) for s in (p.load(n + 1), copies[n], p.multiply(n))]
    body = seq([*steps, parts[-2], *wait_and_barrier, following, p.multiply(p.count - 1)])
    return seq([*p.registers, *wait_and_barrier, initial, with_body(node, body)])


def _reads_circular_buffer(loads: Stmt, k: Var) -> bool:
    """Whether ``k`` selects only the slot of a circular buffer, so that loads for one more iteration are in bounds."""
    zero = const(0, dtype_of(k))
    without_slot_indices = structural_map(
        loads, (FloorMod, lambda node: zero if constant(node.b) is not None else node)
    )
    return not reads_variable(without_slot_indices, k)


def _partitioned(copies: list[Stmt], parts: int) -> list[Stmt]:
    """The copies, partitioned in order into ``parts`` statements of about equal size."""
    portions: list[list[Stmt]] = [[] for _ in range(parts)]
    for copy in copies:
        for index, piece in enumerate(_pieces(copy, parts)):
            portions[index].append(piece)
    return [seq(portion) for portion in portions]


def _pieces(copy: Stmt, parts: int) -> list[Stmt]:
    if isinstance(copy, IfThenElse) and copy.else_case is None:
        inner = _partitioned(statements_of(copy.then_case), parts)
        return [_guarded(copy.condition, piece) for piece in inner]
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


def _guarded(condition: Any, piece: Stmt) -> Stmt:
    """The copies, only where the iteration that they load for exists.

    Asynchronous copies write zeros otherwise, which no thread reads. Without branches, the MMA instructions around them
    stay in one basic block.
    """
    nests = statements_of(piece)
    stores = collect(piece, BufferStore)
    is_async = all(isinstance(n, AttrStmt) and constant(n.value) == ASYNC_NEST for n in nests)
    if not is_async or any(_condition_and_element(s.value) is None for s in stores):
        return IfThenElse(condition, piece, None)

    def masked(store: BufferStore) -> BufferStore:
        bounds_guard, element = _condition_and_element(store.value) or (None, None)
        both = condition if bounds_guard is None else tirx.all(condition, bounds_guard)
        value = tirx.if_then_else(both, element, tirx.const(0, dtype_of(store.value)))
        return BufferStore(store.buffer, value, list(store.indices), span=store.span)

    return structural_map(piece, (BufferStore, masked))


def _condition_and_element(value: Any) -> tuple[Any, Any] | None:
    """(the condition or None, the element) of a value that is an element, or 0 where the condition does not hold."""
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
