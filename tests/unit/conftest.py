"""Module files as users write them, and an installed backend that misbehaves on request."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

sys.path.append(str(Path(__file__).parents[1] / "fixtures" / "moody_backend"))
from moody_install import moody_backend

_numbers = itertools.count()


@pytest.fixture
def load_module(tmp_path) -> Callable[..., ModuleType]:
    """Writes text to a file in a folder of its own and imports it, under a given module name if need be."""
    names = []

    def load(text: str, name: str | None = None) -> ModuleType:
        number = next(_numbers)
        name = name or f"user_kernels_{number}"
        path = tmp_path / f"folder{number}" / f"{name}.py"
        path.parent.mkdir()
        path.write_text(textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        names.append(name)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def moody(tmp_path_factory):
    """The target "moody", installed as a package, so that worker processes find it too."""
    with moody_backend(tmp_path_factory.mktemp("site")) as kind:
        yield kind
