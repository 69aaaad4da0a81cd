"""Layouts of views of fragments: the same elements in the same registers, counted along other axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilecore.ir.fragments import Digit, FragmentLayout


def reshaped(layout: FragmentLayout, shape: Sequence[int]) -> FragmentLayout | None:
    """The layout of the same fragment viewed with another shape of as many elements, in row-major order.

    Each thread holds the same elements in the same registers. None where the new axes cut a digit at a place that does
    not divide it, or where a digit reaches past the end of an axis other than the first.
    """
    if prod(shape) != prod(layout.shape):
        return None
    flat = _flattened(layout)
    return None if flat is None else _split(flat, layout.threads, tuple(shape))


def _flattened(layout: FragmentLayout) -> list[Digit] | None:
    """The digits of the element's row-major number; None where one reaches past an axis that is not the first."""
    digits, stride = [], 1
    for axis in reversed(range(len(layout.shape))):
        of_axis = layout.of_axis(axis)
        digits += [d._replace(axis=0, place=d.place * stride) for d in of_axis]
        if axis and prod(d.extent for d in of_axis) != layout.shape[axis]:
            return None
        stride *= layout.shape[axis]
    return digits


def _split(digits: list[Digit], threads: int, shape: tuple[int, ...]) -> FragmentLayout | None:
    """The layout of a tile of ``shape`` from digits of the element's row-major number."""
    ends, end = [], 1
    for size in reversed(shape):
        end *= size
        ends.append(end)
    ends[-1] = max([end, *(d.end for d in digits)])  # the digits of the first axis may reach past its end
    pieces = []
    for digit in digits:
        place, stride, rest = digit.place, digit.stride, digit.extent
        for number, (begin, end) in enumerate(zip([1, *ends], ends, strict=False)):
            if not begin <= place < end or rest == 1:
                continue
            count = min(rest, end // place) if end % place == 0 else rest
            if rest % count or place % begin or place * count > end:
                return None
            axis = len(shape) - 1 - number
            pieces.append(Digit(axis, place // begin, count, digit.where, stride))
            place, stride, rest = place * count, stride * count, rest // count
    try:
        return FragmentLayout(shape, threads, tuple(pieces))
    except ValueError:  # an axis whose digits do not follow one another
        return None
