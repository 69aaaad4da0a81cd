"""The README's first program, as a newcomer runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tile_hip import compilers
from tile_hip.architectures import ARCHITECTURES
from tile_hip.products import PRODUCTS

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_first_program(tmp_path):
    if not any("gfx942" in compiler.architectures() for compiler in compilers.installed()):
        pytest.skip(f"there is no compiler for gfx942: {compilers.FIX}")
    if compilers.math_library() is None:
        pytest.skip(f"there is no math library: {compilers.LIBRARY_FIX}")
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "first.py").write_text(program)
    run = subprocess.run(
        [sys.executable, "first.py"], cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ)
    )
    assert run.returncode == 0, run.stderr
    assert "bytes of ELF for gfx942" in run.stdout
    assert "computes the same as numpy" in run.stdout


def test_the_table_of_chips():
    rows = re.findall(r"^\| (gfx[\w ,]+) \| ([^|]+) \| (\d+)[^|]* \| (\d+) KiB \|", README, re.MULTILINE)
    named = set()
    for chips, products, wave, kibibytes in rows:
        names = re.findall(r"gfx\w+", chips)
        if " to " in chips:
            names = [f"gfx{number}" for number in range(int(names[0][3:]), int(names[1][3:]) + 1)]
        for name in names:
            architecture = ARCHITECTURES[name]
            assert (architecture.waves[0], architecture.shared_bytes >> 10) == (int(wave), int(kibibytes))
            if products.startswith("MI"):
                assert set(products.split(", ")) <= set(PRODUCTS[name].split(", "))
        named |= set(names)
    assert named == set(ARCHITECTURES)
