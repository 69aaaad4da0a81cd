"""The step that runs the examples of a checkout: each in a process of its own, at the sizes of its docstring."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tilecore
from tilecore.testing.first_run import processes

FIRST = "vector_add.py"
HINT = "get one (git clone), and say --steps examples --examples CHECKOUT/examples"
# Small ones, for the simulated device and for a quick run there.
_REHEARSED = {"vector_add": ["--n", "1500"], "softmax": ["--rows", "9", "--columns", "100"]}
_QUICK = ("vector_add", "softmax", "rms_norm", "matmul", "flash_attention")


def folder() -> Path | None:
    """The examples of the checkout that tilecore is imported from, or of the current folder."""
    candidates = (Path(tilecore.__file__).parents[1] / "examples", Path.cwd() / "examples")
    return next((path for path in candidates if are_in(path)), None)


def are_in(path: Path) -> bool:
    return (path / FIRST).is_file()


def results(
    path: Path, target: str, execution_backend: str, quick: bool, seconds: float, told: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """A record of each example. told: is called with the name of each when it starts."""
    is_simulated = execution_backend == "sim"
    files = sorted(path.glob("*.py"))
    names = {file.stem for file in files}
    for file in files:
        if file.stem not in (_REHEARSED if is_simulated else _QUICK if quick else names):
            continue
        told(file.stem)
        words = _REHEARSED[file.stem] if is_simulated else words_of(file)
        why, text = _run([sys.executable, os.fspath(file), "--target", target, *words], execution_backend, seconds)
        refused = re.search(r"^(?:tilecore\.errors\.)?UnsupportedError: (.*)", text, re.MULTILINE)
        if why and refused:
            yield {"name": file.stem, "outcome": "skipped", "why": refused[1]}
        elif why:
            yield {"name": file.stem, "outcome": "failed", "why": why, "output": text}
        else:
            yield {"name": file.stem, "outcome": "ok", "why": ""}


def words_of(file: Path) -> list[str]:
    """The options of the command in the last line of an example's docstring, without its target."""
    docstring = ast.get_docstring(ast.parse(file.read_text())) or ""
    words = shlex.split(docstring.splitlines()[-1])[2:]
    if "--target" in words:
        place = words.index("--target")
        del words[place : place + 2]
    return words


def _run(words: list[str], execution_backend: str, seconds: float) -> tuple[str, str]:
    """(how a command failed, "" if it did not; the end of its output)."""
    environment = {**os.environ, "TILECORE_EXECUTION_BACKEND": execution_backend}
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True, env=environment)
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            processes.stop(process)
        out.seek(0)
        text = out.read().decode(errors="replace").strip()[-3000:]
    return "" if code == 0 else processes.ended(process, seconds), text
