"""Compiles each kernel for each target, and collects the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore.compiler import CompileOptions
from tilecore.errors import PluginError, TilecoreError
from tilecore.jit.request import OPTIONS
from tilecore.plugins.guard import describe
from tilecore.plugins.pass_options import checked_pass_configs
from tilecore.target_report.changes import changes_of
from tilecore.target_report.kernels import Kernel, LeftOut
from tilecore.target_report.refusals import Outcome, compile_whole
from tilecore.target_report.remarks import remarks_of
from tilecore.target_report.verdicts import BROKEN, FAILED, OK, REFUSED, SLOW, TargetReport, Verdict

if TYPE_CHECKING:
    from tilecore.target_report.targets import ReportTarget


def report_on_targets(
    kernels: Sequence[Kernel | LeftOut],
    targets: list[ReportTarget],
    file: str,
    on_progress: Callable[[str, str], None] = lambda kernel, target: None,
) -> TargetReport:
    """Compile each kernel for each target. on_progress: called with kernel and target before each compilation."""
    report = TargetReport(targets)
    for kernel in kernels:
        if isinstance(kernel, LeftOut):
            report.left_out.append(kernel)
            continue
        on_progress(kernel.label, "")
        func, left_out = _build_tile_ir(kernel)
        if left_out is not None:
            report.left_out.append(left_out)
            continue
        report.files[kernel.label] = file
        for target in targets:
            on_progress(kernel.label, target.text)
            report.verdicts.append(_first_that_compiles(kernel, func, target))
    return report


def _build_tile_ir(kernel: Kernel) -> tuple[Any, LeftOut | None]:
    """The tile IR of a kernel, or the reason why it cannot be built. Tile IR does not depend on the target."""
    try:
        return kernel.make({}), None
    except TilecoreError as error:
        return None, LeftOut(kernel.label, str(error), "")
    except (Exception, SystemExit) as error:
        return None, LeftOut(kernel.label, f"building it raised {describe(error)}", "try other arguments: --call")


def _first_that_compiles(kernel: Kernel, func: Any, target: ReportTarget) -> Verdict:
    """The verdict on a kernel; where the target refuses it, that on the first alternative that the target compiles."""
    verdict = _verdict(kernel, func, target, tries_changes=not kernel.alternatives)
    if verdict.state != REFUSED or not kernel.alternatives:
        return verdict
    for alternative in kernel.alternatives:
        alternative_func, left_out = _build_tile_ir(alternative)
        if left_out is None:
            other = _verdict(alternative, alternative_func, target, tries_changes=False)
            if other.compiles:
                reason = verdict.refusals[0].message
                return replace(other, kernel=kernel.label, call=alternative.label, reason=reason)
    return _verdict(kernel, func, target, tries_changes=True)


def _verdict(kernel: Kernel, func: Any, target: ReportTarget, tries_changes: bool) -> Verdict:
    """The verdict on a kernel. tries_changes: whether to search for arguments with which a refused one compiles."""
    if target.backend is None or target.target is None:
        errors = () if target.error is None else (target.error,)
        return Verdict(kernel.label, target.text, BROKEN, errors, whole=False)
    backend, resolved = target.backend, target.target
    options = CompileOptions(pass_configs=checked_pass_configs(kernel.settings.get("pass_configs"), backend, OPTIONS))
    try:
        outcome = compile_whole(func, backend, resolved, options)
        if not outcome.refusals:
            remarks = tuple(remarks_of(outcome.report, func, backend))
            return Verdict(kernel.label, target.text, SLOW if any(r.slow for r in remarks) else OK, remarks=remarks)
        if outcome.failed:
            return Verdict(kernel.label, target.text, FAILED, tuple(outcome.refusals), outcome.whole)
        capabilities = backend.target.capabilities(resolved)
    except PluginError as error:
        return Verdict(kernel.label, target.text, BROKEN, (error,), whole=False)

    def attempt(changes: dict[str, Any]) -> Outcome:
        return compile_whole(kernel.make(changes), backend, resolved, options, first_only=True)

    changes = changes_of(kernel, capabilities, attempt) if tries_changes else []
    return Verdict(kernel.label, target.text, REFUSED, tuple(outcome.refusals), outcome.whole, changes=tuple(changes))
