"""Finds the private names of the core that a backend's package imports (``tilecore.contract.library``)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tilecore.contract.library import public_names

CORE = "tilecore"


@dataclass(frozen=True)
class PrivateImport:
    """An import of a private name. file: relative to the package's folder. name: with its module."""

    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.name}"


def private_imports(folder: Path) -> list[PrivateImport]:
    """The private names of the core that the modules under ``folder`` import, also inside functions, ordered by the
    files' names. A file that is not valid Python is skipped: importing it gives the better error."""
    listed = []
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:
            continue
        file = path.relative_to(folder).as_posix()
        listed += [PrivateImport(file, line, name) for line, name in _private_names(tree)]
    return listed


def _private_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_of_core(alias.name) and alias.name != CORE and public_names(alias.name) == frozenset():
                    yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_of_core(node.module or ""):
            for alias in node.names:
                if not _is_public(str(node.module), alias.name):
                    yield node.lineno, f"{node.module}.{alias.name}"


def _is_public(module: str, name: str) -> bool:
    names = public_names(module)
    # ``from tilecore.ir import build`` imports a module
    return names is None or name in names or public_names(f"{module}.{name}") != frozenset()


def _is_of_core(module: str) -> bool:
    return module == CORE or module.startswith(CORE + ".")
