"""Kernels as users write them: in module files of their own."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap
from collections.abc import Callable
from types import ModuleType

import pytest

_numbers = itertools.count()


@pytest.fixture
def module(tmp_path) -> Callable[[str], ModuleType]:
    """Writes text to a file and imports it."""
    made = []

    def load(text: str) -> ModuleType:
        name = f"user_kernels_{next(_numbers)}"
        path = tmp_path / f"{name}.py"
        path.write_text(textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        found = importlib.util.module_from_spec(spec)
        sys.modules[name] = found
        made.append(name)
        spec.loader.exec_module(found)
        return found

    yield load
    for name in made:
        sys.modules.pop(name, None)
