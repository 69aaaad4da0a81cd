"""Layers: an import goes down the list, never up; imports inside functions count, those for type checkers do not."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from source_modules import is_for_type_checkers, modules_of

import tilecore

PACKAGE = Path(tilecore.__file__).parent
# From the bottom to the top. Packages and modules of one line may import one another, without circles.
LAYERS = """
installation frozen_dataclasses
errors former_attributes module_names nearest interrupts setting_values settings signatures debug stage_times caller
progress target transform dtypes element_values whole_files
artifact
ir tensors
contract
runtime wheels
torch_ops
compilation_cache
bundles
plugins
tracing
language
frontend
lowering
codegen
compiler
simulate backends profiler interpreter pictures
heuristics
jit target_report autotune
autotuner cache env layout math engine
testing demo scaffold porting bundle_builder
commands cli __main__
"""
RANK = {name: rank for rank, line in enumerate(LAYERS.strip().splitlines()) for name in line.split()}
# What still goes up, with the reason; each entry is looked up, so that one that is gone must go here, too.
STILL_UP: dict[tuple[str, str], str] = {}
DEEPEST = 12  # modules in the longest chain of imports


@cache
def modules() -> dict[str, Path]:
    """Those of tilecore; no cases of the conformance kit and no templates."""
    return {name: path for name, path in modules_of(PACKAGE).items() if not {"cases", "templates"} & {*name.split(".")}}


@cache
def imports(module: str) -> list[tuple[str, int, bool]]:
    """(module of tilecore, line, inside of a function?)"""
    listed: list[tuple[str, int, bool]] = []

    def visit(node: ast.AST, late: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if is_for_type_checkers(child):
                continue
            if isinstance(child, ast.Import):
                listed.extend((alias.name, child.lineno, late) for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module:
                for alias in child.names:
                    full = f"{child.module}.{alias.name}"
                    listed.append((full if full in modules() else child.module, child.lineno, late))
            visit(child, late or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))

    visit(ast.parse(modules()[module].read_text()), False)
    return [entry for entry in listed if entry[0] in modules()]


def top(module: str) -> str:
    return [*module.split("."), ""][1]


def edges() -> dict[tuple[str, str], list[str]]:
    """Imports from one top-level package or module to another; those of tilecore itself (its version) aside."""
    between: dict[tuple[str, str], list[str]] = {}
    for module in modules():
        for imported, line, _ in imports(module):
            pair = top(module), top(imported)
            if "" not in pair and pair[0] != pair[1]:
                between.setdefault(pair, []).append(f"{module}:{line} imports {imported}")
    return between


def test_every_package_has_its_layer():
    assert {top(module) for module in modules()} - {""} == set(RANK)


def test_no_import_goes_up():
    up = {pair: lines for pair, lines in edges().items() if RANK[pair[0]] < RANK[pair[1]]}
    assert not up.keys() - STILL_UP.keys(), "\n".join(line for pair in up.keys() - STILL_UP.keys() for line in up[pair])
    assert not STILL_UP.keys() - up.keys(), "these are mended: take them out of STILL_UP"


def test_no_circle_within_a_layer():
    pairs = [pair for pair in edges() if RANK[pair[0]] == RANK[pair[1]]]
    left = {name for pair in pairs for name in pair}
    while True:
        free = {name for name in left if not any(a == name and b in left for a, b in pairs)}
        if not free:
            break
        left -= free
    assert not left, [pair for pair in pairs if set(pair) <= left]


def test_the_longest_chain_of_imports():
    """Modules that importing one module imports one after the other; late imports aside."""
    depths: dict[str, int] = {}

    def depth(module: str, above: frozenset[str]) -> int:
        if module in above:
            return 0
        if module not in depths:
            under = [name for name, _, late in imports(module) if not late]
            depths[module] = 1 + max((depth(name, above | {module}) for name in under), default=0)
        return depths[module]

    assert max(depth(module, frozenset()) for module in modules()) <= DEEPEST


def test_an_element_type_is_called_in_kernels_only():
    """The language gives element types their call, so that they need not import it."""
    code = "from tilecore.dtypes import dtype\ntry: dtype('int32')(5)\nexcept TypeError as error: print(error)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "T.int32(...) is a cast in a kernel: import tilecore.language first\n"


@pytest.mark.parametrize("code", ["if TYPE_CHECKING:\n    import a", "if typing.TYPE_CHECKING:\n    import a"])
def test_imports_for_type_checkers_are_recognised(code):
    assert is_for_type_checkers(ast.parse(code).body[0])
