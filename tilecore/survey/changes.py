"""Nearest legal changes that are tried out: other values of one argument, with which the target takes the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tilecore.contract.records import Capabilities
from tilecore.dtypes import FACTS, nearest_types
from tilecore.errors import TilecoreError
from tilecore.survey.kernels import Kernel
from tilecore.survey.refusals import Outcome

MOST = 64  # compilations for one kernel and target
MOST_TOGETHER = 16  # halvings, where no argument alone is enough
SMALLEST = 16  # a side of a tile is not halved below this
NOT_MADE = "not made"
FEW = 16  # numbers below are tried one by one, such as stages
WIDTHS = (8, 16, 32, 64, 128)  # tiles have sides that are multiples of these


Attempt = Callable[[dict[str, Any]], Outcome]


def changes_of(kernel: Kernel, known: Capabilities, attempt: Attempt) -> list[str]:
    """``name=value`` for each argument that has a value with which the kernel compiles, the nearest one; where no
    argument alone has one, ``name=value, name=value`` for several.

    attempt: compiles with some arguments changed. Arguments without a default, such as the sizes of a problem, stay.
    """
    left: dict[str, Iterator[Any]] = {name: _others(value, known) for name, value in kernel.choices.items()}
    found: dict[str, Any] = {}
    tried = 0
    while left and tried < MOST:  # in turns, so that every argument has its chance
        for name in list(left):
            other = next(left[name], None)
            if other is None:
                del left[name]
                continue
            tried += 1
            if not _refusals(attempt, {name: other}):
                found[name] = other
                del left[name]
    if not found:
        together = _together(kernel, attempt)
        return [", ".join(f"{name}={value!r}" for name, value in together.items())] if together else []
    return [f"{name}={found[name]!r}" for name in kernel.choices if name in found]


def _together(kernel: Kernel, attempt: Attempt) -> dict[str, Any]:
    """Several numbers halved, always the largest of those that a refusal depends on, until the kernel compiles."""
    before = _refusals(attempt, {})
    numbers = {name: value for name, value in kernel.choices.items() if isinstance(value, int) and value > 1}
    at_work = {n: v for n, v in numbers.items() if _refusals(attempt, {n: v // 2}) not in (before, [NOT_MADE])}
    changes: dict[str, Any] = {}
    for _ in range(MOST_TOGETHER):
        if not at_work:
            return {}
        name = max(at_work, key=lambda one: at_work[one])
        if at_work[name] <= SMALLEST:
            return {}
        changes[name] = at_work[name] = at_work[name] // 2
        if not _refusals(attempt, changes):
            return changes
    return {}


def _refusals(attempt: Attempt, changes: dict[str, Any]) -> list[str]:
    """What is refused with other arguments; NOT_MADE where the user's own code refuses them."""
    try:
        return [error.message for error in attempt(changes).refusals]
    except (TilecoreError, ValueError, TypeError, AssertionError, ZeroDivisionError):
        return [NOT_MADE]


def _others(value: Any, known: Capabilities) -> Iterator[Any]:
    """Other values of an argument, the nearest first."""
    if isinstance(value, str):
        yield from nearest_types(value, known.dtypes or FACTS, 4)
        return
    candidates = {value // 2, value // 4, value // 8, value * 2, value * 4}
    if value < FEW:
        candidates |= set(range(1, value))
    for width in WIDTHS:
        candidates |= {value // width * width, -(-value // width) * width}
    yield from sorted((n for n in candidates if n > 0 and n != value), key=lambda n: (max(n, value) / min(n, value), n))
