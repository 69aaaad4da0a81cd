"""Vectorizes accesses: a loop over a thread's contiguous elements becomes vector moves of 2 to 16 bytes.

The operands of a computation pass through registers: one vector load for each operand, the computation element by
element, one vector store. A loop over more bytes becomes several moves of 16. A bounds guard that holds for all
elements of a move or for none stays as one guard; with any other guard the loop is unrolled instead. Of a loop whose
accesses are aligned by promise (LoopAttr.ALIGNED) both are emitted: the moves where all elements are inside, else the
single elements. The other accesses need tensors that begin at a multiple of their size: state ParameterAlignments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.state import ParameterAlignments
from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import LoopAttr, StatementAttr
from tilecore.ir.build import const, constant, dtype_of, load, op_name, seq, store, with_body
from tilecore.ir.nodes import (
    GE,
    LT,
    AllocBuffer,
    And,
    AttrStmt,
    Bind,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    Ramp,
    Stmt,
    TensorLoad,
    Var,
    structural_mutate,
    tirx,
)
from tilecore.ir.scopes import is_global, is_own, is_shared
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import COPY_ASYNC
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.visit import collect, reads_variable, stores, substitute
from tilecore.lowering.analysis.assumptions import is_multiple
from tilecore.lowering.simt.analysis.asynchronous import ASYNC_NEST
from tilecore.lowering.simt.analysis.moved_bytes import alignments_of, moved_bytes
from tilecore.lowering.simt.analysis.vector_atomics import addition, additions, width_of
from tilecore.lowering.simt.bind_threads import UNROLLED_STATEMENTS
from tilecore.lowering.simt.state import TileFunction

WIDTHS = (2, 4, 8, 16)  # bytes of a move
ASYNC_WIDTHS = (4, 8, 16)


def vectorize_accesses(func: PrimFunc, env: PassEnv) -> PrimFunc:
    can_copy = "copy_async" in env.capabilities.features
    assumed = env.state(TileFunction).divisors
    vectors: list[Stmt] = []  # that are aligned where the parameters are
    is_async: list[bool] = []  # for each nest around: may its copies be asynchronous?

    def attr(node: AttrStmt, mutator: Any) -> Any:
        if node.attr_key != StatementAttr.NEST:
            return mutator.default_mutate(node)
        is_async.append(can_copy and constant(node.value) == ASYNC_NEST)
        mutated = mutator.default_mutate(node)
        is_async.pop()
        return mutated

    def loop(node: For, mutator: Any) -> Any:
        if node.kind != ForKind.VECTORIZED:
            return mutator.default_mutate(node)
        moves = _of_single_moves(node)
        if moves is not None:
            return mutator.mutate(moves)
        inside = _inside(node)
        if inside is not None:
            condition, unguarded = inside
            return IfThenElse(condition, mutator.mutate(unguarded), _unrolled(node, node.body), span=node.span)
        vectorized = _Loop(node, bool(is_async) and is_async[-1], assumed).lowered()
        _note_moves(node, vectorized, env)
        if vectorized is not None and (LoopAttr.ALIGNED not in node.annotations or _at_multiples(vectorized, assumed)):
            vectors.append(vectorized)
        return vectorized if vectorized is not None else _unrolled(node, mutator.mutate(node.body))

    func = func.with_body(structural_mutate(func.body, [(AttrStmt, attr), (For, loop)]))
    env.publish(ParameterAlignments(alignments_of(func, vectors, "unaligned_moves" in env.capabilities.features)))
    return func


def _at_multiples(vectorized: Stmt, assumed: Mapping[Var, int]) -> bool:
    """Do all vectors begin at multiples of their length, counted from the start of their buffers? Then what the kernel
    promises holds where the buffers are aligned, and else never."""
    analyzer = Analyzer()
    return all(is_multiple(r.base, int(constant(r.lanes) or 1), assumed, analyzer) for r in collect(vectorized, Ramp))


def _note_moves(node: For, vectorized: Stmt | None, env: PassEnv) -> None:
    """Notes for ``kernel.explain()`` the buffers and the number of bytes that one access moves."""
    spans = (node.span, *(s.span for s in stores(node.body)))
    place = location_of_span(next((span for span in spans if span is not None), None))
    moves = {} if vectorized is None else {str(b.name): size for b, size in moved_bytes(vectorized).items()}
    for element in () if moves else stores(node.body):
        if not is_own(element.buffer):
            moves[str(element.buffer.name)] = DType(dtype_of(element.buffer)).bytes
    env.note("moves", {"line": place.line if place else None, "bytes": moves})


def _of_single_moves(node: For) -> Stmt | None:
    """A loop over more than 16 bytes as a loop over moves; None where it is one move, or cannot be divided."""
    count = constant(node.extent)
    buffers = [s.buffer for s in stores(node.body)] + [n.source for n in collect(node.body, TensorLoad)]
    most = max((DType(dtype_of(buffer)).bytes for buffer in buffers if not is_own(buffer)), default=0)
    if count is None or not most or count * most <= WIDTHS[-1]:
        return None
    lanes = next((n for n in range(WIDTHS[-1] // most, 1, -1) if count % n == 0), 1)
    if lanes == 1:
        return None
    dtype = dtype_of(node.loop_var)
    move, lane = Var("move", dtype), Var(str(node.loop_var.name), dtype)
    body = substitute(node.body, {node.loop_var: move * const(lanes, dtype) + lane})
    zero = const(0, dtype)
    notes = node.annotations
    inner = For(lane, zero, const(lanes, dtype), ForKind.VECTORIZED, body, annotations=notes, span=node.span)
    return For(move, zero, const(count // lanes, dtype), _kind_of_loop(node), inner, span=node.span)


def _inside(node: For) -> tuple[Any, For] | None:
    """Of a loop whose accesses are aligned by promise: the condition that all its elements are inside, and the loop
    without the guards of single elements. None where no guard depends on the element."""
    if LoopAttr.ALIGNED not in node.annotations:
        return None
    ends = [const(lane, dtype_of(node.loop_var)) for lane in (0, int(constant(node.extent) or 1) - 1)]
    conditions: list[Any] = []

    def is_guard(condition: Any) -> bool:
        """Does the condition hold for all elements if it holds for the first and for the last one?"""
        if isinstance(condition, And):
            return is_guard(condition.a) and is_guard(condition.b)
        if not reads_variable(condition, node.loop_var):
            return True
        is_bound = isinstance(condition, (LT, GE)) and not reads_variable(condition.b, node.loop_var)
        return is_bound and coefficient(condition.a, node.loop_var) == 1

    def without(condition: Any) -> bool:
        if not reads_variable(condition, node.loop_var) or not is_guard(condition):
            return False
        conditions.extend(substitute(condition, {node.loop_var: end}) for end in ends)
        return True

    def branch(inner: IfThenElse, mutator: Any) -> Any:
        inner = mutator.default_mutate(inner)
        return inner.then_case if inner.else_case is None and without(inner.condition) else inner

    def choice(inner: Call, mutator: Any) -> Any:
        inner = mutator.default_mutate(inner)
        return inner.args[1] if op_name(inner) == "if_then_else" and without(inner.args[0]) else inner

    body = structural_mutate(node.body, [(IfThenElse, branch), (Call, choice)])
    if not conditions:
        return None
    return Analyzer().simplify(tirx.all(*conditions)), with_body(node, body)


def _unrolled(node: For, body: Stmt) -> For:
    """The loop over single elements, unrolled where that makes no huge code."""
    return For(node.loop_var, node.min, node.extent, _kind_of_loop(node), body, span=node.span)


def _kind_of_loop(node: For) -> ForKind:
    """Unrolled, unless vendor compilers would need minutes for so many statements; registers that the loop indexes are
    registers in unrolled loops only."""
    statements = int(constant(node.extent) or 1) * len(collect(node.body, BufferStore, Evaluate, Bind))
    if statements <= UNROLLED_STATEMENTS:
        return ForKind.UNROLLED
    accesses = [(s.buffer, s.indices) for s in stores(node.body)]
    accesses += [(load.source, load.indices) for load in collect(node.body, TensorLoad)]
    indexed = (is_own(b) and any(reads_variable(index, node.loop_var) for index in i) for b, i in accesses)
    return ForKind.UNROLLED if any(indexed) else ForKind.SERIAL


class _Loop:
    """Vectorizes one loop over contiguous elements. before: statements that load operands."""

    def __init__(self, node: For, is_async: bool, assumed: Mapping[Var, int]) -> None:
        self.node, self.is_async = node, is_async
        self.var, self.count = node.loop_var, int(constant(node.extent) or 0)
        self.analyzer, self.assumed = Analyzer(), assumed
        self.before: list[Stmt] = []

    def lowered(self) -> Stmt | None:
        """The loop as vector moves; None if it cannot be vectorized."""
        body, condition = self.node.body, None
        if isinstance(body, IfThenElse) and body.else_case is None:
            condition = self._uniform_condition(body.condition)
            if condition is None:
                return None
            body = body.then_case
        moves = self._store(body) if isinstance(body, BufferStore) else self._vector_addition(body)
        if moves is None:
            return None
        moves = seq([*self.before, moves])
        return moves if condition is None else IfThenElse(condition, moves, None, span=body.span)

    def _vector_addition(self, node: Stmt) -> Stmt | None:
        """Atomic additions to contiguous elements: the values go to registers, then one operation adds several."""
        call = addition(node)
        if call is None:
            return None
        target = call.args[0]
        dtype = dtype_of(target.source)
        width = width_of(dtype, self.count)
        start = None if width is None else self._aligned_start(target.source, target.indices[0], width)
        if width is None or start is None:
            return None
        value = structural_mutate(
            call.args[1], [(Call, self._vectorize_guarded_load), (TensorLoad, self._vectorize_load)]
        )
        values = self._registers(dtype, "sum")
        inner = store(values, value, [self.var], node.span)
        atomics = additions(call, start, values, self.count, width, node.span)
        return seq([AllocBuffer(values), _unrolled(self.node, inner), *atomics])

    # -- the store --------------------------------------------------------------------------------------------

    def _store(self, node: BufferStore) -> Stmt | None:
        target_start = self._move_start(node.buffer, node.indices[0])
        if target_start is None:
            return self._compute(node, None) if is_own(node.buffer) else None
        value, condition, otherwise = node.value, None, None
        if isinstance(value, Call) and op_name(value) == "if_then_else" and isinstance(value.args[1], TensorLoad):
            condition, otherwise = self._uniform_condition(value.args[0]), value.args[2]
            value = value.args[1] if condition is not None else value
        if isinstance(value, TensorLoad) and dtype_of(value.source) == dtype_of(node.buffer):
            start = self._move_start(value.source, value.indices[0])
            if start is not None:
                return self._move(node, target_start, value, start, condition, otherwise)
        return self._compute(node, target_start)

    def _move(self, node: BufferStore, to: Any, value: TensorLoad, start: Any, condition: Any, other: Any) -> Stmt:
        """A copy of contiguous elements, from ``start`` to ``to``; ``other`` where the condition does not hold."""
        size = DType(dtype_of(node.buffer)).bytes * self.count
        zero = other is None or (constant(other) == 0 or getattr(other, "value", None) == 0)
        if self.is_async and size in ASYNC_WIDTHS and zero and is_shared(node.buffer) and is_global(value.source):
            valid = tirx.const(1, "bool") if condition is None else condition
            args = [BufferLoad(node.buffer, [to]), BufferLoad(value.source, [start]), size, valid]
            return thread_statement(COPY_ASYNC, args, span=node.span)
        move: Stmt = BufferStore(node.buffer, self._vector(value.source, start), [self._ramp(to)], span=node.span)
        if condition is None:
            return move
        fill = self._for_each_lane(lambda lane: store(node.buffer, self._of_lane(other, lane), [to + lane], node.span))
        return IfThenElse(condition, move, fill, span=node.span)

    def _compute(self, node: BufferStore, to: Any) -> Stmt | None:
        """Vector loads of the operands, the computation element by element, a vector store of the results at ``to``."""
        computation: BufferStore = structural_mutate(node, self._load_rules())
        if is_own(node.buffer):
            return _unrolled(self.node, computation)
        results = self._registers(dtype_of(node.buffer), "out")
        inner = store(results, computation.value, [self.var], node.span)
        out = BufferStore(node.buffer, self._vector(results, const(0, "int32")), [self._ramp(to)], span=node.span)
        return seq([AllocBuffer(results), _unrolled(self.node, inner), out])

    def _load_rules(self) -> list[Any]:
        return [(Call, self._vectorize_guarded_load), (TensorLoad, self._vectorize_load)]

    def _vectorize_guarded_load(self, node: Call, mutator: Any) -> Any:
        """A guarded load becomes a guarded vector load where the guard is the same for all elements; else it stays, and
        each element is loaded under its own guard."""
        if op_name(node) != "if_then_else":
            return mutator.default_mutate(node)
        source = node.args[1]
        if not isinstance(source, TensorLoad):
            return node
        start = None if is_own(source.source) else self._move_start(source.source, source.indices[0])
        condition = self._uniform_condition(node.args[0])
        if start is None or condition is None or reads_variable(node.args[2], self.var):
            return node
        cells = self._registers(dtype_of(source.source), str(source.source.name))
        move = BufferStore(cells, self._vector(source.source, start), [self._ramp(const(0, "int32"))])
        fill = self._for_each_lane(lambda lane: store(cells, node.args[2], [const(lane, "int32")]))
        self.before += [AllocBuffer(cells), IfThenElse(condition, move, fill)]
        return load(cells, [self.var])

    def _vectorize_load(self, node: TensorLoad, mutator: Any) -> Any:
        """A load becomes a vector load into registers where its elements are contiguous."""
        mutated = mutator.default_mutate(node)
        if is_own(node.source):
            return mutated
        start = self._move_start(node.source, node.indices[0])
        if start is None:
            return mutated
        cells = self._registers(dtype_of(node.source), str(node.source.name))
        move = BufferStore(cells, self._vector(node.source, start), [self._ramp(const(0, "int32"))])
        self.before += [AllocBuffer(cells), move]
        return load(cells, [self.var])

    # -- pieces -----------------------------------------------------------------------------------------------

    def _move_start(self, buffer: Var, index: Any) -> Any:
        """The first element's index where one vector access can take all of them; None where it cannot."""
        if DType(dtype_of(buffer)).bytes * self.count not in WIDTHS:
            return None
        return self._aligned_start(buffer, index, self.count)

    def _aligned_start(self, buffer: Var, index: Any, width: int) -> Any:
        """The first index where the elements are contiguous from a multiple of ``width`` on; None where they are
        not."""
        if coefficient(index, self.var) != 1:
            return None
        start = self.analyzer.simplify(self._of_lane(index, 0))
        if LoopAttr.ALIGNED in self.node.annotations and not is_own(buffer):
            return start
        return start if is_multiple(start, width, self.assumed, self.analyzer) else None

    def _uniform_condition(self, condition: Any) -> Any:
        """One condition for all elements; None where it may hold for some of them only."""
        if not reads_variable(condition, self.var):
            return condition
        if isinstance(condition, And):
            left, right = self._uniform_condition(condition.a), self._uniform_condition(condition.b)
            return None if left is None or right is None else tirx.all(left, right)
        if not isinstance(condition, (LT, GE)):
            return None
        position, bound = condition.a, condition.b
        if coefficient(position, self.var) != 1 or reads_variable(bound, self.var):
            return None
        first = self._of_lane(position, 0)
        if not all(is_multiple(value, self.count, self.assumed, self.analyzer) for value in (first, bound)):
            return None
        return type(condition)(first, bound)

    def _vector(self, buffer: Var, start: Any) -> Any:
        return BufferLoad(buffer, [self._ramp(start)])

    def _ramp(self, start: Any) -> Any:
        return Ramp(start, const(1, dtype_of(start)), self.count)

    def _registers(self, dtype: str, name: str) -> Var:
        return tirx.decl_buffer([self.count], dtype, f"{name}_v", scope="local", layout=None)

    def _of_lane(self, value: Any, lane: int) -> Any:
        return substitute(value, {self.var: const(lane, dtype_of(self.var))})

    def _for_each_lane(self, make: Any) -> Stmt:
        return seq([make(lane) for lane in range(self.count)])


VECTORIZE_ACCESSES = Pass(
    "vectorize_accesses", vectorize_accesses, needs=(TileFunction,), leaves=(ParameterAlignments,)
)
