"""Assignments to slices, ``A[i:j] = value``: a vector is stored lane by lane, a tile or a number by the whole block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import Bind, BufferLoad, BufferStore, Expr, IntImm, TensorLoad, TensorRegion, Var
from tilecore.ir.scopes import is_private
from tilecore.ir.visit import collect
from tilecore.language.arithmetic import Arithmetic
from tilecore.language.buffers import BufferHandle
from tilecore.language.conversions import convert
from tilecore.language.kernel import open_kernel
from tilecore.language.regions import extents, kind_of, region_of, tile_shape
from tilecore.language.slices import slice_text
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import current
from tilecore.tracing.vectors import find_lanes, lane_of

if TYPE_CHECKING:
    from tilecore.tracing.builder import Builder


def store_slice(region: TensorRegion, value: Any, is_complete: bool = True) -> None:
    """``A[i0:i1, j] = value``. A vector, as T.Ramp makes it, is stored by the thread that reaches the statement. A tile
    or a number is copied or filled in by the whole block; each thread or iteration for itself does it in T.Parallel,
    and where the place depends on the thread. is_complete: are there indices or slices for all axes?"""
    from tilecore.language.copies import write_region

    builder = current()
    is_tile = isinstance(value, (BufferHandle, TensorRegion))
    lanes = 1 if is_tile or not is_kernel_value(value) else lanes_of(builder, value)
    if lanes > 1:
        _store_vector(builder, region, value, lanes)
    elif builder.in_parallel or _is_per_thread(builder, region, value if is_tile else None):
        source = region_of(value, "assignment to a slice") if is_tile else None
        count = vector_size(region)
        if not is_complete or count is None or (source is not None and vector_size(source) != count):
            raise _not_a_vector(builder, region)
        _store_vector(builder, region, value if source is None else load_vector(source), count)
    else:
        write_region(region, value)


def lanes_of(builder: Builder, value: Any) -> int:
    """The number of lanes of a value of the kernel; 1: it is no vector."""
    if isinstance(value, Arithmetic) and value.lanes > 1:
        return value.lanes
    lanes = find_lanes(builder, as_expr(value))
    return 1 if lanes is None else lanes[0]


def vector_size(region: TensorRegion) -> int | None:
    """The number of elements of a slice along one axis; None for a slice along several axes, or of unknown size."""
    sizes = tile_shape(region)
    if len(sizes) > 1 or not all(isinstance(size, int) for size in sizes):
        return None
    return sizes[0] if sizes else 1


def load_vector(region: TensorRegion) -> Expr:
    """The elements of a slice along one axis, as they are now, as a vector."""
    builder = current()
    return builder.hold(BufferLoad(region.source, vector_indices(builder, region), span=builder.span))


def vector_indices(builder: Builder, region: TensorRegion) -> list[Expr]:
    """The indices of the elements of a slice along one axis, as vectors."""
    count = vector_size(region)
    assert count is not None
    if count == 1:
        return [r.min for r in region.region]
    lane = lane_of(builder, count)
    return [r.min if size == 1 else r.min + lane for r, size in zip(region.region, extents(region), strict=True)]


def _store_vector(builder: Builder, region: TensorRegion, value: Any, lanes: int) -> None:
    if vector_size(region) != lanes:
        raise LanguageError(
            f"a vector of {lanes} lanes is stored to a slice of another size",
            found=slice_text(region),
            expected=f"{lanes} elements along one axis",
        ).at(builder.location)
    indices = vector_indices(builder, region)
    builder.emit(BufferStore(region.source, convert(value, kind_of(region)), indices, span=builder.span))


def _not_a_vector(builder: Builder, region: TensorRegion) -> LanguageError:
    name, rank = region.source.name, len(region.region)
    axes = ", ".join("ijklmn"[:rank])
    place = "inside T.Parallel, where an iteration stores elements" if builder.in_parallel else "by one thread"
    return LanguageError(
        f"a slice of {name} is stored to {place}",
        found=slice_text(region),
        expected=f"elements along one axis, as many as are stored, or an index for each axis: {name}[{axes}] = ...",
        hint="move it out of the loop: there the whole block fills or copies slices together"
        if builder.in_parallel
        else "loop over the elements with T.serial or T.vectorized",
    ).at(builder.location)


def _is_per_thread(builder: Builder, region: TensorRegion, value: Any) -> bool:
    """Does the place of the slice, or whether it is stored to, depend on the thread?"""
    kernel = open_kernel("assignment to a slice")
    regions = [region, *([value] if isinstance(value, TensorRegion) else [])]
    places = [r.min for one in regions for r in one.region]
    conditions = [frame.facts["condition"] for frame in builder.frames if "condition" in frame.facts]
    bound = {hash(s.var): s.value for frame in builder.frames for s in frame.statements if isinstance(s, Bind)}
    return any(_reads_thread(builder, part, kernel.thread_vars, bound) for part in (*places, *conditions))


def _reads_thread(builder: Builder, node: Any, threads: list[Var], bound: dict[int, Expr]) -> bool:
    """Does the expression depend on the running thread: on its index, or on memory of its own?"""
    pending, seen = [builder.in_place(node)], set()
    while pending:
        part = pending.pop()
        if isinstance(part, IntImm):
            continue
        if any(is_private(load.source) for load in collect(part, TensorLoad)):
            return True
        for var in collect(part, Var):
            if any(var.same_as(thread) for thread in threads):
                return True
            if hash(var) not in seen:
                seen.add(hash(var))
                pending += [builder.in_place(bound[hash(var)])] if hash(var) in bound else []
    return False
