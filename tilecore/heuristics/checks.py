"""Checks the arguments of the functions that propose configurations."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tilecore.compilation_cache.key import plain_number
from tilecore.dtypes import dtype as DType
from tilecore.errors import ArgumentError, LimitError, TilecoreError
from tilecore.heuristics.chip import Chip

LARGEST_SIZE = 2**63 - 1


def integer_of(value: Any) -> int | None:
    """The value as Python's int, if it is an integer of any type, such as numpy's; None for others, and for a bool."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        return None
    try:
        return operator.index(value)
    except TypeError:  # an array of several elements
        return None


def shown(value: Any) -> str:
    """The value as an error shows it, cut short."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no integers of thousands of digits
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else type(value).__name__
    return text if len(text) <= 80 else text[:77] + "..."


def checked_sizes(**sizes: Any) -> list[int]:
    """The sizes as Python's integers. Raises ArgumentError unless all are integers of at least 1."""
    checked = []
    for name, size in sizes.items():
        number = integer_of(size)
        if number is None or not 1 <= number <= LARGEST_SIZE:
            raise ArgumentError(
                f"{name} is not a size that configurations can be proposed for",
                found=shown(size),
                expected="an integer of at least 1; for a size that is not known before the call, a usual one"
                if number is None or number < 1
                else "an integer below 2**63",
            )
        checked.append(number)
    return checked


def checked_count(count: Any) -> int:
    """The count as Python's integer. Raises ArgumentError unless it is at least 1."""
    number = integer_of(count)
    if number is None or number < 1:
        raise ArgumentError(
            "count is not a number of proposals", found=shown(count), expected="an integer of at least 1"
        )
    return number


def checked_flag(name: str, value: Any) -> bool:
    """The flag as Python's. Raises ArgumentError unless it is True or False, of Python or numpy, or 1 or 0."""
    flag = plain_number(value)
    if not isinstance(flag, int) or flag not in (0, 1):
        raise ArgumentError(f"{name} is a flag", found=shown(value), expected="True or False")
    return bool(flag)


def check_some_fit(tilings: Sequence[Any], work: str, chip: Chip) -> None:
    """Raises LimitError if there is no tiling."""
    if not tilings:
        raise LimitError(
            f"no tiles for {work} fit into shared memory and registers",
            found=f"{chip.block_shared} bytes of shared memory of a block on {chip.target.brief()}",
            hint="a kernel that divides the columns of a tile, too, needs less",
        )


def element_type(dtype: Any, chip: Chip) -> str:
    """Its name. Raises ArgumentError where it is unknown, or the target does not have it."""
    try:
        name = str(DType(dtype))
    except TilecoreError as error:
        raise ArgumentError(f"there is no element type {dtype!r}", expected=error.expected, hint=error.hint) from None
    if chip.dtypes and name not in chip.dtypes:
        raise ArgumentError(
            f"the target {chip.target.brief()} has no {name}",
            expected="one of " + ", ".join(sorted(chip.dtypes)),
            hint="dtype says the type of the elements; float16 unless given",
        )
    return name
