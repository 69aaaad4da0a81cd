"""Collects all refusals of a kernel by a target, not only the first.

Checks of the whole kernel go on after an error (PassEnv.refuse). Where an error ends the compilation, the statement at
its location is removed and the remaining kernel is compiled again. An error of the kernel as a whole, or one without a
location, ends the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.compiler import CompileOptions, emit, lower
from tilecore.errors import LanguageError, LimitError, TilecoreError, UnsupportedError
from tilecore.target_report.without import without_statement

if TYPE_CHECKING:
    from tilecore.contract.records import Backend
    from tilecore.ir.nodes import PrimFunc
    from tilecore.target import Target

MOST = 32  # times that a kernel is compiled for one target
OF_THE_KERNEL = (UnsupportedError, LanguageError)  # other errors are faults of the compiler or of a package


@dataclass
class Outcome:
    """The result of compile_whole. whole: whether the whole kernel was checked. report: the compiler's notes."""

    refusals: list[TilecoreError] = field(default_factory=list)
    whole: bool = True
    report: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(not isinstance(error, OF_THE_KERNEL) for error in self.refusals)


def compile_whole(
    func: PrimFunc, backend: Backend, target: Target, options: CompileOptions, first_only: bool = False
) -> Outcome:
    """Compile a kernel to source, and collect every refusal. first_only: stop at the first one."""
    outcome = Outcome()
    current: PrimFunc | None = func
    for _ in range(MOST):
        assert current is not None
        continued: list[TilecoreError] = []
        error = _compile(current, backend, target, options, None if first_only else continued, outcome)
        first = not outcome.refusals and not continued
        _add(outcome, continued)
        if error is None:
            return outcome
        if not first and not isinstance(error, OF_THE_KERNEL):
            break  # the error is an effect of the removed statements
        if not any(_same_cause(error, refusal) for refusal in outcome.refusals):
            _add(outcome, [error])
        if first_only or isinstance(error, LimitError) or error.location is None:
            break
        current = without_statement(current, error.location)
        if current is None:
            break
    outcome.whole = False
    return outcome


def _compile(
    func: PrimFunc,
    backend: Backend,
    target: Target,
    options: CompileOptions,
    continued: list[TilecoreError] | None,
    outcome: Outcome,
) -> TilecoreError | None:
    """The error that ended the compilation. The report of a kernel without refusals goes to the outcome."""
    try:
        module, env = lower(func, backend, target, options, continued)
        emit(module, backend, target).report(env)
    except TilecoreError as error:
        return error
    if not continued and not outcome.refusals:
        outcome.report = env.report
    return None


def _add(outcome: Outcome, errors: Sequence[TilecoreError]) -> None:
    reported = {(e.message, e.location) for e in outcome.refusals}
    outcome.refusals += {(e.message, e.location): e for e in errors if (e.message, e.location) not in reported}.values()


def _same_cause(error: TilecoreError, other: TilecoreError) -> bool:
    """Whether two errors have one cause: those of one statement have."""
    if error.location is None or other.location is None:
        return error.message == other.message
    return error.location == other.location
