"""The package stands on the documented contract alone, and is small."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import tile_opencl

MODULES = sorted(Path(tile_opencl.__file__).parent.glob("*.py"))
PUBLIC = (
    "tilecore.contract.records",
    "tilecore.contract.hookspecs",
    "tilecore.contract.adapter",
    "tilecore.artifact.records",
    "tilecore.runtime.slots",
    "tilecore.errors",
    "tilecore.target",
    "tilecore.dtypes",
    "tilecore.ir.names",
    "tilecore.ir.thread_calls",
    "tilecore.codegen",
    "tilecore.contract.passes",
    "tilecore.contract.implementation",
    "tilecore.testing",
)
# what passes need besides; it is not public, so that the package names the versions of tilecore that it works with
FOR_PASSES = {"add_branch_barriers.py": {"tilecore.ir.build", "tilecore.ir.nodes", "tilecore.ir.visit"}}
# when a kernel is compiled or launched, not when targets are listed
LATE = {"pyopencl": {"devices.py", "launch.py", "adapter.py"}, "numpy": {"launch.py"}}


def imports(path: Path) -> list[tuple[str, bool]]:
    """The modules that a file imports, and whether it does so when it is imported itself."""
    tree = ast.parse(path.read_text())
    imported_names = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        imported_names += [(name, node in tree.body) for name in names]
    return imported_names


def test_only_what_is_documented_is_imported():
    used = {
        name
        for path in MODULES
        for name, _ in imports(path)
        if name.startswith("tilecore") and name not in FOR_PASSES.get(path.name, ())
    }
    strangers = {name for name in used if not any(name == p or name.startswith(p + ".") for p in PUBLIC)}
    assert used
    assert not strangers


def test_pyopencl_and_numpy_come_in_late():
    for path in MODULES:
        for name, at_once in imports(path):
            first = name.partition(".")[0]
            if first in LATE:
                assert path.name in LATE[first]
                assert not at_once or path.name == "launch.py", f"{path.name} imports {name} when it is imported"


def test_it_is_documented_where_the_contract_is():
    text = (Path(__file__).parents[4] / "docs" / "hooks" / "library.md").read_text()
    for name in ("tilecore.dtypes", "tilecore.ir.names", "tilecore.ir.thread_calls", "tilecore.codegen"):
        assert f"`{name}" in text


def test_it_is_small():
    """Lines of code: without empty ones, comments and docstrings."""
    assert sum(len(lines_of_code(path.read_text())) for path in MODULES) <= 350


def lines_of_code(text: str) -> set[int]:
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    code_lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in blank:
            code_lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            code_lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return code_lines
