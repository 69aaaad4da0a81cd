"""Vectors written by hand. ``T.Ramp(base, stride, lanes)`` is ``base + stride * lane``, where ``lane`` is a variable of
the builder's; the store in which it stands becomes a loop over the lanes, whose iterations may run as one move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError
from tilecore.ir.build import loop
from tilecore.ir.nodes import BufferLoad, BufferStore, Expr, ForKind, IntImm, Stmt, Var, structural_equal, tirx
from tilecore.ir.visit import collect, loads, transform

if TYPE_CHECKING:
    from tilecore.frontend.builder import Builder


def lane_of(builder: Builder, lanes: int) -> Var:
    """The variable that stands for the lane in vectors of so many lanes."""
    return builder.lanes.setdefault(lanes, Var("lane", "int32"))


def find_lanes(builder: Builder, node: Any) -> tuple[int, Var] | None:
    """The number of lanes of an expression or a statement and their variable; None where it is no vector."""
    found = [(count, lane) for count, lane in builder.lanes.items() if _reads(node, lane)]
    if len(found) > 1:
        raise LanguageError(
            "vectors of different lengths in one statement", found=" and ".join(f"{count} lanes" for count, _ in found)
        ).at(builder.location)
    return found[0] if found else None


def _reads(node: Any, var: Var) -> bool:
    return any(found.same_as(var) for found in collect(node, Var))  # == makes a comparison of the kernel here


def over_lanes(builder: Builder, statement: Stmt) -> Stmt:
    """The statement, as a loop where it stores a vector."""
    found = find_lanes(builder, statement)
    if found is None:
        return statement
    count, lane = found
    if not isinstance(statement, BufferStore) or not any(_reads(index, lane) for index in statement.indices):
        raise LanguageError(
            "a vector (T.Ramp) stands where one value is expected",
            expected="a store of all its lanes: B[T.Ramp(j, 1, n)] = A[T.Ramp(i, 1, n)]",
        ).at(builder.location)
    if _reads_others(statement):
        taken = held(builder, f"{statement.buffer.name}_lanes", statement.value, found)
        statement = BufferStore(statement.buffer, taken, statement.indices, span=statement.span)
    return loop(
        IntImm("int32", count),
        lambda var: transform(statement, Var, lambda v: var if v.same_as(lane) else v),
        name=builder.unique("lane"),
        kind=ForKind.VECTORIZED,
        span=statement.span,
        notes={"tile.loop": "vectorized"},
    )


def _reads_others(store: BufferStore) -> bool:
    """May a lane read what another one has written? All of them are read before the first one is written."""
    found = [load for load in loads(store.value) if load.source.same_as(store.buffer)]
    return not all(structural_equal(a, b) for load in found for a, b in zip(load.indices, store.indices, strict=True))


def held(builder: Builder, name: str, value: Expr, lanes: tuple[int, Var]) -> Expr:
    """The vector ``value`` as it is now, in memory of the thread."""
    count, lane = lanes
    memory = tirx.decl_buffer([count], str(value.ty.dtype), builder.unique(name), scope="local", layout=None)
    builder.allocate(memory)
    builder.emit(BufferStore(memory, value, [lane], span=builder.span))
    return BufferLoad(memory, [lane])
