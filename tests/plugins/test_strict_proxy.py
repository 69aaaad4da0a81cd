"""tilecore touches nothing of a plugin but what the contract declares."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilecore.plugins import manager

SCRIPT = Path(__file__).parent / "strict.py"


def run(target: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "TILECORE_CACHE_DIR": str(tmp_path), **environment}
    return subprocess.run(
        [sys.executable, str(SCRIPT), target], env=settings, capture_output=True, text=True, timeout=180
    )


@pytest.mark.parametrize("kind", ["cpu", "cuda", "tpu"])
def test_only_declared_names_are_touched(kind, tmp_path):
    if kind not in manager.kinds():
        pytest.skip(f"the package of {kind} is not installed")
    ended = run(kind, tmp_path, TILECORE_SIMULATE="1")
    assert ended.returncode == 0, ended.stderr
    undeclared, used = json.loads(ended.stdout.splitlines()[-1])
    assert undeclared == []
    assert {"available", "load", "name"} <= set(used)


def test_an_undeclared_name_is_noted():
    code = (
        "import sys, types\n"
        f"sys.path.insert(0, {str(SCRIPT.parent)!r})\n"
        "import strict\n"
        "module = types.ModuleType('plugin')\n"
        "module.__file__, module.secret = '', 1\n"
        "proxy = strict.StrictModule(module)\n"
        "print(hasattr(proxy, 'secret'), strict.undeclared)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.stdout == "False ['plugin.secret']\n", ended.stderr
