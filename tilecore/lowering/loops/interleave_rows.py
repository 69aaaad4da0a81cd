"""Vectorizes copies into a layout that stores 2 or 4 neighbouring elements of each column next to each other.

Whole rows are loaded and interleaved in registers. Otherwise every element would be stored separately.
"""

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
    """The nest as loops over groups of rows; None if it is not an interleaving copy."""
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

    def bind(value: Any) -> Var:
        var = Var("row", kind)
        statements.append(Bind(var, value))
        return var

    vectors = []
    for row_index in range(group):
        lanes = Lanes(columns.loop_var, n0, count)
        value = substitute(body.value, {rows.loop_var: k0 + row_index})
        vectors.append(bind(lanes.vector(lanes.expr(value))))
    for position, vector in enumerate(_interleaved(vectors, bind)):
        start = {rows.loop_var: k0, columns.loop_var: n0 + position * (count // group)}
        offset = Analyzer().simplify(substitute(body.indices[0], start))
        index = Ramp(offset, const(1, dtype_of(offset)), count)
        statements.append(BufferStore(body.buffer, vector, [index], span=body.span))
    return seq(statements)


def _interleaved(vectors: list[Any], bind: Any) -> list[Any]:
    """The vectors with their lanes interleaved: the first lane of each, then the second lane of each, ..."""
    if len(vectors) == 2:
        return _pair(vectors[0], vectors[1], bind)
    even, odd = _interleaved(vectors[0::2], bind), _interleaved(vectors[1::2], bind)
    return [vector for a, b in zip(even, odd, strict=True) for vector in _pair(a, b, bind)]


def _pair(a: Any, b: Any, bind: Any) -> list[Any]:
    count = int(a.ty.dtype.lanes)
    halves = []
    for half in (0, count // 2):
        indices = [const(half + i // 2 + (count if i % 2 else 0), "int32") for i in range(count)]
        halves.append(bind(Shuffle([a, b], indices)))
    return halves
