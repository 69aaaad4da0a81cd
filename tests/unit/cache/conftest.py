"""Fixtures of the cache's tests."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap

import pytest


@pytest.fixture(autouse=True)
def own_cache_directory(tmp_path_factory, monkeypatch):
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "default"))


_numbers = itertools.count()


@pytest.fixture
def load(tmp_path):
    """Write text to a file of its own and import it, under a given module name if need be."""
    made = []

    def load(text, name=None):
        number = next(_numbers)
        name = name or f"kernels_{number}"
        path = tmp_path / f"dir{number}" / f"{name}.py"
        path.parent.mkdir()
        path.write_text(textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        made.append(name)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in made:
        sys.modules.pop(name, None)
