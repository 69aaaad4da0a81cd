"""Every pass has a file of tests with its name beside the tests of its package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilecore

PACKAGE = Path(tilecore.__file__).parent
ROOT = Path(__file__).parents[1]
PASS = re.compile(r'^[A-Z_]+ = Pass\(\s*"(\w+)"', re.MULTILINE)

# Passes of plugins that have no file of tests yet. The list may only become shorter.
WITHOUT_TESTS = ROOT / "tests" / "fixtures" / "passes_without_tests.txt"


def passes_in(folder: Path) -> list[str]:
    """The names of the passes that the modules under a folder define."""
    modules = (path for path in sorted(folder.rglob("*.py")) if "tests" not in path.parts and "build" not in path.parts)
    return [name for path in modules for name in PASS.findall(path.read_text())]


def passes_with_tests(folder: Path) -> set[str]:
    return {path.stem.removeprefix("test_") for path in folder.rglob("test_*.py")}


def distributions() -> list[Path]:
    return sorted(path.parent for top in ("plugins", "examples") for path in (ROOT / top).rglob("pyproject.toml"))


def listed() -> set[str]:
    return set(WITHOUT_TESTS.read_text().split())


def untested() -> set[str]:
    """The passes of plugins without a file of tests, each with the folder of its plugin."""
    return {
        f"{folder.name}/{name}"
        for folder in distributions()
        for name in set(passes_in(folder)) - passes_with_tests(folder / "tests")
    }


def test_passes_are_found():
    assert len(passes_in(PACKAGE)) > 30
    assert sum(len(passes_in(folder)) for folder in distributions()) > 20


def test_every_pass_of_the_core_has_its_tests():
    folders = [ROOT / "tests" / "unit" / package for package in ("lowering", "backends")]
    missing = set(passes_in(PACKAGE)).difference(*map(passes_with_tests, folders))
    assert not missing, f"write tests/unit/lowering/<package>/test_<pass>.py for {sorted(missing)}"


def test_every_pass_of_a_plugin_has_its_tests_or_is_listed():
    missing = untested() - listed()
    assert not missing, f"write tests/.../test_<pass>.py in the plugin for {sorted(missing)}"


def test_the_list_names_only_passes_without_tests():
    stale = listed() - untested()
    assert not stale, f"remove these lines from {WITHOUT_TESTS.name}: {sorted(stale)}"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('A_B = Pass("a_b", a_b)', ["a_b"]),
        ('X = Pass("x", of_each(x))', ["x"]),
        ('X = Pass(\n    "x", x, more\n)', ["x"]),
        ("pass", []),
    ],
)
def test_definitions_of_passes_are_recognised(text, names):
    assert PASS.findall(text) == names
