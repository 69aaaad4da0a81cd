"""The package's public names: lazy, whole, and not hidden by submodules of the same name."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from fresh_processes import output_of

import tilecore

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(tilecore._LAZY))
def test_each_name_resolves_to_what_the_table_says(name):
    module, attribute = tilecore._LAZY[name]
    expected = import_module(module)
    assert getattr(tilecore, name) is (getattr(expected, attribute) if attribute else expected)


def test_names_that_share_a_submodules_name_win_over_it():
    """Importing tilecore.jit sets an attribute of the package; ``@tilecore.jit`` must stay the decorator."""
    for name, (_, attribute) in tilecore._LAZY.items():
        if attribute and (Path(tilecore.__file__).parent / name).exists():
            module = import_module(f"tilecore.{name}")
            assert isinstance(module, ModuleType)
            assert getattr(tilecore, name) is not module, name


def test_the_rule_for_shared_names(monkeypatch):
    """The same with a name of our own, so that the rule is tested whatever the table holds."""
    package = tilecore._Package("tilecore")
    monkeypatch.setitem(tilecore._LAZY, "shared", ("tilecore.target", "Target"))
    package.shared = ModuleType("tilecore.shared")
    assert package.shared is tilecore.Target
    package.shared = 5
    assert package.shared == 5
    package.other = ModuleType("tilecore.other")
    assert isinstance(package.other, ModuleType)


def test_unknown_names():
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        tilecore.nothing_like_it  # noqa: B018
    assert not hasattr(tilecore, "__wrapped__")


def test_dir_and_all():
    assert set(tilecore.__all__) <= set(dir(tilecore))
    assert set(tilecore._LAZY) | {"__version__"} == set(tilecore.__all__)


def test_import_is_light_and_names_are_lazy():
    code = (
        "import sys, tilecore\n"
        "print([m for m in sys.modules if m.startswith(('tilecore.', 'tvm', 'torch', 'numpy', 'importlib_'))])\n"
        "tilecore.Target, tilecore.language\n"
        "print([m for m in sys.modules if m in ('tvm', 'torch', 'numpy')])"
    )
    assert output_of(code, folder=REPOSITORY).splitlines() == ["[]", "[]"]


def test_the_version_is_that_of_both_distributions():
    compiler, runtime = (REPOSITORY / folder / "pyproject.toml" for folder in ("", "tilecore-runtime"))
    for project in (compiler, runtime):
        assert re.search(r'^version = "(.*)"$', project.read_text(), re.MULTILINE)[1] == tilecore.__version__
    assert f'"tilecore-runtime=={tilecore.__version__}"' in compiler.read_text()


def test_version_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", tilecore.__version__)
