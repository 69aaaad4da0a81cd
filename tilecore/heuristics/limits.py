"""How several limits of a kernel's speed act together."""

from __future__ import annotations


def smooth_maximum(sharp: float, *seconds: float) -> float:
    """A maximum whose corners are round, a p-norm: limits that are close slow each other down.

    sharp: the exponent; the larger, the closer to the maximum.
    """
    largest = max(seconds)
    return float(largest * sum((value / largest) ** sharp for value in seconds) ** (1 / sharp))
