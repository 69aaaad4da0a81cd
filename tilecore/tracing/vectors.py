"""Lowers vectors that users write.

``T.Ramp(base, stride, lanes)`` is ``base + stride * lane``, where ``lane`` is a variable of the builder. The store in
which it stands becomes a loop over the lanes, whose iterations may become one vector access.

A vector that was read from memory is held as other values are (:mod:`tilecore.tracing.held_values`). Where it is stored
before anything else may have been written, the load stands in the loop; else the vector is copied to thread memory
where it was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import loop, with_body
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    ForKind,
    IntImm,
    Stmt,
    TensorLoad,
    Var,
    structural_equal,
    structural_mutate,
    tirx,
)
from tilecore.ir.visit import collect, loads, transform
from tilecore.tracing.held_values import Reading, replaced

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder, Frame


def lane_of(builder: Builder, lanes: int) -> Var:
    """The variable that stands for the lane in vectors of so many lanes."""
    return builder.lanes.setdefault(lanes, Var("lane", "int32"))


def find_lanes(builder: Builder, node: Any) -> tuple[int, Var] | None:
    """The number of lanes of an expression or a statement, and the lane variable; None if it is not a vector."""
    node = builder.in_place(node)
    vectors = [(count, lane) for count, lane in builder.lanes.items() if _reads(node, lane)]
    if len(vectors) > 1:
        raise LanguageError(
            "a statement combines vectors of different lengths",
            found=" and ".join(f"{count} lanes" for count, _ in vectors),
        ).at(builder.location)
    return vectors[0] if vectors else None


def _reads(node: Any, var: Var) -> bool:
    return any(variable.same_as(var) for variable in collect(node, Var))  # == makes a comparison of the kernel here


def over_lanes(builder: Builder, statement: Stmt) -> Stmt:
    """The statement, as a loop over the lanes if it stores a vector."""
    lanes = next(filter(None, (find_lanes(builder, value) for value in _evaluated(statement))), None)
    if lanes is None:
        return statement
    if isinstance(statement, BufferStore):
        statement = _with_vectors(builder, statement, builder.frame, builder.writes)
    if not isinstance(statement, BufferStore) or not any(_reads(index, lanes[1]) for index in statement.indices):
        raise LanguageError(
            "a vector (T.Ramp) stands where one value is expected",
            expected="a store of all its lanes: B[T.Ramp(j, 1, n)] = A[T.Ramp(i, 1, n)]",
        ).at(builder.location)
    return _loop(builder, _with_reads_copied(builder, statement, lanes), lanes)


def _evaluated(statement: Stmt) -> list[Any]:
    """The expressions that the statement evaluates itself: for a compound one without its body."""
    if isinstance(statement, (BufferStore, Evaluate)):
        return [statement]
    fields = (getattr(statement, name, None) for name in ("value", "condition", "min", "extent"))
    return [value for value in fields if isinstance(value, Expr)]


def over_vector(builder: Builder, statement: Stmt, lanes: tuple[int, Var], aligned: bool = False) -> Stmt:
    """A statement of vectors as a loop over their lanes. aligned: the accesses of memory outside of registers are
    aligned to the vector's bytes."""
    statement = _with_vectors(builder, statement, builder.frame, builder.writes)
    return _loop(builder, statement, lanes, {LoopAttr.ALIGNED: 1} if aligned else None)


def vector_memory(builder: Builder, name: str, dtype: str, lanes: int) -> Var:
    """Allocates memory of the thread for a vector."""
    memory = tirx.decl_buffer([lanes], dtype, builder.unique(name), scope="local", layout=None)
    builder.allocate(memory)
    return memory


def _loop(builder: Builder, statement: Stmt, lanes: tuple[int, Var], notes: dict[str, Any] | None = None) -> Stmt:
    count, lane = lanes
    return loop(
        IntImm("int32", count),
        lambda var: transform(statement, Var, lambda v: var if v.same_as(lane) else v),
        name=builder.unique("lane"),
        kind=ForKind.VECTORIZED,
        span=statement.span,
        notes={LoopAttr.KIND: "vectorized", LoopAttr.LANES: 1, **(notes or {})},
    )


def lanes_as_axes(body: Stmt) -> Stmt:
    """The body of a function; a loop over lanes that is all of the body of a parallel loop is one more parallel axis.
    So fragments of vectors are spread over threads as others are."""

    def loop(node: For, mutator: Any) -> Any:
        node = mutator.default_mutate(node)
        inner = node.body
        fixed = node.kind != ForKind.PARALLEL or LoopAttr.LOOP_LAYOUT in node.annotations
        if fixed or not isinstance(inner, For) or LoopAttr.LANES not in inner.annotations:
            return node
        notes = {LoopAttr.KIND: "parallel"}
        axis = For(
            inner.loop_var, inner.min, inner.extent, ForKind.PARALLEL, inner.body, annotations=notes, span=inner.span
        )
        return with_body(node, axis)

    return structural_mutate(body, [(For, loop)])


def _with_reads_copied(builder: Builder, store: BufferStore, lanes: tuple[int, Var]) -> BufferStore:
    """The store of a vector; where a lane may read an element that another lane writes, with copies in thread memory of
    the values that the lanes read, so that all of them are read before the first element is written."""
    memory, name = _memory_of(builder, store.buffer), f"{store.buffer.name}_lanes"

    def loads_of_memory(value: Expr) -> list[Any]:
        return [load for load in loads(value) if _memory_of(builder, load.source).same_as(memory)]

    value, indices = store.value, list(store.indices)
    has_no_conflict = all(_reads_only_its_element(load, store, lanes[1]) for load in loads_of_memory(value))
    if not has_no_conflict:
        value = copied_to_memory(builder, name, value, lanes)
    for axis, index in enumerate(indices):
        if loads_of_memory(index):
            indices[axis] = copied_to_memory(builder, name, index, lanes)
    return BufferStore(store.buffer, value, indices, span=store.span)


def _memory_of(builder: Builder, buffer: Var) -> Var:
    """The buffer that owns the memory of a view, or the buffer itself."""
    while hash(buffer) in builder.views:
        buffer = builder.views[hash(buffer)]
    return buffer


def _reads_only_its_element(load: Any, store: BufferStore, lane: Var) -> bool:
    """Does each lane read only the element that it writes, and no other lane writes it?"""
    if not load.source.same_as(store.buffer):
        return False
    same = all(structural_equal(a, b) for a, b in zip(load.indices, store.indices, strict=True))
    return same and any(_differs_by_lane(index, lane) for index in store.indices)


def _differs_by_lane(index: Expr, lane: Var) -> bool:
    """Is the index different in each lane? True for ``base + stride * lane`` with a constant stride other than 0."""
    if loads(index):
        return False
    following = transform(index, Var, lambda var: lane + 1 if var.same_as(lane) else var)
    stride = Analyzer().simplify(following - index)
    return isinstance(stride, IntImm) and int(stride) != 0


def copied_to_memory(builder: Builder, name: str, value: Expr, lanes: tuple[int, Var]) -> Expr:
    """The current value of the vector ``value``, copied to memory of the thread."""
    memory, lane = vector_memory(builder, name, str(value.ty.dtype), lanes[0]), lanes[1]
    builder.emit(BufferStore(memory, value, [lane], span=builder.span))
    return BufferLoad(memory, [lane])


def is_index(builder: Builder, value: Expr) -> bool:
    """Is the vector computed from variables alone, so that it is the same wherever it is computed?"""
    return not collect(builder.in_place(value), TensorLoad, Call)


def at_lane(builder: Builder, value: Expr, index: Any) -> Expr:
    """The lane ``index`` of a vector, as it was when it was read; a value that is no vector itself. index: a number, or
    an expression of the lane of a vector of another length, which the result then is."""
    lanes = find_lanes(builder, value)
    if lanes is None:
        return value
    return builder.hold(place_at_lane(builder, value, index))


def place_at_lane(builder: Builder, value: Expr, index: Any) -> Expr:
    """The lane ``index`` of a vector as an expression that is not evaluated yet: of a load, the place in memory."""
    lanes = find_lanes(builder, value)
    if lanes is None:
        return value
    value = _with_vectors(builder, value, builder.frame, builder.writes)
    chosen = IntImm("int32", index) if isinstance(index, int) else index
    return transform(value, Var, lambda var: chosen if var.same_as(lanes[1]) else var)


def in_memory(builder: Builder, name: str, elements: list[Expr]) -> Expr:
    """The vector of these values, which is put into memory of the thread."""
    memory = vector_memory(builder, name, str(elements[0].ty.dtype), len(elements))
    for position, element in enumerate(elements):
        builder.emit(BufferStore(memory, element, [IntImm("int32", position)], span=builder.span))
    return builder.hold(BufferLoad(memory, [lane_of(builder, len(elements))]))


def _memory(builder: Builder, name: str, value: Expr, lanes: tuple[int, Var]) -> Var:
    """Thread memory for a vector, not allocated yet."""
    return tirx.decl_buffer([lanes[0]], str(value.ty.dtype), builder.unique(name), scope="local", layout=None)


def _with_vectors(builder: Builder, node: Any, frame: Frame, time: int) -> Any:
    """``node`` with held vectors put back. frame, time: the block in which it stands, and how many statements that may
    write memory were built by then."""
    values: dict[int, Expr] = {}
    for var in collect(node, Var):
        reading = builder.readings.of(var)
        if reading is None or find_lanes(builder, var) is None:
            continue
        if reading.frame is frame and reading.time == time:
            values[hash(var)] = _with_vectors(builder, reading.value, frame, time)
        else:
            values[hash(var)] = _copied_vector(builder, reading)
    return replaced(node, values)


def _copied_vector(builder: Builder, reading: Reading) -> Expr:
    """A vector as it was when it was read, copied to thread memory there."""
    copied = builder.kept_vectors.get(hash(reading.var))
    if copied is not None:
        return copied
    value = _with_vectors(builder, reading.value, reading.frame, reading.time)
    lanes = find_lanes(builder, value)
    statements = reading.frame.statements
    place = [at for at, s in enumerate(statements) if isinstance(s, Bind) and s.var.same_as(reading.var)]
    if lanes is None or not place:  # code that is never reached is not built
        return value
    memory, lane, span = _memory(builder, str(reading.var.name), value, lanes), lanes[1], statements[place[0]].span
    store = _loop(builder, BufferStore(memory, value, [lane], span=span), lanes)
    statements[place[0] + 1 : place[0] + 1] = [AllocBuffer(memory, span=span), store]
    copied = builder.kept_vectors[hash(reading.var)] = BufferLoad(memory, [lane])
    return copied
