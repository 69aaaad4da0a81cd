"""Bytes of global memory that a kernel reads and writes: all that it asks for, and how many of them are different."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tilecore.dtypes import FACTS, split_vector
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import Var
from tilecore.profiler.work.spaces import Loop, Space, line_of
from tilecore.profiler.work.values import DataDependentError, Span

MOST_DIFFERENT = 1 << 22  # points whose elements are compared with one another
_MOST_BOXES = 12  # whose union is computed exactly


@dataclass(frozen=True)
class Part:
    """A part of a tensor: the range along each axis. elements: how many in it are accessed; is_exact: so many, and not
    at most so many."""

    spans: tuple[Span, ...]
    elements: int
    is_exact: bool

    @property
    def is_whole(self) -> bool:
        """Are all elements in the ranges accessed?"""
        return self.is_exact and self.elements == prod(span.largest - span.least + 1 for span in self.spans)


@dataclass
class Traffic:
    """The accesses of one kind, reads or writes, of one tensor. times: element accesses, each as often as it is
    executed. buffers: the tensor itself, or views of it, by which it is accessed."""

    size: int
    bits: int
    times: int
    parts: list[tuple[Var, Part]]

    def moved_bytes(self) -> int:
        return _bytes(self.times, self.bits)

    def unique_bytes(self) -> tuple[int, bool]:
        """(the bytes of different elements, whether that is their exact number and no upper bound of it)."""
        parts = [part for _, part in self.parts if part.elements]
        is_one_shape = len({hash(buffer) for buffer, _ in self.parts}) == 1
        if is_one_shape:
            parts = _without_contained(parts)
        counted = min(sum(part.elements for part in parts), self.size, self.times)
        if not parts or len(parts) == 1:
            return _bytes(counted, self.bits), all(part.is_exact for part in parts)
        if is_one_shape and len(parts) <= _MOST_BOXES:
            whole = _union([part.spans for part in parts])
            return _bytes(min(counted, whole), self.bits), all(part.is_whole for part in parts)
        return _bytes(counted, self.bits), False


def _without_contained(parts: list[Part]) -> list[Part]:
    """The parts without those that lie in another one, all of whose elements are accessed."""
    kept: list[Part] = []
    for part in sorted(parts, key=lambda part: -part.elements):
        if not any(other.is_whole and _lies_in(part, other) for other in kept):
            kept.append(part)
    return kept


def _lies_in(part: Part, other: Part) -> bool:
    pairs = zip(part.spans, other.spans, strict=True)
    return all(b.least <= a.least and a.largest <= b.largest for a, b in pairs)


def bits_of(buffer: Var) -> int:
    """Bits of an element, or of a vector; of what is no element type, such as an address, 64."""
    element, lanes = split_vector(dtype_of(buffer))
    return FACTS[element].bits * lanes if element in FACTS else 64


def part_of(space: Space, indices: Sequence[Any], sizes: Sequence[int], is_exact: bool) -> Part:
    """The elements at these indices, at all points of ``space``. sizes: of the tensor. is_exact: no condition leaves
    points out beside the edges of the tensor."""
    spans = [Span(0, -1)] * len(sizes)
    if space.is_empty:
        return Part(tuple(spans), 0, True)
    count = 1
    for axes in _groups(space, indices):
        found, different, exact = _of_axes(space, [indices[axis] for axis in axes], [sizes[axis] for axis in axes])
        for axis, span in zip(axes, found, strict=True):
            spans[axis] = span
        count *= different
        is_exact = is_exact and exact
    return Part(tuple(spans), count, is_exact)


def _groups(space: Space, indices: Sequence[Any]) -> list[list[int]]:
    """The axes, those together whose indices depend on the same loops."""
    groups: list[tuple[set[Var], list[int]]] = []
    for axis, index in enumerate(indices):
        variables, axes = set(space.values.variables(index)), [axis]
        for group in [group for group in groups if group[0] & variables]:
            variables |= group[0]
            axes = [*group[1], *axes]
            groups.remove(group)
        groups.append((variables, axes))
    return [axes for _, axes in groups]


def _of_axes(space: Space, indices: Sequence[Any], sizes: Sequence[int]) -> tuple[list[Span], int, bool]:
    """(the range of each index inside the tensor, the number of different positions, whether that is exact)."""
    values, ranges = space.values, space.ranges
    variables = space.with_outer(frozenset[Var]().union(*(values.variables(index) for index in indices)))
    loops = [loop for loop in space.loops if loop.var in variables]
    if len(indices) == 1 and not any(map(space.bound_variables, loops)):
        linear = values.linear(indices[0])
        line = None if linear is None else line_of(linear, ranges)
        if line is not None:
            span = Span(max(line.least, 0), min(line.largest, sizes[0] - 1))
            return [span], max(0, span.largest - span.least + 1), True
    try:
        if prod(space.length(loop.var) for loop in loops) <= MOST_DIFFERENT:
            return _enumerated(space, loops, indices, sizes)
        spans = [values.span(index, ranges) for index in indices]
    except DataDependentError:  # any element
        return [Span(0, size - 1) for size in sizes], prod(sizes), False
    spans = [Span(max(s.least, 0), min(s.largest, size - 1)) for s, size in zip(spans, sizes, strict=True)]
    return spans, prod(max(0, span.largest - span.least + 1) for span in spans), False


def _enumerated(
    space: Space, loops: list[Loop], indices: Sequence[Any], sizes: Sequence[int]
) -> tuple[list[Span], int, bool]:
    grid = space.grid(loops)
    holds = np.asarray(space.inside_bounds(loops, grid))
    found: Any = np.broadcast_arrays(holds, *(np.asarray(space.values.evaluate(index, grid)) for index in indices))
    inside, *flat = (axis.reshape(-1) for axis in found)
    for axis, size in zip(flat, sizes, strict=True):
        inside = inside & (axis >= 0) & (axis < size)
    flat = [axis[inside] for axis in flat]
    if not len(flat[0]):
        return [Span(0, -1)] * len(sizes), 0, True
    position = np.zeros(len(flat[0]), np.int64)
    for axis, size in zip(flat, sizes, strict=True):
        position = position * size + axis
    return [Span(int(axis.min()), int(axis.max())) for axis in flat], len(np.unique(position)), True


def _union(boxes: list[tuple[Span, ...]]) -> int:
    """The number of elements in at least one of the boxes."""
    edges = [sorted({edge for box in boxes for edge in (box[axis].least, box[axis].largest + 1)}) for axis in
             range(len(boxes[0]))]  # fmt: skip
    total = 0
    for cell in product(*(range(len(line) - 1) for line in edges)):
        corner = [line[at] for line, at in zip(edges, cell, strict=True)]
        if any(all(s.least <= c <= s.largest for s, c in zip(box, corner, strict=True)) for box in boxes):
            total += prod(line[at + 1] - line[at] for line, at in zip(edges, cell, strict=True))
    return total


def _bytes(elements: int, bits: int) -> int:
    return -(-elements * bits // 8)
