"""Splits the indices of a nest's accesses into parts of its loop variables.

A part is ``variable // place % extent * stride``. Parts that do not overlap are digits of the index, as a layout's
digits are of an element's indices: ``i * 4 + j`` with j below 4, ``i // 32``, ``i + 16``. The variable of a
short serial loop around the nest or in it may be a part, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

from tilecore.ir.build import constant
from tilecore.ir.nodes import Add, Cast, FloorDiv, FloorMod, Mul, Sub, Var
from tilecore.lowering.simt.analysis.parallel_nests import Access, Nest

SERIAL = -1  # stands for a serial loop


class Part(NamedTuple):
    """``variable // place % extent * stride``. loop: the number of the variable's loop in a nest, or SERIAL."""

    stride: int
    loop: int
    place: int
    extent: int

    @property
    def end(self) -> int:
        """The place value of what may follow in the index."""
        return self.stride * self.extent

    @property
    def loop_end(self) -> int:
        """The place value of what follows in the loop variable."""
        return self.place * self.extent


class IndexParts(NamedTuple):
    """The sum of ``parts``, the lowest place first, and of the constant ``offset``."""

    parts: tuple[Part, ...]
    offset: int

    def shows(self, part: Part, end: int) -> bool:
        """Are the places of the index from the stride of ``part`` up to ``end`` those of the part alone?

        That is so if the other addends are multiples of ``end``, or are together below the stride of the part.
        """
        below = self.offset % end
        for other in self.parts:
            if other is not part and other.stride % end:
                below += (other.extent - 1) * other.stride
        return below < part.stride

    @property
    def are_digits(self) -> bool:
        """Do no two parts overlap?"""
        return not any(after.stride % before.end for before, after in pairwise(self.parts))


def parts_of_access(nest: Nest, access: Access) -> list[IndexParts] | None:
    """The parts of each index of an access; None where an index is something else, or the nest has no constant size."""
    if not nest.is_constant or len(access.indices) != len(access.buffer.shape):
        return None
    parsed = [_parsed(index, nest) for index in access.indices]
    found = [index for index in parsed if index is not None and index.offset >= 0]
    return found if len(found) == len(parsed) else None


def reaches_all(indices: Sequence[IndexParts], shape: Sequence[int]) -> bool:
    """Do the iterations of the nest, and of the serial loops, access every element of a buffer of ``shape``?"""
    for index, size in zip(indices, shape, strict=True):
        at = 1
        for part in index.parts:
            if part.stride != at:
                return False
            at = part.end
        if index.offset or at < size:
            return False
    return True


def names_each_iteration(nest: Nest, indices: Sequence[IndexParts]) -> bool:
    """Does every iteration of the nest access an element of its own: are all places of each loop in one index?"""
    if not all(IndexParts(tuple(p for p in index.parts if p.loop != SERIAL), 0).are_digits for index in indices):
        return False
    for loop, extent in enumerate(nest.extents):
        at = 1
        for part in sorted((p for i in indices for p in i.parts if p.loop == loop), key=lambda p: p.place):
            if part.place != at:
                return False
            at = part.loop_end
        if at != extent:
            return False
    return True


def _parsed(index: Any, nest: Nest) -> IndexParts | None:
    if (value := constant(index)) is not None:
        return IndexParts((), value)
    if isinstance(index, Var):
        loop = nest.axis_of(index)
        if loop is None:
            return _sum([Part(1, SERIAL, 1, nest.serial[index])], 0) if index in nest.serial else None
        return _sum([Part(1, loop, 1, nest.extents[loop] or 1)], 0)
    if isinstance(index, Cast):
        return _parsed(index.value, nest)
    if not isinstance(index, (Add, Sub, Mul, FloorDiv, FloorMod)):
        return None
    left, right = _parsed(index.a, nest), _parsed(index.b, nest)
    if left is None or right is None:
        return None
    if isinstance(index, Add):
        return _sum([*left.parts, *right.parts], left.offset + right.offset)
    if isinstance(index, Mul) and not left.parts:
        left, right = right, left
    if right.parts:
        return None
    number = right.offset
    if isinstance(index, Sub):
        return IndexParts(left.parts, left.offset - number)
    if number < 1:
        return None
    if isinstance(index, Mul):
        return IndexParts(tuple(p._replace(stride=p.stride * number) for p in left.parts), left.offset * number)
    if left.offset % number or not left.are_digits:
        return None
    if isinstance(index, FloorMod):
        return _between(left.parts, 1, number, 0)
    return _between(left.parts, number, inf, left.offset // number)


def _sum(parts: Sequence[Part], offset: int) -> IndexParts:
    return IndexParts(tuple(sorted(part for part in parts if part.extent > 1)), offset)


def _between(parts: Sequence[Part], low: int, high: float, offset: int) -> IndexParts | None:
    """What of the parts is at the places from ``low`` up to ``high``, divided by ``low``; None where a part is cut
    elsewhere than between two of its values."""
    cut = []
    for part in parts:
        begin, end = max(part.stride, low), min(part.end, high)
        if part.stride >= high and part.stride % high:
            return None
        if begin >= end:
            continue
        if begin % part.stride or (begin % low) or (end != part.end and (end % begin or part.end % end)):
            return None
        if part.end % begin:
            return None
        place = part.place * (begin // part.stride)
        cut.append(Part(begin // low, part.loop, place, int(end) // begin))
    return _sum(cut, offset)
