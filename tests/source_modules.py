"""The modules of a package as files, for tests that read their imports."""

from __future__ import annotations

import ast
from pathlib import Path


def modules_of(package: Path) -> dict[str, Path]:
    """The package's files by the names of the modules."""
    files = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


def is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
