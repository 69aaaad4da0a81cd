"""Checks lowered kernels for races: two accesses of shared memory by different threads, one a write, without order."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LoweringError
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, IRModule, PrimFunc
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.visit import collect
from tilecore.lowering.race_check.effects import Arrival, MemoryBarrierWait, effects_of
from tilecore.lowering.race_check.program import Program
from tilecore.lowering.race_check.records import Conflict, Site
from tilecore.lowering.race_check.walk import Walk

WARP = 32


def check_order(module: IRModule, warp: int = WARP) -> None:
    """Raises a LoweringError that names the first two accesses that race.

    module: kernels in thread IR. warp: the number of threads that a warp barrier synchronizes; 1: the target has no
    warp barriers.
    """
    for func in module.functions.values():
        if isinstance(func, PrimFunc) and FunctionAttr.SHARED in (func.attrs or {}):
            errors = conflicts_in(func, warp)
            if errors:
                raise errors[0]


def conflicts_in(func: PrimFunc, warp: int = WARP) -> list[LoweringError]:
    """The races in shared memory of one kernel, each pair of accesses once; [] if it provably has none.

    Kernels whose threads wait at barriers in memory, arrive at barriers without waiting, or run in roles, and those
    with shared buffers of sizes of the call, are not analyzed: the result is [].
    """
    if FunctionAttr.DYNAMIC_SHARED in func.attrs:
        return []
    program = Program(func)
    if not program.bytes or program.count == 1 or divides_barriers(func):
        return []
    errors: dict[tuple[int, int], LoweringError] = {}

    def report(conflict: Conflict) -> None:
        key = (conflict.earlier, conflict.later.index)
        if key not in errors:
            errors[key] = _error(program, walk.sites[conflict.earlier], conflict)

    walk = Walk(program, warp if warp > 1 else program.count, report)
    walk.run()
    return [*(_unknown(program, call) for call in walk.accesses.unknown), *errors.values()]


def divides_barriers(func: PrimFunc) -> bool:
    """Do some threads arrive where others wait (mbarriers, named barriers), or do threads run in roles?

    Only simulation checks such kernels.
    """
    if has_ranges(func.body):
        return True
    calls = collect(func.body, Call)
    return any(isinstance(e, (MemoryBarrierWait, Arrival)) for call in calls for e in effects_of(call, func) or ())


def _error(program: Program, earlier: Site, conflict: Conflict) -> LoweringError:
    later = conflict.later
    name = program.func.attrs["global_symbol"]
    first = f"the {earlier.description}{_location_text(earlier)}"
    second = f"the {later.description}{_location_text(later)}"
    reason = "may not have completed" if conflict.pending else "is by another thread, and no barrier is between them"
    return LoweringError(
        f"{name}: nothing orders {first} and {second}",
        location=location_of_span(later.span),
        found=f"both access byte {conflict.cell * program.cell} of shared memory; the first one {reason}",
        expected="two accesses, one of them a write, by the same thread, or with a barrier or a wait between them",
        hint="where iterations of one T.Parallel write the same element, let only one of them write it; "
        "otherwise please report it",
    )


def _location_text(site: Site) -> str:
    location = location_of_span(site.span)
    return f" ({location})" if location else ""


def _unknown(program: Program, call: Any) -> LoweringError:
    return LoweringError(
        f"{program.func.attrs['global_symbol']}: the effect of {op_name(call)} on shared memory is not described",
        location=location_of_span(getattr(call, "span", None)),
        found=f"a call of {op_name(call)} with an argument in shared memory",
        expected="a description of the call by the backend that emits it",
        hint="describe the call with tilecore.lowering.race_check.effects.describe_calls",
    )
