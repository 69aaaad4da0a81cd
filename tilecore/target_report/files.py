"""Runs Python files as modules, without their ``__main__`` part."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from types import ModuleType

from tilecore.errors import ArgumentError


def module_of(path: Path) -> ModuleType:
    """The module of a Python file, run under the file's name. Raises ArgumentError where there is no such file."""
    spec = util.spec_from_file_location(path.stem, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise ArgumentError(f"there is no Python file {path}", expected="a file named something.py")
    module = util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def path_and_name(text: str) -> tuple[Path, str | None]:
    """The path and the name (or None) of ``FILE[:NAME]``."""
    path, colon, name = text.rpartition(":")
    return (Path(path), name) if colon and path and not Path(text).exists() else (Path(text), None)
