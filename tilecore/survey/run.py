"""Compiles every kernel for every target, and collects the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilecore.compiler import CompileOptions
from tilecore.errors import PluginError, TilecoreError
from tilecore.plugins.guard import describe
from tilecore.survey.changes import changes_of
from tilecore.survey.kernels import Kernel, LeftOut
from tilecore.survey.refusals import Outcome, compile_whole
from tilecore.survey.remarks import Remark, remarks_of
from tilecore.survey.targets import Surveyed
from tilecore.transform import checked_pass_configs

OK, SLOW, REFUSED, FAILED, BROKEN = "ok", "slow", "refused", "failed", "broken"


@dataclass(frozen=True)
class Verdict:
    """What a target makes of a kernel.

    state: ok; slow (it compiles, and a remark says what the target could do better); refused; failed (an error of the
    compiler or of a package, not of the kernel); broken (the package cannot be used). whole: whether all of the kernel
    was looked at. changes: values of arguments with which it compiles.
    """

    kernel: str
    target: str
    state: str
    refusals: tuple[TilecoreError, ...] = ()
    whole: bool = True
    remarks: tuple[Remark, ...] = ()
    changes: tuple[str, ...] = ()

    @property
    def taken(self) -> bool:
        return self.state in (OK, SLOW)


@dataclass
class Survey:
    """All verdicts, kernel by kernel; what was left out; files: of each kernel, whose lines remarks name."""

    targets: list[Surveyed]
    verdicts: list[Verdict] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    @property
    def taken(self) -> bool:
        """Did all targets take all kernels, and was there one?"""
        return bool(self.verdicts) and not self.left_out and all(verdict.taken for verdict in self.verdicts)


def survey(
    kernels: Sequence[Kernel | LeftOut],
    targets: list[Surveyed],
    file: str,
    doing: Callable[[str, str], None] = lambda kernel, target: None,
) -> Survey:
    """doing: is told of each kernel and target before it is compiled."""
    made = Survey(targets)
    for kernel in kernels:
        if isinstance(kernel, LeftOut):
            made.left_out.append(kernel)
            continue
        doing(kernel.label, "")
        func, left_out = _made(kernel)
        if left_out is not None:
            made.left_out.append(left_out)
            continue
        made.files[kernel.label] = file
        for target in targets:
            doing(kernel.label, target.text)
            made.verdicts.append(_verdict(kernel, func, target))
    return made


def _made(kernel: Kernel) -> tuple[Any, LeftOut | None]:
    """The tile IR of a kernel, or why there is none: no target has a say in that."""
    try:
        return kernel.make({}), None
    except TilecoreError as error:
        return None, LeftOut(kernel.label, str(error), "")
    except Exception as error:
        return None, LeftOut(kernel.label, f"making it raised {describe(error)}", "other arguments may do: --call")


def _verdict(kernel: Kernel, func: Any, target: Surveyed) -> Verdict:
    if target.backend is None or target.target is None:
        errors = () if target.error is None else (target.error,)
        return Verdict(kernel.label, target.text, BROKEN, errors, whole=False)
    backend, resolved = target.backend, target.target
    options = CompileOptions(pass_configs=checked_pass_configs(kernel.settings.get("pass_configs")))
    try:
        outcome = compile_whole(func, backend, resolved, options)
        if not outcome.refusals:
            remarks = tuple(remarks_of(outcome.report, func, backend))
            return Verdict(kernel.label, target.text, SLOW if any(r.slow for r in remarks) else OK, remarks=remarks)
        if outcome.failed:
            return Verdict(kernel.label, target.text, FAILED, tuple(outcome.refusals), outcome.whole)
        known = backend.target.capabilities(resolved)
    except PluginError as error:
        return Verdict(kernel.label, target.text, BROKEN, (error,), whole=False)

    def attempt(changes: dict[str, Any]) -> Outcome:
        return compile_whole(kernel.make(changes), backend, resolved, options, first_only=True)

    changes = changes_of(kernel, known, attempt)
    return Verdict(kernel.label, target.text, REFUSED, tuple(outcome.refusals), outcome.whole, changes=tuple(changes))
