"""docs/from-tilelang.md shows what ``tilecore port`` prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilecore import cli

PAGE = Path(__file__).parents[3] / "docs" / "from-tilelang.md"


def test_the_output_on_the_page_is_the_real_one(tmp_path, monkeypatch, capsys):
    text = PAGE.read_text()
    section = text[text.index("## Ask first") : text.index("## What is the same")]
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (shown,) = re.findall(r"```text\n\$ tilecore port kernels.py\n(.*?)```", section, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("kernels.py").write_text(program)
    with pytest.raises(SystemExit) as ended:
        cli.main(["port", "kernels.py"])
    assert ended.value.code == 1
    assert capsys.readouterr().out == shown


def test_the_options_on_the_page_are_those_of_the_command(capsys):
    text = PAGE.read_text()
    section = text[text.index("## Ask first") : text.index("## What is the same")]
    with pytest.raises(SystemExit):
        cli.main(["port", "--help"])
    options = set(re.findall(r"^  (--[a-z]+)", capsys.readouterr().out, re.MULTILINE))
    assert set(re.findall(r"^\| `(--[a-z]+)", section, re.MULTILINE)) == options
