"""Derives a fragment's layout from the partition of a nest that accesses it, and the other way round.

Where an index is one loop variable, the axis of the fragment is partitioned as the loop. Where it is a sum of parts of
loop variables and a constant (index_parts.py), the places of the axis that a part reaches are partitioned as the part's
places of the loop. A thread holds all elements that differ only in other places of the axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tilecore.ir.fragments import REGISTER, THREAD, Digit, FragmentLayout, packed
from tilecore.lowering.simt.analysis.index_parts import (
    SERIAL,
    IndexParts,
    Part,
    names_each_iteration,
    parts_of_access,
    reaches_all,
)
from tilecore.lowering.simt.analysis.parallel_nests import Access, Nest

MOST_COPIES = 64  # registers of a thread for a fragment of which several threads hold copies


def is_plain(nest: Nest, access: Access) -> bool:
    """Does the access run over the whole buffer, one loop along each axis?"""
    loop_of_axis = nest.matched(access)
    if loop_of_axis is None:
        return False
    sizes = [1 if loop is None else nest.extents[loop] for loop in loop_of_axis]
    return sizes == [int(s) for s in access.buffer.shape]


def following(nest: Nest, access: Access, partition: FragmentLayout) -> FragmentLayout | None:
    """The fragment layout implied by the nest's partition: each thread holds the elements that its iterations access.

    None where an index is no sum of parts of loop variables, where its constant moves elements to other threads, or
    where several iterations write one element.
    """
    if is_plain(nest, access):
        loops = nest.matched(access) or []
        return widened(
            partition.project([loop for loop in loops if loop is not None]), [loop is not None for loop in loops]
        )
    indices = parts_of_access(nest, access)
    if indices is None or (access.writes and not names_each_iteration(nest, indices)):
        return None
    shape = [int(s) for s in access.buffer.shape]
    digits: list[Digit] = []
    for axis, (index, size) in reversed(list(enumerate(zip(indices, shape, strict=True)))):  # rows of registers
        pieces = _thread_digits_of(index, axis, partition)
        registers = prod(d.extent for d in digits if d.where == REGISTER)
        filled = None if pieces is None else _filled(pieces, axis, size, registers)
        if filled is None:
            return None
        digits += filled
    return _layout(shape, partition.threads, digits)


def why_not_following(nest: Nest, access: Access) -> str:
    """The reason why ``following`` gives no layout for the access."""
    indices = parts_of_access(nest, access)
    text = f"{access.buffer.name}[{', '.join(str(index) for index in access.indices)}]"
    if indices is None:
        return f"an index of {text} is no sum of parts of the loop variables"
    if access.writes and not names_each_iteration(nest, indices):
        return f"several iterations write to {text}"
    return f"{text} is an element of another thread in part of the iterations"


def assigned(nest: Nest, access: Access, partition: FragmentLayout) -> FragmentLayout | None:
    """The layout that a fragment without one gets from an access that is not plain; None where it reaches only a part
    of the fragment, or where each thread would hold most of it."""
    indices = parts_of_access(nest, access)
    if indices is None or not reaches_all(indices, [int(s) for s in access.buffer.shape]):
        return None
    layout = following(nest, access, partition)
    if layout is None or (layout.is_replicated and layout.registers > MOST_COPIES):
        return None
    return layout


def partition_along(nest: Nest, access: Access, layout: FragmentLayout) -> FragmentLayout | None:
    """The partition of a nest in which each thread executes the iterations whose element of the fragment it holds.

    None where the indices do not determine the iteration, or where no thread holds what an iteration accesses.
    """
    indices = parts_of_access(nest, access)
    if indices is None or not names_each_iteration(nest, indices):
        return None
    extents = [int(e) for e in nest.extents if e is not None]
    digits: list[Digit] = []
    for axis, index in enumerate(indices):
        of_axis = _digits_of_loops(index, layout.of_axis(axis), extents)
        if of_axis is None:
            return None
        digits += of_axis
    return _layout(extents, layout.threads, packed(digits))


def _thread_digits_of(index: IndexParts, axis: int, partition: FragmentLayout) -> list[Digit] | None:
    """The digits of an axis that go to threads, by the partition of the loops in its index, the lowest place first."""
    pieces = []
    for number, part in enumerate(index.parts):
        if part.loop == SERIAL:
            continue
        is_last = number + 1 == len(index.parts) and part.loop_end >= partition.shape[part.loop]
        if _cuts_digits(part, partition):
            return None
        for digit in partition.of_axis(part.loop):
            if digit.where != THREAD:
                continue
            low, high = max(digit.place, part.place), min(digit.end, part.loop_end)
            if is_last and digit.end > high and index.shows(part, _place(part, digit.end)):
                high = digit.end  # iterations past the end of the loop do not exist
            if low >= high:
                continue
            piece = _piece(digit, low, high, part.loop_end)
            place = _place(part, low)
            if piece is None or not index.shows(part, place * piece.extent):
                return None
            pieces.append(piece._replace(axis=axis, place=place))
    return pieces


def _cuts_digits(part: Part, partition: FragmentLayout) -> bool:
    """Does the part depend on digits of the loop below it that go to threads, as ``i // 3`` does on ``i % 2``?"""
    digits = partition.of_axis(part.loop)
    cuts = {part.place, min(part.loop_end, partition.shape[part.loop])} - {partition.shape[part.loop]}
    crossed = any(d.place < cut < d.end and cut % d.place for d in digits for cut in cuts)
    return crossed and any(d.where == THREAD for d in digits)


def _digits_of_loops(index: IndexParts, digits: Sequence[Digit], extents: Sequence[int]) -> list[Digit] | None:
    """The digits of an axis of a layout as digits of the loops in its index; None where a thread's index depends on a
    place of the axis that no loop determines."""
    threads = {d: d.extent for d in digits if d.where == THREAD}  # each with the extent that no loop determines yet
    pieces = []
    for number, part in enumerate(index.parts):
        if part.loop == SERIAL:
            continue
        end = part.end
        if number + 1 == len(index.parts) and part.loop_end >= extents[part.loop]:
            end = max([end, *(d.end for d in threads)])  # iterations past the end of the loop do not exist
        for digit in digits:
            low, high = max(digit.place, part.stride), min(digit.end, end)
            if low >= high:
                continue
            piece = _piece(digit, low, high, end)
            if piece is None or (digit in threads and not index.shows(part, low * piece.extent)):
                return None
            pieces.append(piece._replace(axis=part.loop, place=part.place * (low // part.stride)))
            if digit in threads:
                threads[digit] //= piece.extent
    return None if any(extent > 1 for extent in threads.values()) else pieces


def _piece(digit: Digit, low: int, high: int, end: int) -> Digit | None:
    """The digit's places from ``low`` up to ``high``; None where they are no digit. end: the end of what the loop
    determines, past which a register digit may reach."""
    if low % digit.place or digit.end % low:
        return None
    stride = digit.stride * (low // digit.place)
    if high % low == 0 and digit.end % high == 0:
        return digit._replace(place=low, extent=high // low, stride=stride)
    if digit.where == REGISTER and high == end:
        return digit._replace(place=low, extent=-(-high // low), stride=stride)
    return None


def _place(part: Part, place: int) -> int:
    """The place in the index of a place of the part's loop."""
    return part.stride * place // part.place


def _filled(pieces: Sequence[Digit], axis: int, size: int, registers: int) -> list[Digit] | None:
    """The digits of a whole axis: registers of the thread at all places that ``pieces`` leave out."""
    digits, at = [], 1
    for piece in [*sorted(pieces, key=lambda d: d.place), None]:
        place = max(at, -(-size // at) * at) if piece is None else piece.place
        if place % at:
            return None
        if place > at:
            digits.append(Digit(axis, at, place // at, REGISTER, registers))
            registers *= place // at
        if piece is not None:
            digits.append(piece)
            at = piece.end
    return digits


def _layout(shape: Sequence[int], threads: int, digits: Sequence[Any]) -> FragmentLayout | None:
    try:
        return FragmentLayout(tuple(shape), threads, tuple(digits))
    except ValueError:  # digits that leave a gap, or two digits for one part of the thread's index
        return None


def widened(layout: FragmentLayout, present: Sequence[bool]) -> FragmentLayout:
    """The layout with an axis of one element inserted wherever ``present`` is False."""
    kept_axes = [axis for axis, is_present in enumerate(present) if is_present]
    shape = [1] * len(present)
    for old_axis, axis in enumerate(kept_axes):
        shape[axis] = layout.shape[old_axis]
    digits = tuple(d._replace(axis=kept_axes[d.axis]) for d in layout.digits)
    return FragmentLayout(tuple(shape), layout.threads, digits)


def reordered(layout: FragmentLayout, order: Sequence[int | None]) -> FragmentLayout:
    """The partition of a nest whose loop n runs along axis ``order[n]`` of a fragment with this layout; None: the loop
    has one iteration and runs along no axis."""
    axes = [axis for axis in order if axis is not None]
    return widened(layout.project(axes), [axis is not None for axis in order])
