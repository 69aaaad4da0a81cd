"""Everything that a target refuses of a kernel, not only the first thing.

Checks of the whole kernel go on after an error (PassEnv.refuse). Where an error ends the compilation, the statement at
its place is left out, and the rest compiled again. An error of the kernel as a whole, or one without a place, ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.compiler import CompileOptions, emit, lower
from tilecore.contract.records import Backend
from tilecore.errors import LanguageError, LimitError, TilecoreError, UnsupportedError
from tilecore.survey.without import without
from tilecore.target import Target

if TYPE_CHECKING:
    from tilecore.ir.nodes import PrimFunc

MOST = 32  # times that a kernel is compiled for one target
OF_THE_KERNEL = (UnsupportedError, LanguageError)  # other errors are of the compiler or of a package


@dataclass
class Outcome:
    """What became of a kernel on a target. whole: all of it was looked at. report: the compiler's notes."""

    refusals: list[TilecoreError] = field(default_factory=list)
    whole: bool = True
    report: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return any(not isinstance(error, OF_THE_KERNEL) for error in self.refusals)


def compile_whole(
    func: PrimFunc, backend: Backend, target: Target, options: CompileOptions, first_only: bool = False
) -> Outcome:
    """Compile a kernel as far as its source, and collect every refusal. first_only: stop at one."""
    outcome = Outcome()
    current: PrimFunc | None = func
    for _ in range(MOST):
        assert current is not None
        kept: list[TilecoreError] = []
        error = _compile(current, backend, target, options, None if first_only else kept, outcome)
        first = not outcome.refusals and not kept
        _add(outcome, kept)
        if error is None:
            return outcome
        if not first and not isinstance(error, OF_THE_KERNEL):
            break  # it comes of what was left out
        if not any(_same_place(error, known) for known in outcome.refusals):
            _add(outcome, [error])
        if first_only or isinstance(error, LimitError) or error.location is None:
            break
        current = without(current, error.location)
        if current is None:
            break
    outcome.whole = False
    return outcome


def _compile(
    func: PrimFunc,
    backend: Backend,
    target: Target,
    options: CompileOptions,
    kept: list[TilecoreError] | None,
    outcome: Outcome,
) -> TilecoreError | None:
    """The error that ended the compilation. The report of a kernel without refusals goes to the outcome."""
    try:
        module, env = lower(func, backend, target, options, kept)
        emit(module, backend, target)
    except TilecoreError as error:
        return error
    if not kept and not outcome.refusals:
        outcome.report = env.report
    return None


def _add(outcome: Outcome, errors: Sequence[TilecoreError]) -> None:
    known = {(e.message, e.location) for e in outcome.refusals}
    outcome.refusals += {(e.message, e.location): e for e in errors if (e.message, e.location) not in known}.values()


def _same_place(error: TilecoreError, known: TilecoreError) -> bool:
    """Two errors of one statement have one cause."""
    if error.location is None or known.location is None:
        return error.message == known.message
    return error.location == known.location
