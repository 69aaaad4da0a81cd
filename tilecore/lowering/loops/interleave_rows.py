"""Copies into a layout that keeps the 2 or 4 neighbours along one axis of every column side by side: whole rows are
loaded and interleaved in registers. Without this every element would be stored on its own."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import lane_step
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, seq
from tilecore.ir.nodes import Bind, BufferStore, For, ForKind, PrimType, Ramp, Shuffle, Stmt, Var
from tilecore.ir.visit import substitute
from tilecore.lowering.loops.transpose_blocks import copied_element
from tilecore.lowering.loops.vectorize_body import Lanes
from tilecore.lowering.loops.vectorize_expressions import CannotVectorizeError


def interleaving_copy(axes: list[For], body: Stmt, bits: int) -> Stmt | None:
    """The nest by groups of rows, or None when it is no such copy."""
    if not isinstance(body, BufferStore) or len(axes) != 2:
        return None
    source = copied_element(body.value)
    if source is None or str(body.buffer.dtype) == "bool":
        return None
    for columns, rows in (axes, axes[::-1]):
        group = lane_step(body.indices[0], columns.loop_var, 16)
        if group not in (2, 4) or lane_step(source.indices[0], columns.loop_var, 16) != 1:
            continue
        if lane_step(body.indices[0], rows.loop_var, group) != 1:
            continue
        wide, high = constant(columns.extent), constant(rows.extent)
        if wide is None or high is None or constant(columns.min) != 0 or constant(rows.min) != 0:
            return None
        count = bits // DType(dtype_of(body.buffer)).bits
        while count > wide:
            count //= 2
        run = count // group
        if run == 0 or wide % count or high % group or lane_step(body.indices[0], columns.loop_var, run) != group:
            return None
        try:
            return _groups(columns, rows, body, count, group)
        except CannotVectorizeError:
            return None
    return None


def _groups(columns: For, rows: For, body: BufferStore, count: int, group: int) -> Stmt:
    dtype = dtype_of(columns.loop_var)
    row, column = Var(f"{rows.loop_var.name}_g", dtype), Var(f"{columns.loop_var.name}_v", dtype)
    block = _block(columns, rows, body, count, group, row * group, column * count)
    inner = For(
        column, const(0, dtype), const(int(columns.extent) // count, dtype), ForKind.SERIAL, block, span=columns.span
    )
    return For(row, const(0, dtype), const(int(rows.extent) // group, dtype), ForKind.SERIAL, inner, span=rows.span)


def _block(columns: For, rows: For, body: BufferStore, count: int, group: int, k0: Any, n0: Any) -> Stmt:
    statements: list[Stmt] = []
    kind = PrimType(f"{dtype_of(body.buffer)}x{count}")

    def keep(value: Any) -> Var:
        var = Var("row", kind)
        statements.append(Bind(var, value))
        return var

    vectors = []
    for number in range(group):
        lanes = Lanes(columns.loop_var, n0, count)
        value = substitute(body.value, {rows.loop_var: k0 + number})
        vectors.append(keep(lanes.vector(lanes.expr(value))))
    for position, vector in enumerate(_interleaved(vectors, keep)):
        start = {rows.loop_var: k0, columns.loop_var: n0 + position * (count // group)}
        offset = Analyzer().simplify(substitute(body.indices[0], start))
        index = Ramp(offset, const(1, dtype_of(offset)), count)
        statements.append(BufferStore(body.buffer, vector, [index], span=body.span))
    return seq(statements)


def _interleaved(vectors: list[Any], keep: Any) -> list[Any]:
    """The vectors' lanes in turn: first lanes of all, second lanes of all, ..."""
    if len(vectors) == 2:
        return _pair(vectors[0], vectors[1], keep)
    even, odd = _interleaved(vectors[0::2], keep), _interleaved(vectors[1::2], keep)
    return [made for a, b in zip(even, odd, strict=True) for made in _pair(a, b, keep)]


def _pair(a: Any, b: Any, keep: Any) -> list[Any]:
    count = int(a.ty.dtype.lanes)
    made = []
    for half in (0, count // 2):
        indices = [const(half + i // 2 + (count if i % 2 else 0), "int32") for i in range(count)]
        made.append(keep(Shuffle([a, b], indices)))
    return made
