"""Checks which candidates compute the right results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tilecore.autotune.transport import Packed, unpack
from tilecore.errors import AutotuneError, InterpreterError
from tilecore.profiler.compare import assert_close
from tilecore.profiler.runs import Run, check, outputs_of, pairs, run

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.autotune.candidates import Candidate
    from tilecore.autotune.oracle import Oracle
    from tilecore.autotune.profile_args import ProfileArgs
    from tilecore.autotune.session import PackedRun
    from tilecore.contract.adapter import KernelAdapter

MOST_GROUPS = 4  # that the interpreter is asked about


class AutotuneWarning(UserWarning):
    """Something about a search that its user should know, though it found a kernel."""


class Judge(Protocol):
    """Checks candidates. ``add`` is called with the results of each candidate, then ``settle`` once.

    Right candidates get the status "right", the others are dropped. ``method``: the reference of the check, in words.
    """

    method: str

    def add(self, candidate: Candidate, packed_run: PackedRun, inputs: list[Any]) -> None: ...

    def settle(self) -> None: ...


def judge_for(args: ProfileArgs, adapter: KernelAdapter, oracle: Oracle) -> Judge:
    if args.skip_check:
        return Trusting()
    if args.ref_prog is not None:
        return AgainstReference(args, adapter)
    return ByAgreement(args, oracle)


class Trusting:
    """Used with skip_check: every candidate that runs is right."""

    method = "not checked"

    def add(self, candidate: Candidate, packed_run: PackedRun, inputs: list[Any]) -> None:
        candidate.status = "right"

    def settle(self) -> None:
        return None


class AgainstReference:
    """Compares with ``ref_prog``, by its tolerances or by ``manual_check_prog``."""

    method = "ref_prog"

    def __init__(self, args: ProfileArgs, adapter: KernelAdapter) -> None:
        self.args = args
        self.adapter = adapter
        self._expected: list[tuple[list[Any], Run]] = []

    def add(self, candidate: Candidate, packed_run: PackedRun, inputs: list[Any]) -> None:
        artifact = candidate.artifact
        assert artifact is not None
        manual = self.args.manual_check_prog
        mine = _run_of(artifact, packed_run, inputs, (lambda v: unpack(v, self.adapter)) if manual else _array)
        compared = pairs(artifact, mine, self._reference(inputs), inputs)
        try:
            if manual is not None:
                manual([value for _, value, _ in compared], [value for _, _, value in compared])
            else:
                check(artifact, compared, self.args.tolerance, self.args.max_mismatched_ratio)
        except Exception as error:
            candidate.drop("wrong", error)
        else:
            candidate.status = "right"

    def settle(self) -> None:
        return None

    def _reference(self, inputs: list[Any]) -> Run:
        """The run of ref_prog on a set of inputs; exceptions of ref_prog pass through."""
        for reference_inputs, expected in self._expected:
            if reference_inputs is inputs:
                return expected
        assert self.args.ref_prog is not None
        expected = run(self.args.ref_prog, inputs, lambda: self.adapter.synchronize(0))
        self._expected.append((inputs, expected))
        return expected


@dataclass
class _Group:
    """Candidates that agree on the outputs for one set of inputs; the first speaks for all. confirmed: whether the
    interpreter says the same, None when it was not asked or could not tell. why: what it says instead."""

    inputs: list[Any]
    outputs: list[tuple[str, Any]]
    members: list[Candidate] = field(default_factory=list)
    confirmed: bool | None = None
    why: str = ""


class ByAgreement:
    """Without a reference: candidates that agree form groups, and the interpreter says which group is right.

    Where it cannot, as the problem is too large for it, the group with more than half of the candidates is right.
    """

    def __init__(self, args: ProfileArgs, oracle: Oracle) -> None:
        self.args = args
        self.oracle = oracle
        self.method = "not checked"
        self._groups: list[_Group] = []
        oracle.begin()

    def add(self, candidate: Candidate, packed_run: PackedRun, inputs: list[Any]) -> None:
        assert candidate.artifact is not None
        outputs = outputs_of(candidate.artifact, _run_of(candidate.artifact, packed_run, inputs, _array))
        for group in self._groups:
            if group.inputs is inputs and self._difference(outputs, [value for _, value in group.outputs]) is None:
                group.members.append(candidate)
                return
        self._groups.append(_Group(inputs, outputs, [candidate]))

    def settle(self) -> None:
        methods = []
        for inputs in _distinct([group.inputs for group in self._groups]):
            groups = [group for group in self._groups if group.inputs is inputs]
            groups.sort(key=lambda group: -len(group.members))
            methods.append(self._settle(groups))
        self.method = "; ".join(dict.fromkeys(methods)) or "not checked"

    def _settle(self, groups: list[_Group]) -> str:
        """Choose the right group among those on one set of inputs, the largest first; returns the method."""
        unknown = self._ask(groups[:MOST_GROUPS])
        if unknown:
            right = _majority(groups, unknown)
            total = sum(len(group.members) for group in groups)
            method = (
                f"agreement of {len(right.members)} of {total} ({unknown})" if total > 1 else f"not checked ({unknown})"
            )
        else:
            method = "interpreter"
            confirmed = [group for group in groups if group.confirmed]
            if not confirmed:
                for group in groups:
                    _drop(group, group.why or "it disagrees with all others")
                return method
            right = _majority(confirmed, "the interpreter finds all of them right")
        for group in groups:
            if group is right:
                for candidate in group.members:
                    candidate.status = "right"
            else:
                difference = self._difference(group.outputs, [value for _, value in right.outputs])
                _drop(group, group.why or f"it disagrees with {right.members[0]}: {difference}")
        return method

    def _ask(self, groups: Sequence[_Group]) -> str:
        """Let the interpreter confirm or refute each group; why it could not, "" when it could."""
        for group in groups:
            try:
                expected, unknown = self.oracle.outputs(group.members[0], group.inputs)
            except InterpreterError as error:
                group.confirmed, group.why = False, f"the interpreter refuses it: {error}"
                continue
            if expected is None:
                return f"the interpreter cannot tell: {unknown}"
            difference = self._difference(group.outputs, expected)
            group.confirmed = difference is None
            group.why = "" if difference is None else f"the interpreter computes something else: {difference}"
        return ""

    def _difference(self, outputs: Sequence[tuple[str, Any]], expected: Sequence[Any]) -> str | None:
        """Where outputs differ from others, in words; None when they agree."""
        if len(outputs) != len(expected):
            return f"{len(outputs)} outputs instead of {len(expected)}"
        for (name, value), other in zip(outputs, expected, strict=True):
            try:
                assert_close(value, other, self.args.tolerance, self.args.max_mismatched_ratio, subject=name)
            except AssertionError as error:
                return str(error)
        return None


def _majority(groups: Sequence[_Group], situation: str) -> _Group:
    """The group with more than half of the candidates; raises AutotuneError when there is none."""
    total = sum(len(group.members) for group in groups)
    largest = groups[0]
    if 2 * len(largest.members) <= total:
        sides = "; ".join(map(_members_in_words, groups))
        raise AutotuneError(
            f"the candidates compute {len(groups)} different results, and it is unknown which is right",
            found=f"{sides} ({situation})",
            hint="pass ref_prog, which computes what is right",
        )
    if len(groups) > 1:
        others = ", ".join(f"[{candidate}]" for group in groups[1:] for candidate in group.members)
        text = f"{total - len(largest.members)} of {total} candidates compute something else and are left out: {others}"
        warnings.warn(f"{text}; pass ref_prog to be sure which is right", AutotuneWarning, stacklevel=2)
    return largest


def _members_in_words(group: _Group) -> str:
    """``[B=16]``, ``[B=16] and 3 more``."""
    others = len(group.members) - 1
    return f"[{group.members[0]}]" + (f" and {others} more" if others else "")


def _drop(group: _Group, reason: str) -> None:
    for candidate in group.members:
        candidate.drop("wrong", reason)


def _distinct(items: Sequence[Any]) -> list[Any]:
    distinct: list[Any] = []
    for item in items:
        if not any(item is other for other in distinct):
            distinct.append(item)
    return distinct


def _array(value: Any) -> Any:
    return value.array() if isinstance(value, Packed) else value


def _run_of(artifact: Artifact, packed_run: PackedRun, inputs: Sequence[Any], opened: Callable[[Any], Any]) -> Run:
    """The run in another process as a Run: written arguments replace inputs, the other inputs are unchanged."""
    after = [opened(packed_run.written[i]) if i in packed_run.written else value for i, value in enumerate(inputs)]
    return Run(after, [opened(value) for value in packed_run.returned])
