"""Checks the arguments of the functions that propose configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import ArgumentError, LimitError
from tilecore.heuristics.chip import Chip


def checked_sizes(**sizes: Any) -> None:
    """Raises ArgumentError unless all are integers of at least 1."""
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ArgumentError(
                f"{name} is not a size that configurations can be proposed for",
                found=repr(size),
                expected="an integer of at least 1; for a size that is not known before the call, a usual one",
            )


def check_count(count: Any) -> None:
    if not isinstance(count, int) or count < 1:
        raise ArgumentError(
            "count is not a number of proposals", found=repr(count), expected="an integer of at least 1"
        )


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
    except Exception as error:
        raise ArgumentError(f"there is no element type {dtype!r}", found=str(error)) from None
    if chip.dtypes and name not in chip.dtypes:
        raise ArgumentError(
            f"the target {chip.target.brief()} has no {name}",
            expected="one of " + ", ".join(sorted(chip.dtypes)),
            hint="dtype says the type of the elements; float16 unless given",
        )
    return name
