"""After lowering: is every pair of accesses of shared memory, by threads that differ, ordered by something?"""

from __future__ import annotations

from typing import Any

from tilecore.errors import LoweringError
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, IRModule, PrimFunc
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import has_ranges
from tilecore.ir.visit import collect
from tilecore.lowering.race_check.effects import Hear, effects_of
from tilecore.lowering.race_check.memory import Conflict, Site
from tilecore.lowering.race_check.program import Program
from tilecore.lowering.race_check.walk import Walk

WARP = 32


def check_order(module: IRModule, warp: int = WARP) -> None:
    """Raise a LoweringError that names the first two accesses that nothing orders. module: kernels in thread IR. warp:
    how many threads a warp barrier joins; 1: there are none."""
    for func in module.functions.values():
        if isinstance(func, PrimFunc) and "simt.shared" in (func.attrs or {}):
            found = conflicts_in(func, warp)
            if found:
                raise found[0]


def conflicts_in(func: PrimFunc, warp: int = WARP) -> list[LoweringError]:
    """The accesses of one kernel that nothing orders, each pair once; [] for a kernel that is proved to have none."""
    program = Program(func)
    if not program.bytes or program.count == 1 or hands_over_in_memory(func):
        return []
    found: dict[tuple[int, int], LoweringError] = {}

    def report(conflict: Conflict) -> None:
        key = (conflict.earlier, conflict.later.number)
        if key not in found:
            found[key] = _error(program, walk.sites[conflict.earlier], conflict)

    walk = Walk(program, warp if warp > 1 else program.count, report)
    walk.run()
    return [*(_unknown(program, call) for call in walk.accesses.unknown), *found.values()]


def hands_over_in_memory(func: PrimFunc) -> bool:
    """Whether threads wait at barriers in memory, or run in roles: such kernels are not proved, but only simulated."""
    if has_ranges(func.body):
        return True
    return any(isinstance(e, Hear) for call in collect(func.body, Call) for e in effects_of(call, func) or ())


def _error(program: Program, earlier: Site, conflict: Conflict) -> LoweringError:
    later = conflict.later
    name = program.func.attrs["global_symbol"]
    first = f"the {earlier.what}{_place(earlier)}"
    second = f"the {later.what}{_place(later)}"
    what = "has not been waited for" if conflict.pending else "is by another thread, and no barrier stands between"
    return LoweringError(
        f"{name}: nothing orders {first} and {second}",
        location=location_of_span(later.span),
        found=f"both touch byte {conflict.cell * program.cell} of shared memory; the first {what}",
        expected="a barrier, a wait or one and the same thread between two accesses of which one is a write",
        hint="where iterations of one T.Parallel write the same element, let one of them do it; else please report it",
    )


def _place(site: Site) -> str:
    location = location_of_span(site.span)
    return f" ({location})" if location else ""


def _unknown(program: Program, call: Any) -> LoweringError:
    return LoweringError(
        f"{program.func.attrs['global_symbol']}: what {op_name(call)} does to shared memory is not described",
        hint="tilecore.lowering.race_check.effects.describe_calls says it",
    )
