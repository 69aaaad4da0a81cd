"""The steps that are commands of tilecore: the conformance kit, and random kernels."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tile_hip.first_run import processes

QUICK_CASES = "test_copies or test_gemm or test_reductions or test_order_of_launches or test_diagnostics"


def kit(folder: Path, target: str, execution_backend: str, quick: bool, jobs: int, seconds: float) -> dict[str, Any]:
    """The record of the conformance kit."""
    missing = [name for name in ("pytest", "hypothesis") if importlib.util.find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        why = f"the kit needs {names}: pip install 'tilecore[test]', and run this again with --steps kit"
        return {"outcome": "failed", "why": why}
    path = folder / "kit.json"
    level = "2" if execution_backend == "sim" else "3"
    words = ["conform", "--target", target, "--execution-backend", execution_backend, "--level", level]
    words += ["--out", str(path), *(["-k", QUICK_CASES] if quick else []), *(["-j", str(jobs)] if jobs > 1 else [])]
    why, output = command(words, seconds)
    if not path.is_file():
        return {"outcome": "failed", "why": why or "there is no report", "output": output}
    (report,) = json.loads(path.read_text())
    counts: Counter[str] = Counter()
    for group in report["groups"].values():
        counts.update(group)
    failed = [case for case in report["cases"] if case["outcome"] not in ("skipped", "xfailed")]
    ok = not why and not failed and not report["interrupted"]
    if failed:
        why = f"{len(failed)} cases failed" + (f"; {why}" if report["interrupted"] else "")
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
    why, output = command(words, seconds)
    tally = json.loads(path.read_text()) if path.is_file() else {}
    sources = {found.name: found.read_text() for found in sorted((folder / "found").glob("*.py"))[:20]}
    outcome = "failed" if why else "ok"
    return {"outcome": outcome, "why": why, "tally": tally, "findings": sources, "output": output if why else ""}


def command(words: list[str], seconds: float) -> tuple[str, str]:
    """(how ``tilecore WORDS`` failed, "" if it did not; the end of its output). It is interrupted after ``seconds``."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tilecore", *words], stdout=out, stderr=out, start_new_session=True
        )
        why = ""
        try:
            code = process.wait(seconds)
            why = processes.ended(code, seconds) if code else ""
        except subprocess.TimeoutExpired:
            why = f"it took longer than {seconds:.0f} seconds and was ended"
        finally:
            processes.stop(process, gently=20 if why else 0)
        out.seek(0)
        return why, out.read().decode(errors="replace").strip()[-3000:]
