"""The steps that are commands of tilecore: the conformance kit, and random kernels."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tilecore.testing.first_run import processes

_TOLD = 30  # seconds between two lines of progress
QUICK_CASES = "test_copies or test_gemm or test_reductions or test_order_of_launches or test_diagnostics"


def kit(
    folder: Path, target: str, execution_backend: str, quick: bool, jobs: int, seconds: float,
    told: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:  # fmt: skip
    """The record of the conformance kit."""
    path = folder / "kit.json"
    level = "2" if execution_backend == "sim" else "3"
    words = ["conform", "--target", target, "--execution-backend", execution_backend, "--level", level]
    words += ["--out", str(path), *(["-k", QUICK_CASES] if quick else []), *(["-j", str(jobs)] if jobs > 1 else [])]
    why, output = command(words, seconds, told, _environment(folder))
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


def _environment(folder: Path) -> dict[str, str]:
    """The kit's environment: pytest counts its cases of all, and hypothesis leaves nothing in the current folder."""
    options = f"{os.environ.get('PYTEST_ADDOPTS', '')} -o console_output_style=count".strip()
    return {"HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"), **os.environ, "PYTEST_ADDOPTS": options}


def fuzz(
    folder: Path, target: str, execution_backend: str, quick: bool, jobs: int, seconds: float,
    told: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:  # fmt: skip
    """The record of random kernels that are compared with the interpreter."""
    path = folder / "fuzz.json"
    words = ["fuzz", "--target", target, "--execution-backend", execution_backend, "--jobs", str(jobs)]
    count = 4 if execution_backend == "sim" else 50 if quick else 1000
    words += ["--count", str(count), "--json", str(path), "--out", str(folder / "found")]
    why, output = command(words, seconds, told)
    tally = json.loads(path.read_text()) if path.is_file() else {}
    sources = {found.name: found.read_text() for found in sorted((folder / "found").glob("*.py"))[:20]}
    outcome = "failed" if why else "ok"
    return {"outcome": outcome, "why": why, "tally": tally, "findings": sources, "output": output if why else ""}


def command(
    words: list[str], seconds: float, told: Callable[[str], None] = lambda line: None,
    environment: dict[str, str] | None = None,
) -> tuple[str, str]:  # fmt: skip
    """(how ``tilecore WORDS`` failed, "" if it did not; the end of its output). It is interrupted after ``seconds``.
    told: is called with a line on the progress now and then. environment: this process's, unless another is named."""
    with tempfile.NamedTemporaryFile() as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tilecore", *words], stdout=out, stderr=out, start_new_session=True, env=environment
        )
        is_late = False
        try:
            is_late = not _waited(process, seconds, lambda: progress(Path(out.name).read_bytes()), told)
        finally:
            processes.stop(process, gently=20 if is_late else 0)
        text = Path(out.name).read_bytes().decode(errors="replace").strip()[-3000:]
    if is_late:
        return f"it took longer than {seconds:.0f} seconds and was ended", text
    return processes.ended(process, seconds) if process.returncode else "", text


def _waited(
    process: subprocess.Popen[bytes], seconds: float, line: Callable[[], str], told: Callable[[str], None]
) -> bool:
    """Whether the process ended within ``seconds``."""
    start = time.monotonic()
    while (left := start + seconds - time.monotonic()) > 0:
        try:
            process.wait(min(left, _TOLD))
            return True
        except subprocess.TimeoutExpired:
            told(f"{time.monotonic() - start:.0f} s: {line()}")
    return False


def progress(output: bytes) -> str:
    """How far a command is: pytest's count of cases where it is in the output, else the last line."""
    text = output[-2000:].decode(errors="replace")
    counts = re.findall(r"\[ *(\d+)/(\d+)\]$", text, re.MULTILINE)
    if counts:
        return "{} of {} cases".format(*counts[-1])
    return next((line.strip()[-100:] for line in reversed(text.split("\n")) if line.strip()), "no output yet")
