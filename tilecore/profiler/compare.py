"""Compares tensors, and reports where they differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilecore.profiler.arrays import as_numpy

_CHUNK = 1 << 20
_SHOWN = 4


@dataclass
class Comparison:
    """How two tensors of one shape differ.

    total, wrong: numbers of elements. worst_absolute, worst_relative: among finite elements, relative to expected ones
    that are not 0.
    examples: (index, value, expected value) of the first wrong ones. nans: elements that are NaN on one side only.
    """

    shape: tuple[int, ...]
    total: int
    wrong: int = 0
    worst_absolute: float = 0.0
    worst_relative: float = 0.0
    worst_index: tuple[int, ...] = ()
    nans: int = 0
    examples: list[tuple[tuple[int, ...], Any, Any]] = field(default_factory=list)

    def index(self, flat: int) -> tuple[int, ...]:
        """The place of an element that is counted row by row."""
        place = []
        for size in reversed(self.shape):
            flat, rest = divmod(flat, size)
            place.append(rest)
        return tuple(reversed(place))

    def within(self, ratio: float) -> bool:
        """Is at most this part of the elements wrong?"""
        return self.wrong <= int(self.total * ratio)

    def report(self, ratio: float, base_name: str = "actual", ref_name: str = "expected") -> str:
        """What is wrong, in words."""
        share = 100 * self.wrong / max(self.total, 1)
        lines = [
            f"{self.wrong} of {self.total} elements differ ({share:.3g} %, {100 * ratio:.3g} % allowed)",
            f"greatest difference: {self.worst_absolute:.6g} at {self.worst_index}, relative {self.worst_relative:.6g}",
        ]
        if self.nans:
            lines.append(f"NaN on one side only: {self.nans} elements")
        for index, value, expected in self.examples:
            lines.append(f"  at {index}: {base_name} {value}, {ref_name} {expected}")
        if self.wrong > len(self.examples):
            lines.append("  ...")
        return "\n".join(lines)


@dataclass(frozen=True)
class Tolerance:
    """An element is right where ``|actual - expected| <= atol + rtol * |expected|`` or both are equal.

    Infinities must be equal; NaNs match NaNs when equal_nan.
    """

    rtol: float
    atol: float
    equal_nan: bool = True


def compare(actual: Any, expected: Any, tolerance: Tolerance) -> Comparison:
    """Compare two tensors of one shape, in float64, in pieces, so that large tensors need little memory."""
    import numpy

    left, right = as_numpy(actual), as_numpy(expected)
    result = Comparison(left.shape, int(left.size))
    left, right = left.reshape(-1), right.reshape(-1)
    with numpy.errstate(all="ignore"):
        for start in range(0, left.size, _CHUNK):
            _compare_piece(result, left[start : start + _CHUNK], right[start : start + _CHUNK], start, tolerance)
    return result


def _compare_piece(result: Comparison, left: Any, right: Any, start: int, tolerance: Tolerance) -> None:
    import numpy

    a, b = left.astype(numpy.float64), right.astype(numpy.float64)
    # wide integers do not fit in float64, so equal ones are found before
    same = left == right if left.dtype == right.dtype else a == b
    difference = numpy.abs(a - b)
    finite = numpy.isfinite(a) & numpy.isfinite(b)
    allowed = tolerance.atol + tolerance.rtol * numpy.abs(b)
    fine = same | (finite & (difference <= allowed) & (allowed > 0))
    lone = numpy.isnan(a) != numpy.isnan(b)
    if tolerance.equal_nan:
        fine |= numpy.isnan(a) & numpy.isnan(b)
    result.nans += int(lone.sum())
    difference = numpy.where(finite & ~same, difference, 0.0)
    place = int(difference.argmax())
    if difference[place] > result.worst_absolute:
        result.worst_absolute = float(difference[place])
        result.worst_index = result.index(start + place)
    relative = numpy.where(finite & (b != 0), difference / numpy.abs(b), 0.0)
    result.worst_relative = max(result.worst_relative, float(relative.max()))
    wrong = numpy.flatnonzero(~fine)
    result.wrong += len(wrong)
    for position in wrong[: _SHOWN - len(result.examples)]:
        result.examples.append((result.index(start + int(position)), left[position], right[position]))


def assert_close(
    actual: Any,
    expected: Any,
    tolerance: Tolerance,
    max_mismatched_ratio: float = 0.0,
    subject: str = "the result",
    base_name: str = "actual",
    ref_name: str = "expected",
) -> Comparison:
    """Raises AssertionError with a report unless the shapes agree and all but the allowed part of the elements do."""
    shapes = tuple(getattr(actual, "shape", ())), tuple(getattr(expected, "shape", ()))
    if shapes[0] != shapes[1]:
        raise AssertionError(f"{subject} has shape {shapes[0]}, expected {shapes[1]}")
    mismatch = compare(actual, expected, tolerance)
    if not mismatch.within(max_mismatched_ratio):
        raise AssertionError(f"{subject}: {mismatch.report(max_mismatched_ratio, base_name, ref_name)}")
    return mismatch
