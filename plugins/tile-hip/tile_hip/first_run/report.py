"""The report: one JSON file, whose ``summary`` is the text for people. It is written after each step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write(path: Path, report: dict[str, Any]) -> None:
    """Writes the report, with its summary first. Names of the user's folders are left out."""
    text = json.dumps({"summary": summary(report), **report}, indent=1)
    for folder, word in ((Path.home(), "~"), (Path.cwd(), ".")):
        if len(folder.parts) > 1:
            text = text.replace(os.fspath(folder), word)
    path.write_text(text + "\n")


def summary(report: dict[str, Any]) -> list[str]:
    """The report for people, line by line."""
    facts, lines = report["facts"], []
    runtime, torch = facts["runtime"], facts["torch"]
    lines.append("tile-hip first run, " + facts["date"] + ": " + facts["target"] + ", " + facts["execution_backend"])
    devices = [device["name"] for device in runtime.get("devices", ())]
    lines.append("GPUs: " + (", ".join(devices) or runtime.get("problem") or "none"))
    lines.append(f"HIP {runtime.get('version', 'unknown')}, torch {torch.get('version', 'missing')}")
    for name, step in report["steps"].items():
        lines.append(f"{name}: {step['outcome']}" + (f" ({step['why']})" if step["why"] else ""))
        lines += [f"  {line}" for record in step.get("records", ()) for line in described(record)]
        if "counts" in step:
            lines.append("  " + ", ".join(f"{count} {outcome}" for outcome, count in step["counts"].items()))
    return lines


def described(record: dict[str, Any]) -> list[str]:
    """A check or a benchmark in words."""
    head = f"{record['name']}: {record['outcome']}" + (f" ({record['why']})" if record["why"] else "")
    if "ratio" not in record:
        return [head]
    ours, theirs, unit = record["tilecore"]["speed"], record["torch"]["speed"], record["unit"]
    return [f"{record['name']}: {ours:.4g} {unit}, torch {theirs:.4g} {unit}: {record['ratio']:.2f} times its speed"]


def step_of(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The record of a step that has several: it is "ok" where none failed."""
    failed = [record["name"] for record in records if record["outcome"] == "failed"]
    why = f"{len(failed)} of {len(records)} failed" if failed else ""
    return {"outcome": "failed" if failed else "ok", "why": why, "records": records}
