"""The workflow for GitHub's Macs: commands, options and paths exist, and it has every step of the first run."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from tile_metal.first_run.plan import FIRST_RUN

from tilecore.cli import _parser
from tilecore.testing.first_run.command_line import parsed

ROOT = Path(__file__).parents[3]
WORKFLOW = ROOT / ".github" / "workflows" / "metal.yml"
if not WORKFLOW.is_file():
    pytest.skip("this is no checkout", allow_module_level=True)
TEXT = WORKFLOW.read_text()


def commands(text: str) -> list[str]:
    """The lines of every ``run``, which is one line or a block behind ``|``."""
    found = re.findall(r"^( +)(?:- )?run: (.*)\n((?:\1 .*\n)*)", text, re.MULTILINE)
    blocks = [block if head == "|" else head for _, head, block in found]
    return [line.strip() for block in blocks for line in block.splitlines()]


def words_after(start: str) -> list[list[str]]:
    """The words behind ``start`` in each command that begins with it."""
    lines = [line.removesuffix(" || true") for line in commands(TEXT)]
    return [shlex.split(line.removeprefix(start)) for line in lines if line.startswith(f"{start} ")]


def test_its_form():
    """What YAML refuses, or GitHub: tabs, odd indentation, actions without a version, expressions that do not end."""
    for number, line in enumerate(TEXT.splitlines(), 1):
        assert "\t" not in line, number
        assert (len(line) - len(line.lstrip())) % 2 == 0, number
        assert line.count("${{") == line.count("}}"), number
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", action) for action in re.findall(r"uses: (.*)", TEXT))
    assert re.search(r"^    continue-on-error: true$", TEXT, re.MULTILINE)
    assert "system: [macos-14, macos-15, macos-26]" in TEXT
    assert "runs-on: ${{ matrix.system }}" in TEXT


def test_it_is_yaml():
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(TEXT)["jobs"]["metal"]["steps"]
    assert [line for step in steps for line in step.get("run", "").splitlines()] == commands(TEXT)


def test_every_command_is_a_module_that_exists():
    lines = commands(TEXT)
    assert len(lines) > 8
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["python", "-m"] or words == ["mkdir", "reports"], line
        assert words[0] == "mkdir" or importlib.util.find_spec(words[2]) is not None, line


def test_paths_exist():
    paths = [path for listed in re.findall(r"paths: \[(.*)\]", TEXT) for path in listed.split(", ")]
    paths += [word for words in words_after("python -m pytest") for word in words if "/" in word]
    paths += re.findall(r"github.workspace }}/(\S+)", TEXT) + re.findall(r"docs/[\w/.]+\.md", TEXT)
    assert len(paths) > 5
    of_packages = [path for path in paths if path != "tilecore/**"]  # tests of what is installed see no tree of it
    assert len(of_packages) < len(paths)
    assert not [path for path in of_packages if not (ROOT / path.removesuffix("**")).exists()]


def test_what_is_installed_exists():
    projects = [words[place + 1] for words in words_after("python -m pip install") for place in range(len(words) - 1)
                if words[place] == "-e"]  # fmt: skip
    assert len(projects) == 3
    for project in projects:
        folder, _, extras = project.rstrip("]").partition("[")
        text = (ROOT / folder / "pyproject.toml").read_text()
        assert all(re.search(rf"^{extra} = \[", text, re.MULTILINE) for extra in extras.split(",") if extra)


def test_commands_of_tilecore_exist():
    choices = next(action.choices for action in _parser()._actions if action.choices)
    words = words_after("python -m tilecore")
    assert words
    assert all(command[0] in choices for command in words)


def test_the_first_runs(tmp_path, monkeypatch):
    """Their options are right; together they have every step, and the kit with both execution backends."""
    (tmp_path / "reports").mkdir()
    monkeypatch.chdir(tmp_path)
    runs = [parsed(FIRST_RUN, words) for words in words_after("python -m tile_metal.first_run")]
    assert {step for run in runs for step in run.steps} == set(FIRST_RUN.steps)
    kits = [run.execution_backends for run in runs if "kit" in run.steps]
    assert {backend for backends in kits for backend in backends} == set(FIRST_RUN.execution_backends)
    assert len({run.out for run in runs}) == len(runs)
    assert all(run.out.parent == Path("reports") for run in runs)
    assert re.search(r"^          path: reports$", TEXT, re.MULTILINE)


def test_what_the_tests_see():
    text = "steps:\n  - run: python -m one\n  - name: x\n    run: |\n      python -m two\n      three\n    if: no\n"
    assert commands(text) == ["python -m one", "python -m two", "three"]
