"""The steps that are commands of tilecore: the conformance kit, and random kernels."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tile_hip.first_run import processes

QUICK_CASES = "test_copies or test_gemm or test_reductions or test_order_of_launches or test_diagnostics"


def kit(folder: Path, target: str, execution_backend: str, quick: bool, jobs: int, seconds: float) -> dict[str, Any]:
    """The record of the conformance kit."""
    path = folder / "kit.json"
    level = "2" if execution_backend == "sim" else "3"
    words = ["conform", "--target", target, "--execution-backend", execution_backend, "--level", level]
    words += ["--out", str(path), *(["-k", QUICK_CASES] if quick else []), *(["-j", str(jobs)] if jobs > 1 else [])]
    code, output = command(words, seconds)
    if not path.is_file():
        return {"outcome": "failed", "why": processes.ended(code, seconds) if code else "no report", "output": output}
    (report,) = json.loads(path.read_text())
    counts: Counter[str] = Counter()
    for group in report["groups"].values():
        counts.update(group)
    failed = [case for case in report["cases"] if case["outcome"] not in ("skipped", "xfailed")]
    ok = code == 0 and not failed and not report["interrupted"]
    why = "" if ok else f"{len(failed)} cases failed" if failed else processes.ended(code, seconds)
    return {
        "outcome": "ok" if ok else "failed", "why": why, "counts": dict(counts), "level": report["reached"],
        "failed": failed, "skipped": report["skipped"],
    }  # fmt: skip


def fuzz(folder: Path, target: str, execution_backend: str, quick: bool, jobs: int, seconds: float) -> dict[str, Any]:
    """The record of random kernels that are compared with the interpreter."""
    path = folder / "fuzz.json"
    words = ["fuzz", "--target", target, "--execution-backend", execution_backend, "--jobs", str(jobs)]
    count = 4 if execution_backend == "sim" else 50 if quick else 1000
    words += ["--count", str(count), "--json", str(path), "--out", str(folder / "found")]
    code, output = command(words, seconds)
    tally = json.loads(path.read_text()) if path.is_file() else {}
    sources = {found.name: found.read_text() for found in sorted((folder / "found").glob("*.py"))[:20]}
    record = {"outcome": "ok" if code == 0 else "failed", "why": "" if code == 0 else processes.ended(code, seconds)}
    return {**record, "tally": tally, "findings": sources, "output": "" if code == 0 else output}


def command(words: list[str], seconds: float) -> tuple[int, str]:
    """(the code, the end of the output) of ``tilecore WORDS``; it is ended after ``seconds``."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tilecore", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        processes.stop(process)
        output, _ = process.communicate()
    return process.returncode, output.decode(errors="replace").strip()[-3000:]
