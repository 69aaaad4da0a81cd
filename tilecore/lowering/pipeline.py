"""Runs a family's passes: times each, verifies the IR in between, and dumps it when asked."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from tilecore import debug
from tilecore.contract.passes import ExtensionPoint, Pass, PassEnv
from tilecore.errors import LanguageError, LimitError, LoweringError, TilecoreError, UnsupportedError
from tilecore.interrupts import safe_point
from tilecore.ir.dialect_calls import refuse_dialects
from tilecore.ir.nodes import IRModule
from tilecore.ir.spans import location_of_span
from tilecore.ir.verify import Verifier
from tilecore.lowering.declared_state import leaves_of, needs_of
from tilecore.lowering.edits import edited, warn_of_moved
from tilecore.lowering.fewer_stages import shared_names
from tilecore.lowering.normalize.check_accumulations import check_accumulations
from tilecore.lowering.normalize.check_capabilities import check_capabilities
from tilecore.lowering.normalize.check_index_types import refuse_large_tensors, refuse_wide_integers
from tilecore.lowering.normalize.check_nests import check_nests
from tilecore.lowering.normalize.check_tile_sizes import refuse_large_tiles
from tilecore.lowering.normalize.contract_sums import CONTRACT_SUMS
from tilecore.lowering.state import UserFunction
from tilecore.plugins.checking import wrong
from tilecore.stage_times import stage

if TYPE_CHECKING:
    from tilecore.contract.records import Backend
    from tilecore.ir.nodes import PrimFunc


def family_steps(name: str) -> Sequence[Pass | ExtensionPoint]:
    """The passes and extension points of a family of targets."""
    if name == "loops":
        from tilecore.lowering.loops.pipeline import STEPS

        return STEPS
    if name == "simt":
        from tilecore.lowering.simt.pipeline import STEPS as SIMT_STEPS

        return SIMT_STEPS
    if name == "none":
        from tilecore.lowering.buffers.outline_kernels import OUTLINE_KERNELS

        return ExtensionPoint("all"), OUTLINE_KERNELS
    raise LoweringError(f"no family of passes is called {name!r}", expected='"loops", "simt" or "none"')


def passes_of(backend: Backend) -> list[Pass]:
    """The passes that a kernel goes through on a backend's targets, in order."""
    family = family_steps(backend.lowering.family)
    edits = edited(family, backend.lowering.edits, backend, backend.target.contract)
    return [CONTRACT_SUMS, *edits]  # every family begins with this pass, and backends cannot edit it


def check_kernels(result: Any, backend: Backend, where: str, reason: str) -> None:
    """Refuse a plugin whose passes have not made kernels of the function. where, reason: for the message."""
    if not isinstance(result, IRModule):
        message = f"its passes leave the function whole, and {reason}"
        raise wrong(backend, message, f"a PrimFunc {where}", "an IRModule, as outline_kernels makes it")


def lower(func: PrimFunc, backend: Backend, env: PassEnv) -> Any:
    """Lowers tile IR to target IR by the backend's edited pipeline. Timings go to ``env.report["passes"]``."""
    steps = passes_of(backend)
    warn_of_moved(steps, env.capabilities.features, backend)
    family = family_steps(backend.lowering.family)
    before_outline = list(takewhile(lambda step: step.name != "outline_kernels", family))
    behind_outline = family[len(before_outline) + 1 :]
    verifier = Verifier() if debug.check_enabled() else None
    if verifier:
        verifier.verify(func, "the front end")
    takes_ranges = backend.lowering.family == "simt"
    with stage("checks"):
        refuse_dialects(func.body, f"target {env.target.brief()}", env.target.kind, takes_ranges)
        check_nests(func)
        check_accumulations(func)
        check_capabilities(func, env)
        refuse_large_tensors(func, env)
        refuse_large_tiles(func, env)
    env.publish(UserFunction(func.span, shared_names(func)))
    declares_state = verifier is not None and backend.target.contract > 1  # passes of contract 1 declare none
    current: Any = func
    for position, step in enumerate(steps):
        safe_point()
        start = time.perf_counter()
        if isinstance(current, IRModule) and step in before_outline:
            result = f"pass {steps[position - 1].name}, before it, returned an IRModule"
            raise wrong(backend, f"pass {step.name} takes a whole function", result, "a PrimFunc")
        if step in behind_outline:
            check_kernels(current, backend, f"in front of pass {step.name}", f"pass {step.name} takes kernels")
        _begin(step, env, declares_state)
        try:
            with stage(step.name):
                current = step.run(current, env)
        except (LanguageError, LimitError, UnsupportedError) as error:
            error.at(location_of_span(func.span))  # an error without a location names the kernel at least
            raise
        except TilecoreError:
            raise
        except Exception as error:
            raise LoweringError(
                f"pass {step.name} failed on {func.attrs['global_symbol']}: {type(error).__name__}: {error}",
                hint="TILECORE_DEBUG=5 shows the IR before it; please report it",
            ) from error
        env.note("passes", {"name": step.name, "ms": round((time.perf_counter() - start) * 1e3, 3)})
        if verifier:
            is_core = step in family or step is CONTRACT_SUMS
            with _located(func), stage("verification (TILECORE_CHECK)"):
                verifier.verify(current, f"pass {step.name}", "" if is_core else backend.package)
        debug.after_pass(step.name, current)
    env.states.begin("")
    if env.capabilities.index_bits == 32 and isinstance(current, IRModule):
        refuse_wide_integers(current, env)
    if verifier and takes_ranges and isinstance(current, IRModule):
        from tilecore.ir.thread_walk import check_thread_ir
        from tilecore.lowering.race_check.check_order import check_order

        with _located(func):
            check_thread_ir(current, verifier.origins)
        check_order(current, env.capabilities.warp)
    return current


@contextmanager
def _located(func: PrimFunc) -> Iterator[None]:
    """An error of the block that has no location gets that of the kernel."""
    try:
        yield
    except TilecoreError as error:
        error.at(location_of_span(func.span))
        raise


def _begin(step: Pass, env: PassEnv, is_checked: bool) -> None:
    """Tells the state store which pass runs, and which state classes it may use."""
    if is_checked:
        env.states.begin(step.name, needs_of(step, env.implementations), leaves_of(step, env.implementations))
    else:
        env.states.begin(step.name)
