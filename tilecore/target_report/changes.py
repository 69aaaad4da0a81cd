"""Searches for argument values near the given ones with which a target compiles a refused kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tilecore.dtypes import FACTS, nearest_types
from tilecore.errors import TilecoreError
from tilecore.target_report.refusals import Outcome

if TYPE_CHECKING:
    from tilecore.contract.records import Capabilities
    from tilecore.target_report.kernels import Kernel

MOST = 64  # attempts for one kernel and target
MOST_TOGETHER = 16  # halvings, where no argument alone is enough
SMALLEST = 16  # a side of a tile is not halved below this
NOT_BUILT = "not built"  # the user's own code refuses the arguments
FEW = 16  # numbers below are tried one by one, such as stages
WIDTHS = (8, 16, 32, 64, 128)  # tiles have sides that are multiples of these


Attempt = Callable[[dict[str, Any]], Outcome]


def changes_of(kernel: Kernel, capabilities: Capabilities, attempt: Attempt) -> list[str]:
    """``name=value`` for each argument that has a value with which the kernel compiles, the nearest one; where no
    argument has one alone, ``name=value, name=value`` for several at once.

    attempt: compiles with some arguments changed. Arguments without a default, such as the sizes of a problem, stay.
    """
    candidates = {name: _others(value, capabilities) for name, value in kernel.choices.items()}
    compiling: dict[str, Any] = {}
    tried = 0
    while candidates and tried < MOST:  # in turns, so that each argument gets attempts
        for name in list(candidates):
            other = next(candidates[name], None)
            if other is None:
                del candidates[name]
                continue
            tried += 1
            if not _refusals(attempt, {name: other}):
                compiling[name] = other
                del candidates[name]
    if not compiling:
        together = _halve_several(kernel, attempt)
        return [", ".join(f"{name}={value!r}" for name, value in together.items())] if together else []
    return [f"{name}={compiling[name]!r}" for name in kernel.choices if name in compiling]


def _halve_several(kernel: Kernel, attempt: Attempt) -> dict[str, Any]:
    """Halves the largest of the numbers that a refusal depends on, until the kernel compiles. Empty where none do."""
    before = _refusals(attempt, {})
    numbers = {name: value for name, value in kernel.choices.items() if isinstance(value, int) and value > 1}
    relevant = {n: v for n, v in numbers.items() if _refusals(attempt, {n: v // 2}) not in (before, [NOT_BUILT])}
    changes: dict[str, Any] = {}
    for _ in range(MOST_TOGETHER):
        if not relevant:
            return {}
        name = max(relevant, key=lambda candidate: relevant[candidate])
        if relevant[name] <= SMALLEST:
            return {}
        changes[name] = relevant[name] = relevant[name] // 2
        if not _refusals(attempt, changes):
            return changes
    return {}


def _refusals(attempt: Attempt, changes: dict[str, Any]) -> list[str]:
    """The messages of the refusals with other arguments; NOT_BUILT where the user's own code refuses the arguments."""
    try:
        return [error.message for error in attempt(changes).refusals]
    except (TilecoreError, ValueError, TypeError, AssertionError, ZeroDivisionError):
        return [NOT_BUILT]


def _others(value: Any, capabilities: Capabilities) -> Iterator[Any]:
    """Other values of an argument: nearest first."""
    if isinstance(value, str):
        yield from nearest_types(value, capabilities.dtypes or FACTS, 4)
        return
    near = {value // 2, value // 4, value // 8, value * 2, value * 4}
    if value < FEW:
        near |= set(range(1, value))
    for width in WIDTHS:
        near |= {value // width * width, -(-value // width) * width}
    yield from sorted((n for n in near if n > 0 and n != value), key=lambda n: (max(n, value) / min(n, value), n))
