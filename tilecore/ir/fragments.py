"""Defines layouts of fragments: which threads hold an element of a tile, and in which register (docs/simt.md).

A layout is a mixed-radix decomposition of the indices into digits. A digit is ``index // place % extent`` of the index
along one axis, where ``place`` is its place value. It contributes ``digit * stride`` to the thread index or to the
register index. Threads whose indices differ only in parts that no digit determines hold copies of the same elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd, prod
from typing import Any, NamedTuple

THREAD, REGISTER = "thread", "register"


class Digit(NamedTuple):
    """The digit ``index[axis] // place % extent`` contributes ``digit * stride`` to the index of kind ``where``."""

    axis: int
    place: int
    extent: int
    where: str
    stride: int

    @property
    def end(self) -> int:
        """The place value of the next digit of the axis."""
        return self.place * self.extent


class Free(NamedTuple):
    """A part of the thread index that selects a copy: ``thread // stride % extent``."""

    stride: int
    extent: int


@dataclass(frozen=True)
class FragmentLayout:
    """A tile of ``shape`` over ``threads`` threads.

    The digits of an axis follow one another without gaps from place 1 on and cover it; the last may reach past its end.
    Register digits cover the register indices without gaps; thread digits do not overlap.
    """

    shape: tuple[int, ...]
    threads: int
    digits: tuple[Digit, ...]

    def __post_init__(self) -> None:
        digits = tuple(sorted(d for d in self.digits if d.extent > 1))
        object.__setattr__(self, "digits", _merged(digits))
        for axis, size in enumerate(self.shape):
            self._check_axis(axis, size)
        _check_targets([d for d in self.digits if d.where == REGISTER], None)
        _check_targets([d for d in self.digits if d.where == THREAD], self.threads)

    def _check_axis(self, axis: int, size: int) -> None:
        at = 1
        for digit in self.of_axis(axis):
            if digit.place != at:
                raise ValueError(f"axis {axis}: a digit starts at place {digit.place} instead of {at}")
            at = digit.end
        if at < size:
            raise ValueError(f"axis {axis} has {size} elements, and its digits count to {at}")

    def of_axis(self, axis: int) -> list[Digit]:
        """The digits of an axis, lowest place first."""
        return [d for d in self.digits if d.axis == axis]

    # -- sizes ------------------------------------------------------------------------------------------------

    @cached_property
    def registers(self) -> int:
        """The number of registers of a thread for elements of the tile."""
        return prod(d.extent for d in self.digits if d.where == REGISTER)

    @cached_property
    def free(self) -> tuple[Free, ...]:
        """The parts of the thread index that select copies, the smallest stride first."""
        free_digits, at = [], 1
        for digit in sorted((d for d in self.digits if d.where == THREAD), key=lambda d: d.stride):
            if digit.stride > at:
                free_digits.append(Free(at, digit.stride // at))
            at = digit.stride * digit.extent
        if at < self.threads:
            free_digits.append(Free(at, -(-self.threads // at)))
        return tuple(free_digits)

    @property
    def is_replicated(self) -> bool:
        return bool(self.free)

    @cached_property
    def is_exact(self) -> bool:
        """No digit reaches past the end of its axis."""
        return all(prod(d.extent for d in self.of_axis(axis)) == size for axis, size in enumerate(self.shape))

    # -- mappings ---------------------------------------------------------------------------------------------

    def thread(self, indices: Sequence[Any]) -> Any:
        """The index of the first thread that holds the element (integers or expressions)."""
        return self._target(indices, THREAD)

    def register(self, indices: Sequence[Any]) -> Any:
        """The index of the register that holds the element."""
        return self._target(indices, REGISTER)

    def _target(self, indices: Sequence[Any], where: str) -> Any:
        total: Any = 0
        for d in self.digits:
            if d.where == where:
                value = indices[d.axis] // d.place if d.place > 1 else indices[d.axis]
                if d is not self.of_axis(d.axis)[-1]:  # a later digit may make the value larger than the extent
                    value = value % d.extent
                total = total + (value * d.stride if d.stride > 1 else value)
        return total

    def indices(self, thread: Any, register: Any) -> list[Any]:
        """The element that a thread holds in a register. ``register``: an index, or the values of
        ``register_digits``."""
        values = iter(register) if isinstance(register, (list, tuple)) else None
        places: list[Any] = [0] * len(self.shape)
        chosen = dict(zip(self.register_digits, values, strict=True)) if values is not None else {}
        for d in self.digits:
            if d in chosen:
                value = chosen[d]
            else:
                value = _part(register if d.where == REGISTER else thread, d.stride, d.extent, self._size_of_target(d))
            places[d.axis] = places[d.axis] + (value * d.place if d.place > 1 else value)
        return places

    def _size_of_target(self, digit: Digit) -> int:
        return self.threads if digit.where == THREAD else self.registers

    @cached_property
    def register_digits(self) -> tuple[Digit, ...]:
        """The digits that go to registers, the largest stride first: the loops over a thread's elements."""
        return tuple(sorted((d for d in self.digits if d.where == REGISTER), key=lambda d: -d.stride))

    # -- derived layouts and relations --------------------------------------------------------------------------

    def project(self, axes: Sequence[int]) -> FragmentLayout:
        """The layout of a tile with only these axes, in this order, as of the result of a reduction over the others.

        Every thread that holds an element of this layout holds the element with the same remaining indices there.
        """
        order = {axis: position for position, axis in enumerate(axes)}
        projected = [d._replace(axis=order[d.axis]) for d in self.digits if d.axis in order]
        return FragmentLayout(tuple(self.shape[a] for a in axes), self.threads, packed(projected))

    def covers(self, needed: FragmentLayout) -> bool:
        """Does every thread hold in this layout all elements that it holds in ``needed``?"""
        if self.shape != needed.shape:
            return False
        digits = sorted(d for d in _refined(self, needed) if d.where == THREAD)
        others = {d for d in _refined(needed, self) if d.where == THREAD}
        return all(d in others for d in digits)

    def has_in_place(self, needed: FragmentLayout) -> bool:
        """Does the layout cover ``needed``, with each needed element in a register that does not depend on the
        thread?"""
        registers = [d for d in _refined(self, needed) if d.where == REGISTER]
        threads = [d for d in _refined(needed, self) if d.where == THREAD]
        return self.covers(needed) and not any(
            r.axis == t.axis and r.place < t.end and t.place < r.end for r in registers for t in threads
        )

    def __str__(self) -> str:
        parts = [
            f"{'xyzuvw'[d.axis] if d.axis < 6 else d.axis}:{d.extent}@{d.place}->{d.where[0]}{d.stride}"
            for d in self.digits
        ]
        return f"{list(self.shape)} over {self.threads}: {' '.join(parts) or 'one element'}"


# -- making layouts --------------------------------------------------------------------------------------------------


def tiled(core: FragmentLayout, repeats: Sequence[tuple[int, int, str]], shape: Sequence[int]) -> FragmentLayout:
    """A layout of ``shape`` that repeats the layout ``core``: (axis, times, THREAD or REGISTER), innermost first.

    Repetitions over registers use further registers, and repetitions over threads use further threads.
    """
    digits = list(core.digits)
    sizes = list(core.shape)
    next_of = {THREAD: core.threads, REGISTER: core.registers}
    for axis, times, where in repeats:
        digits.append(Digit(axis, sizes[axis], times, where, next_of[where]))
        sizes[axis] *= times
        next_of[where] *= times
    return FragmentLayout(tuple(shape), next_of[THREAD], tuple(digits))


def spread(
    shape: Sequence[int],
    threads: int,
    vector: int = 1,
    fastest: int | None = None,
    warp: int = 0,
    exact: bool = False,
) -> FragmentLayout:
    """The layout of a tile that is partitioned over all threads.

    Each thread gets ``vector`` neighbours along the axis ``fastest`` (default: the last axis). Consecutive threads
    follow along this axis, then along the other axes from the last to the first. The remaining elements go to further
    registers. warp: the size of a warp; if all threads together cover the axis ``fastest`` several times, the elements
    of each warp are contiguous along it. exact: no digit reaches past the end of its axis, so that the tile can be
    viewed with another shape; further threads hold copies instead.
    """
    axes = list(range(len(shape)))[::-1]
    if fastest is not None:
        axes = [fastest, *(a for a in axes if a != fastest)]
    places, digits = [1] * len(shape), []
    registers, used = 1, 1

    def put(axis: int, extent: int, where: str, stride: int) -> None:
        if extent > 1:
            digits.append(Digit(axis, places[axis], extent, where, stride))
            places[axis] *= extent

    if axes and vector > 1:
        put(axes[0], vector, REGISTER, 1)
        registers = vector
    if axes and warp and threads % warp == 0 and shape[axes[0]] % (vector * threads) == 0:
        put(axes[0], warp, THREAD, 1)
        rounds = shape[axes[0]] // (vector * threads)
        put(axes[0], rounds, REGISTER, registers)
        put(axes[0], threads // warp, THREAD, warp)
        registers, used = registers * rounds, threads
    for axis in axes:
        remaining = -(-shape[axis] // places[axis])
        thread_count = _divisor(threads // used, remaining, exact)
        put(axis, thread_count, THREAD, used)
        used *= thread_count
    for axis in axes:
        remaining = -(-shape[axis] // places[axis])
        put(axis, remaining, REGISTER, registers)
        registers *= max(1, remaining)
    return FragmentLayout(tuple(shape), threads, tuple(digits))


def _divisor(room: int, remaining: int, exact: bool) -> int:
    """The number of threads along an axis with ``remaining`` elements: the largest divisor of ``room`` that leaves at
    most a quarter of the covered positions empty, or none if ``exact``."""
    fits = [
        d
        for d in range(1, min(room, 2 * remaining) + 1)
        if room % d == 0 and d * -(-remaining // d) * 3 <= (3 if exact else 4) * remaining
    ]
    return max(fits)


# -- digits ----------------------------------------------------------------------------------------------------------


def _part(index: Any, stride: int, extent: int, size: int) -> Any:
    value = index // stride if stride > 1 else index
    return value % extent if stride * extent < size else value


def _merged(digits: Sequence[Digit]) -> tuple[Digit, ...]:
    """The digits, with those merged that are adjacent both in the index and in the thread or register index."""
    merged: list[Digit] = []
    for d in digits:
        last = merged[-1] if merged else None
        if (
            last is not None
            and (last.axis, last.where) == (d.axis, d.where)
            and last.end == d.place
            and last.stride * last.extent == d.stride
        ):
            merged[-1] = last._replace(extent=last.extent * d.extent)
        else:
            merged.append(d)
    return tuple(merged)


def packed(digits: Iterable[Digit]) -> tuple[Digit, ...]:
    """The digits with contiguous register strides, in the same order."""
    packed, at = [], 1
    for d in sorted(digits, key=lambda d: (d.where != REGISTER, d.stride)):
        if d.where == REGISTER:
            packed.append(d._replace(stride=at))
            at *= d.extent
        else:
            packed.append(d)
    return tuple(packed)


def _check_targets(digits: Sequence[Digit], room: int | None) -> None:
    """Checks that digits do not overlap, that registers have no gaps, and that threads stay below ``room``."""
    at = 1
    for d in sorted(digits, key=lambda d: d.stride):
        if d.stride < at or d.stride % at or (room is None and d.stride != at):
            raise ValueError(f"digits overlap or leave a gap: stride {d.stride} after {at}")
        at = d.stride * d.extent
    if room is not None and at > room:
        raise ValueError(f"digits reach thread {at - 1} of {room}")


def _refined(layout: FragmentLayout, other: FragmentLayout) -> list[Digit]:
    """The digits of the layout, split at the place values of the other layout's digits."""
    refined = []
    for d in layout.digits:
        cuts = sorted({o.place for o in other.of_axis(d.axis) if d.place < o.place < d.end})
        at, stride = d.place, d.stride
        for cut in [*cuts, d.end]:
            if cut % at or gcd(cut, d.end) not in (cut, d.end):
                refined.append(d._replace(place=at, extent=d.end // at, stride=stride))
                break
            refined.append(d._replace(place=at, extent=cut // at, stride=stride))
            stride *= cut // at
            at = cut
    return [d for d in refined if d.extent > 1]


def resized(layout: FragmentLayout, threads: int) -> FragmentLayout:
    """The same digits over more threads: the additional threads hold copies."""
    return replace(layout, threads=threads)
