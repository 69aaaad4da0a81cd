"""A survey as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tilecore.errors import TilecoreError
from tilecore.survey.lines import lines_of
from tilecore.survey.run import Survey, Verdict


def data_of(survey: Survey) -> dict[str, Any]:
    """{"taken", "targets", "verdicts", "left_out", "lines"}; lines by kernel, as they are printed."""
    return {
        "taken": survey.taken,
        "targets": [{"target": t.text, "resolved": str(t.target) if t.target else None} for t in survey.targets],
        "verdicts": [_verdict(verdict) for verdict in survey.verdicts],
        "left_out": [asdict(left_out) for left_out in survey.left_out],
        "lines": {
            kernel: [
                {"file": line.file, "line": line.number or None, "source": line.source, "said": _said(line.words)}
                for line in lines_of(survey, kernel)
            ]
            for kernel in survey.files
        },
    }


def _said(words: Any) -> list[dict[str, Any]]:
    return [
        {"targets": list(word.targets), "kind": word.kind, "text": word.text, **dict(word.details)} for word in words
    ]


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "kernel": verdict.kernel,
        "target": verdict.target,
        "state": verdict.state,
        "whole": verdict.whole,
        "refusals": [_error(error) for error in verdict.refusals],
        "remarks": [asdict(remark) for remark in verdict.remarks],
        "changes": list(verdict.changes),
    }


def _error(error: TilecoreError) -> dict[str, Any]:
    place = None if error.location is None else asdict(error.location)
    facts = {"message": error.message, "found": error.found, "expected": error.expected, "help": error.hint}
    return {"kind": type(error).__name__, "place": place, **facts}
