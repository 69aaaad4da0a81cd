"""Operands of tile operations: buffers, slices and elements, as regions whose extents are the tile's."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError, WrongTypeError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.nodes import BufferRegion, IntImm, Range, TensorLoad, TensorRegion, Var
from tilecore.ir.visit import transform
from tilecore.language.buffers import BufferHandle, Element, LocalVar, VariableRead, as_load
from tilecore.language.values import as_expr
from tilecore.tracing.current import current
from tilecore.tracing.vectors import lane_of


def region_of(value: Any, subject: str) -> TensorRegion:
    """A whole buffer or a slice of one; an element is a tile of one."""
    region = _known_region(value, subject)
    if region is not None:
        return region
    start = _start(value)
    return _from_start(start, [1] * len(start.indices))


def _known_region(value: Any, subject: str) -> TensorRegion | None:
    if isinstance(value, BufferHandle):
        zero = IntImm("int32", 0)
        region = value.region([Range.from_min_extent(zero, as_expr(s)) for s in value.shape])
        return _of_elements(region, subject)
    if isinstance(value, TensorRegion):
        return _of_elements(value, subject)
    if isinstance(value, (LocalVar, VariableRead)):
        value = value.variable if isinstance(value, VariableRead) else value
        return BufferRegion(value.buffer, [Range.from_min_extent(0, value.lanes)])
    if as_load(value) is not None:
        return None
    raise WrongTypeError(
        f"{subject}: an argument is not a buffer",
        found=f"{type(value).__name__} {str(value)[:60]}",
        expected="a buffer, or a slice of one",
    )


# what takes tiles of vectors; to other operations the lanes would be an axis like the others
_OF_VECTORS = ("T.copy", "assignment to a slice", "T.fill", "T.clear", "T.access_ptr", "T.print")


def _of_elements(region: TensorRegion, subject: str) -> TensorRegion:
    kind = current().vector_buffers.get(hash(region.source))
    if kind is None or subject in _OF_VECTORS:
        return region
    raise LanguageError(
        f"{subject} is given a tile of vectors",
        found=f"{region.source.name}, of {kind}",
        expected=f"a tile of {kind.element}",
        hint=f"T.view({region.source.name}, shape, T.{kind.element}) views it as one",
    )


def _start(value: Any) -> TensorLoad:
    """The element at which a tile starts; of a vector of a buffer of vectors the first lane."""
    start = as_load(value)
    if not isinstance(value, Element) or value.lanes == 1:
        return start
    lane, first = lane_of(current(), value.lanes), IntImm("int32", 0)
    return transform(start, Var, lambda var: first if var.same_as(lane) else var)


def _from_start(load: TensorLoad, extents: list[Any]) -> TensorRegion:
    ranges = [Range.from_min_extent(i, as_expr(e)) for i, e in zip(load.indices, extents, strict=True)]
    return BufferRegion(load.source, ranges)


def region_pair(src: Any, dst: Any, subject: str) -> tuple[TensorRegion, TensorRegion]:
    """Source and destination of a copy. ``A[i, j]`` is where the tile starts; its extents are the other side's."""
    left, right = _known_region(src, subject), _known_region(dst, subject)
    if left is None and right is None:
        return region_of(src, subject), region_of(dst, subject)
    if left is None:
        start = _start(src)
        left = _from_start(start, _padded(extents(right), len(start.indices), subject))
    if right is None:
        start = _start(dst)
        right = _from_start(start, _padded(extents(left), len(start.indices), subject))
    check_same_shape(left, right, subject)
    return left, right


def extents(region: TensorRegion) -> list[Any]:
    return [int(r.extent) if isinstance(r.extent, IntImm) else r.extent for r in region.region]


def is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def tile_shape(region: TensorRegion) -> list[Any]:
    """The extents without the axes of extent 1."""
    return [e for e in extents(region) if not is_one(e)]


def _padded(sizes: list[Any], rank: int, subject: str) -> list[Any]:
    while len(sizes) > rank and isinstance(sizes[0], int) and sizes[0] == 1:
        sizes = sizes[1:]
    if len(sizes) > rank:
        real = [s for s in sizes if not (isinstance(s, int) and s == 1)]
        if len(real) > rank:
            raise LanguageError(
                f"{subject}: a tile of {len(sizes)} axes does not fit a buffer of {rank}",
                found=f"tile shape {tuple(sizes)}",
            )
        sizes = real
    return [1] * (rank - len(sizes)) + sizes


def check_same_shape(left: TensorRegion, right: TensorRegion, subject: str) -> None:
    a, b = tile_shape(left), tile_shape(right)
    if len(a) != len(b) or any(not same_size(x, y) for x, y in zip(a, b, strict=True)):
        raise LanguageError(
            f"{subject}: the shapes differ",
            found=f"{describe(left)} and {describe(right)}",
            expected="tiles of the same shape, apart from axes of extent 1",
        )


def same_size(a: Any, b: Any) -> bool:
    """False only when the two are known to differ."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    difference = Analyzer().simplify(as_expr(a) - as_expr(b))
    return not isinstance(difference, IntImm) or int(difference) == 0


def describe(region: TensorRegion) -> str:
    """The region as errors show it: its buffer with the ranges of indices, or with the shape for all of it."""
    sizes = ", ".join(str(e) for e in extents(region))
    return f"{region.source.name}[{sizes}]"


def kind_of(region: TensorRegion) -> str:
    return str(region.source.dtype)
