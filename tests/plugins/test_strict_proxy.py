"""tilecore touches nothing of a plugin but what the contract declares."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fresh_processes import output_of

from tilecore.plugins import manager
from tilecore.simulate.compilers import find_compiler

SCRIPT = Path(__file__).parent / "strict.py"
EXAMPLE = Path(__file__).parents[2] / "examples" / "backends" / "tile-opencl"


def check(ended: subprocess.CompletedProcess[str]) -> None:
    assert ended.returncode == 0, ended.stderr
    undeclared, used = json.loads(ended.stdout.splitlines()[-1])
    assert undeclared == []
    assert {"available", "load", "name"} <= set(used)


@pytest.mark.parametrize("kind", ["cpu", "cuda", "tpu"])
def test_only_declared_names_are_touched(kind, tmp_path):
    if kind not in manager.kinds():
        pytest.skip(f"the package of {kind} is not installed")
    settings = {**os.environ, "TILECORE_CACHE_DIR": str(tmp_path), "TILECORE_SIMULATE": "0" if kind == "cpu" else "1"}
    words = [sys.executable, str(SCRIPT), kind]
    check(subprocess.run(words, env=settings, capture_output=True, text=True, timeout=180))


def test_of_what_new_backend_writes(acme, tmp_path):
    find_compiler()
    check(acme.run(str(SCRIPT), "acme", timeout=180, TILECORE_CACHE_DIR=str(tmp_path), TILECORE_SIMULATE="1"))


def test_of_the_example_that_is_a_package_of_its_own(site, tmp_path):
    pytest.importorskip("pyopencl")
    source = tmp_path / "source"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    site.folder = tmp_path / "site"
    site.pip_install(source)
    (target,) = [target for target in site.cli("targets")["targets"] if target["kind"] == "opencl"]
    assert target["state"] == "ok", target
    if not target["device"]["present"]:
        pytest.skip(target["device"]["detail"])
    check(site.run(str(SCRIPT), "opencl", timeout=180, TILECORE_CACHE_DIR=str(tmp_path / "cache")))


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
    assert output_of(code) == "False ['plugin.secret']\n"
