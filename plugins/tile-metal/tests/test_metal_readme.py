"""The README's programs, as a newcomer runs them, and its statements of extras and barriers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tile_metal.families import FAMILIES, MSL

from tilecore.plugins import manager

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
# in an iteration of the kernel of attention, by policy: calls of barriers, as its text has them
ATTENTION = """
for policy in (T.GemmWarpPolicy.Square, T.GemmWarpPolicy.FullRow):
    for family in ("apple7", "apple9"):
        func = attention(64, 64, policy=policy)
        program = tilecore.compile(func, target=f"metal -family={family}", execution_backend="metal")
        source = program.get_kernel_source()
        loop = re.search(r"^  for \\(int step = .*?^  }$", source, re.MULTILINE | re.DOTALL)[0]
        print("barriers", policy.name, family, loop.count("barrier()"))
"""


def test_the_programs(tmp_path):
    assert len(BLOCKS) == 4
    (tmp_path / "first.py").write_text("\n\n".join([*BLOCKS, "import re", ATTENTION]))
    run = subprocess.run(
        [sys.executable, "first.py"], cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ)
    )
    assert run.returncode == 0, run.stderr
    assert "[[kernel, max_total_threads_per_threadgroup(128)]] void softsign_kernel_1024_1024_f32_" in run.stdout
    assert "computes the same as numpy" in run.stdout
    assert re.search(r"bytes of MSL; kernel softsign_kernel_\w+, 128 threads a threadgroup", run.stdout)
    assert (tmp_path / "softsign.tck").is_file()
    barriers = re.findall(r"^barriers (\w+) (\w+) (\d+)$", run.stdout, re.MULTILINE)
    # two of Square's four stand in a loop over the two rows of a thread
    assert barriers == [
        ("Square", "apple7", "4"), ("Square", "apple9", "4"), ("FullRow", "apple7", "2"), ("FullRow", "apple9", "0"),
    ]  # fmt: skip


def test_the_extras():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    for extras in re.findall(r"tile-metal\[([\w,]+)\]", README):
        assert all(re.search(rf"^{extra} = \[", text, re.MULTILINE) for extra in extras.split(","))


def test_the_tables():
    families = dict(re.findall(r"^\| `(apple\d+)` \| ([^|]+) \|", README, re.MULTILINE))
    assert families == {name: ", ".join(family.chips) for name, family in FAMILIES.items()}
    assert dict(re.findall(r"^\| (\d\.\d) \| (\d+) \|", README, re.MULTILINE)) == {v: str(m) for v, m in MSL.items()}
    backends = README[README.index("## Execution backends") :].split("\n\n")[1]
    names = re.findall(r"^\| `(\w+)` \|", backends, re.MULTILINE)
    assert names == list(manager.resolve("metal")[0].adapters)
