"""Vectorizes transposing copies: square blocks are loaded along one axis, transposed in registers, and stored along
the other axis. Otherwise the loads or the stores would be scalar."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import lane_step
from tilecore.ir.build import const, constant, dtype_of, op_name, seq
from tilecore.ir.nodes import (
    Bind,
    BufferStore,
    Call,
    Cast,
    For,
    ForKind,
    PrimType,
    Shuffle,
    Stmt,
    TensorLoad,
    Var,
    tirx,
)
from tilecore.ir.visit import collect, substitute
from tilecore.lowering.loops.vectorize_body import CannotVectorizeError, Lanes


def transposing_copy(axes: list[For], body: Stmt, bits: int) -> Stmt | None:
    """The nest as loops over blocks, with the remainders as parallel nests; None if it is not a transposing copy."""
    if not isinstance(body, BufferStore) or len(axes) < 2:
        return None
    source = copied_element(body.value)
    if source is None or str(source.source.dtype) == "bool":
        return None
    wide = max(32, DType(dtype_of(body.buffer)).bits, DType(dtype_of(source)).bits)
    count = bits // wide
    across = _axis_of(axes, body.indices[0], count)
    along = _axis_of(axes, source.indices[0], count)
    if across is None or along is None or across.same_as(along):
        return None
    if lane_step(source.indices[0], across.loop_var, count) == 0:
        return None
    sizes = [constant(across.extent), constant(along.extent)]
    if any(size is None or size < count for size in sizes) or any(constant(a.min) != 0 for a in (across, along)):
        return None
    others = [a for a in axes if not a.same_as(across) and not a.same_as(along)]
    try:
        return _nest(others, _split(across, along, body, count))
    except CannotVectorizeError:
        return None


def copied_element(value: Any) -> TensorLoad | None:
    """The load whose value is copied, perhaps through a cast, a bounds guard, or an xor with a constant; else None."""
    if isinstance(value, TensorLoad):
        return value
    if isinstance(value, Cast):
        return copied_element(value.value)
    if isinstance(value, tirx.BitwiseXor) and constant(value.b) is not None:
        return copied_element(value.a)
    if isinstance(value, Call) and op_name(value) == "if_then_else" and not collect(value.args[0], TensorLoad):
        return (
            copied_element(value.args[1]) if constant(value.args[2]) is not None or _is_float(value.args[2]) else None
        )
    return None


def _is_float(value: Any) -> bool:
    return type(value).__name__ == "FloatImm"


def _axis_of(axes: list[For], offset: Any, count: int) -> For | None:
    """The loop whose iterations advance ``offset`` by one element."""
    return next((a for a in axes if lane_step(offset, a.loop_var, count) == 1), None)


def _nest(axes: list[For], body: Stmt, kind: int = ForKind.SERIAL) -> Stmt:
    for axis in reversed(axes):
        body = For(axis.loop_var, axis.min, axis.extent, kind, body, span=axis.span)
    return body


def _split(across: For, along: For, body: BufferStore, count: int) -> Stmt:
    """Loops over whole blocks, then the remainders along both axes as parallel nests."""
    p, q = across.loop_var, along.loop_var
    p_whole, q_whole = (int(a.extent) // count * count for a in (across, along))
    dtype = dtype_of(p)
    outer, inner = Var(f"{p.name}_b", dtype), Var(f"{q.name}_b", dtype_of(q))
    block = _block(across, along, body, count, outer * count, inner * count)
    loops = For(
        inner, const(0, dtype_of(q)), const(q_whole // count, dtype_of(q)), ForKind.SERIAL, block, span=across.span
    )
    parts: list[Stmt] = [
        For(outer, const(0, dtype), const(p_whole // count, dtype), ForKind.SERIAL, loops, span=across.span)
    ]
    if int(across.extent) > p_whole:
        parts.append(_strip(body, p, p_whole, int(across.extent), [q], [int(along.extent)], across))
    if int(along.extent) > q_whole:
        parts.append(_strip(body, q, q_whole, int(along.extent), [p], [p_whole], across))
    return seq(parts)


def _strip(body: Stmt, var: Var, start: int, stop: int, others: list[Var], sizes: list[int], like: For) -> Stmt:
    """A parallel nest of the iterations from ``start`` on along one axis, and all iterations along the others."""
    dtype = dtype_of(var)
    fresh = Var(str(var.name), dtype)
    renamed = {o: Var(str(o.name), dtype_of(o)) for o in others}
    nest = substitute(body, {var: fresh + start, **renamed})
    for other, size in zip(others, sizes, strict=True):
        nest = For(renamed[other], const(0, dtype), const(size, dtype), ForKind.PARALLEL, nest, span=like.span)
    return For(fresh, const(0, dtype), const(stop - start, dtype), ForKind.PARALLEL, nest, span=like.span)


def _block(across: For, along: For, body: BufferStore, count: int, p0: Any, q0: Any) -> Stmt:
    """One block: ``count`` vectors along the load's axis, transposed, stored along the store's axis."""
    statements: list[Stmt] = []
    kind = f"{dtype_of(body.buffer)}x{count}"

    def bind(value: Any) -> Var:
        var = Var("row", PrimType(kind))
        statements.append(Bind(var, value))
        return var

    rows = []
    for row_index in range(count):
        lanes = Lanes(along.loop_var, q0, count)
        rows.append(bind(lanes.vector(lanes.expr(substitute(body.value, {across.loop_var: p0 + row_index})))))
    half = count // 2
    while half:
        rows = _exchange(rows, half, bind)
        half //= 2
    for row_index, row in enumerate(rows):
        lanes = Lanes(across.loop_var, p0, count)
        index = lanes._index(body.buffer, [substitute(body.indices[0], {along.loop_var: q0 + row_index})])
        statements.append(BufferStore(body.buffer, row, [index], span=body.span))
    return seq(statements)


def _exchange(rows: list[Var], half: int, bind: Any) -> list[Var]:
    """Swap the off-diagonal quarters of every block of 2 x half rows and lanes."""
    count = len(rows)
    exchanged = list(rows)
    for i in range(count):
        if i & half:
            continue
        j = i + half
        first = [c if not c & half else count + c - half for c in range(count)]
        second = [c + half if not c & half else count + c for c in range(count)]
        for row, indices in ((i, first), (j, second)):
            exchanged[row] = bind(Shuffle([rows[i], rows[j]], [const(k, "int32") for k in indices]))
    return exchanged
