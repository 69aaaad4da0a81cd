"""Python code in a process of its own: what it prints, which modules it imports, whether it still runs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = str(Path(__file__).parent)  # in sys.path of a process that imports a file of tests
HEAVY = ("tvm", "tvm_ffi", "torch", "numpy")


def run_code(
    code: str,
    *words: str | Path,
    flags: Iterable[str] = (),
    folder: Path | None = None,
    timeout: float = 180,
    default_settings: bool = False,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """``python *flags -c code *words`` in ``folder``, with these variables of the environment, too.

    default_settings: none of tilecore's settings that this process has.
    """
    variables = {k: v for k, v in os.environ.items() if not (default_settings and k.startswith("TILECORE_"))}
    return subprocess.run(
        [sys.executable, *flags, "-c", code, *words],
        env={**variables, **environment}, cwd=folder, capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip


def output_of(code: str, *words: str | Path, **options: Any) -> str:
    """What ``run_code`` prints; a test fails where the code does."""
    ended = run_code(code, *words, **options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def imported_by(code: str, names: Iterable[str] = HEAVY) -> list[str]:
    """Those of the modules ``names`` that are imported once a fresh process has run ``code``."""
    listing = f"import sys\nprint([name for name in {tuple(names)!r} if name in sys.modules])"
    return ast.literal_eval(output_of(f"{code}\n{listing}"))


def is_alive(process: int) -> bool:
    """Does a process of this id run?"""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
