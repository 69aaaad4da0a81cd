"""The report: one JSON file, whose ``summary`` is the text for people. It is written after each step."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write(path: Path, report: dict[str, Any], heading: Sequence[str]) -> None:
    """Writes the report, with its summary first. Names of the user's folders are left out."""
    text = json.dumps({"summary": summary(report, heading), **report}, indent=1)
    for folder, word in ((Path.home(), "~"), (Path.cwd(), ".")):
        if len(folder.parts) > 1:
            text = text.replace(os.fspath(folder), word)
    unfinished = path.with_name(path.name + ".part")  # the last report stays if the machine stops now
    unfinished.write_text(text + "\n")
    os.replace(unfinished, path)


def summary(report: dict[str, Any], heading: Sequence[str]) -> list[str]:
    """The report for people, line by line. heading: its first lines."""
    lines = list(heading)
    for name, step in report["steps"].items():
        lines.append(f"{name}: {step['outcome']}" + (f" ({step['why']})" if step["why"] else ""))
        lines += [f"  {line}" for record in step.get("records", ()) for line in described(record)]
        if "counts" in step:
            lines.append("  " + ", ".join(f"{count} {outcome}" for outcome, count in step["counts"].items()))
    return lines


def described(record: dict[str, Any]) -> list[str]:
    """A check or a benchmark in words."""
    if "tilecore" not in record:
        head = f"{record['name']}: {record['outcome']}" + (f" ({record['why']})" if record["why"] else "")
        return [head, *(f"  {name}: {why}" for name, why in record.get("configurations", {}).items())]
    ours, unit = record["tilecore"], record["unit"]
    if record.get("is_simulated"):
        return [f"{record['name']}: the result is right; the simulated device tells no speed"]
    words = f"{record['name']}: {ours['speed']:.4g} {unit}"
    if "device_speed" in ours:
        words += f" ({ours['device_speed']:.4g} by the device's clock)"
    for name, figures in record["peers"].items():
        if "speed" in figures:
            words += f"; {name} {figures['speed']:.4g}: {figures['ratio']:.2f} times its speed"
        if "why" in figures:
            words += f"; {name}: {figures['why'].splitlines()[0]}"
    return [words]


def step_of(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The record of a step that has several: it is "ok" where none failed."""
    failed = [record["name"] for record in records if record["outcome"] == "failed"]
    why = f"{len(failed)} of {len(records)} failed" if failed else ""
    return {"outcome": "failed" if failed else "ok", "why": why, "records": records}
