"""Turns a target report into plain data, for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tilecore.target_report.lines import Finding, lines_of

if TYPE_CHECKING:
    from tilecore.errors import TilecoreError
    from tilecore.target_report.verdicts import TargetReport, Verdict


def report_as_data(report: TargetReport) -> dict[str, Any]:
    """A dict with the keys "taken", "targets", "verdicts", "left_out" and "lines" (by kernel, as they are printed)."""
    return {
        "taken": report.compiles,
        "targets": [{"target": t.text, "resolved": str(t.target) if t.target else None} for t in report.targets],
        "verdicts": [_verdict(verdict) for verdict in report.verdicts],
        "left_out": [asdict(left_out) for left_out in report.left_out],
        "lines": {
            kernel: [
                {
                    "file": line.file,
                    "line": line.number or None,
                    "source": line.source,
                    "said": _findings(line.findings),
                }
                for line in lines_of(report, kernel)
            ]
            for kernel in report.files
        },
    }


def _findings(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {"targets": list(finding.targets), "kind": finding.kind, "text": finding.text, **dict(finding.details)}
        for finding in findings
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
        "call": verdict.call,
        "reason": verdict.reason,
    }


def _error(error: TilecoreError) -> dict[str, Any]:
    place = None if error.location is None else asdict(error.location)
    facts = {"message": error.message, "found": error.found, "expected": error.expected, "help": error.hint}
    return {"kind": type(error).__name__, "place": place, **facts}
