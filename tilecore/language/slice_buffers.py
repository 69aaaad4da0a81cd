"""A slice of a buffer as a buffer: elements, further slices, a shape."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.nodes import IntImm, Range, TensorRegion
from tilecore.language.buffers import BufferHandle
from tilecore.language.slices import slice_text
from tilecore.language.values import as_expr


class SliceBuffer(BufferHandle):
    """A slice of a buffer as a buffer: its element 0 is where the slice starts.

    ranges: along the axes of the buffer. axes: those that the slice has. lanes: of a buffer of vectors. An index beyond
    the slice is one of the buffer, if it is known only when the kernel runs.
    """

    def __init__(self, region: TensorRegion, ranges: tuple[Range, ...], axes: tuple[int, ...], lanes: int) -> None:
        super().__init__(region.source, lanes)
        self._ranges, self._axes = ranges, axes
        self._text = slice_text(region)

    @property
    def name(self) -> str:
        return self._text

    @property
    def shape(self) -> tuple[Any, ...]:
        extents = [self._ranges[axis].extent for axis in self._axes]
        return tuple(int(extent) if isinstance(extent, IntImm) else extent for extent in extents)

    @property
    def strides(self) -> tuple[Any, ...]:
        strides = BufferHandle(self.buffer).strides
        return tuple(strides[axis] for axis in self._axes) if strides else ()

    @property
    def ndim(self) -> int:
        return len(self._axes)

    def _indices(self, index: Any) -> tuple[list[Range], tuple[int, ...]]:
        inner, sliced = super()._indices(index)
        ranges = list(self._ranges)
        for axis, part in zip(self._axes, inner, strict=True):
            start = Analyzer().simplify(as_expr(ranges[axis].min) + as_expr(part.min))
            ranges[axis] = Range.from_min_extent(start, part.extent)
        return ranges, tuple(self._axes[axis] for axis in sliced)

    def _check_slice(self, start: Any, stop: Any, extent: Any, axis: int) -> None:
        """A slice of a slice lies within it."""
        starts_outside = isinstance(start, int) and (start < 0 or (isinstance(extent, int) and start >= extent))
        if starts_outside or (isinstance(extent, int) and isinstance(stop, int) and stop > extent):
            raise LanguageError(
                f"the slice of axis {axis} of {self.name} {'starts' if starts_outside else 'ends'} outside the axis",
                found=f"{start}:{stop}",
                expected=f"within 0:{extent}, for shape {self.shape}",
            )
