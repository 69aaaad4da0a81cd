"""Runs a family's passes: times each, verifies the IR in between, and dumps it when asked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilecore import debug
from tilecore.errors import LoweringError, TilecoreError
from tilecore.ir.dialect_calls import refuse_dialects
from tilecore.ir.verify import verify
from tilecore.lowering.passes import Gap, Pass, PassEnv, edited

if TYPE_CHECKING:
    from tilecore.ir.nodes import PrimFunc
    from tilecore.plugins.backend import Backend


def family_steps(name: str) -> Sequence[Pass | Gap]:
    """The passes of a family of targets."""
    if name == "loops":
        from tilecore.lowering.loops.family import STEPS

        return STEPS
    if name == "simt":
        from tilecore.lowering.simt.family import STEPS as SIMT_STEPS

        return SIMT_STEPS
    if name == "none":
        from tilecore.lowering.outline_kernels import OUTLINE_KERNELS

        return Gap("all"), OUTLINE_KERNELS
    raise LoweringError(f"there is no family of passes called {name!r}", expected='"loops", "simt" or "none"')


def lower(func: PrimFunc, backend: Backend, env: PassEnv) -> Any:
    """Tile IR to target IR, by the backend's edited pipeline. Timings go to ``env.report["passes"]``."""
    steps = edited(family_steps(backend.lowering.family), backend.lowering.edits, backend.package)
    check = debug.check_enabled()
    if check:
        verify(func, "the front end")
    takes_ranges = backend.lowering.family == "simt"
    refuse_dialects(func.body, f"target {env.target}", env.target.kind, takes_ranges)
    current: Any = func
    for step in steps:
        start = time.perf_counter()
        try:
            current = step.run(current, env)
        except TilecoreError:
            raise
        except Exception as error:
            raise LoweringError(
                f"pass {step.name} failed on {func.attrs['global_symbol']}: {type(error).__name__}: {error}",
                hint="TILECORE_DEBUG=5 shows the IR before it; please report it",
            ) from error
        env.note("passes", {"name": step.name, "ms": round((time.perf_counter() - start) * 1e3, 3)})
        if check:
            verify(current, f"pass {step.name}")
        debug.after_pass(step.name, current)
    return current
