"""Which modules are in which distribution, and that those of tilecore-runtime import none of the compiler's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_modules import is_for_type_checkers, modules_of

import tilecore
from tilecore import installation
from tilecore.installation import COMPILERS, PARTS, TOP_LEVEL, WHOLE, is_of_compiler, is_of_runtime
from tilecore.plugins import module_finder

PACKAGE = Path(tilecore.__file__).parent
ROOT = Path(__file__).parents[1]
LEFT_OUT = {"cases", "templates"}
# Functions of the runtime that import modules of the compiler, since they compile, or give what the compiler has; "*":
# every function of the module. A program that loads and launches kernels calls none of them.
COMPILE = {
    "tilecore": "find_spec",
    "tilecore.backends.cpu.adapter": "host_code",
    "tilecore.backends.cpu.codegen": "*",
    "tilecore.backends.cpu.plugin": "tilecore_lowering",
    "tilecore.backends.cpu.toolchain": "*",
    "tilecore.compiler": "*",
    "tilecore.contract.implementation": "*",
    "tilecore.frontend.function": "*",
    "tilecore.ir.spans": "*",
    "tilecore.jit.compile": "interpreted_kernel _text_of_ir",
    "tilecore.jit.eager": "*",
    "tilecore.jit.impl": "*",
    "tilecore.jit.kernel": "layouts get_profiler export_library get_host_source cost",
    "tilecore.jit.request": "*",
    "tilecore.language": "*",
    "tilecore.language.annotations": "*",
    "tilecore.plugins.guarded_lowering": "*",
}


def modules() -> dict[str, Path]:
    return {name: path for name, path in modules_of(PACKAGE).items() if not LEFT_OUT & {*name.split(".")}}


def imports(path: Path, known: dict[str, Path]) -> Iterator[tuple[str, str]]:
    """(imported module, the function that imports it, "" for an import with the module itself)"""

    def visit(node: ast.AST, function: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            if is_for_type_checkers(child):
                continue
            if isinstance(child, ast.Import):
                yield from ((alias.name, function) for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module:
                for alias in child.names:
                    full = f"{child.module}.{alias.name}"
                    yield (full if full in known else child.module), function
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from visit(child, child.name if is_function else function)  # type: ignore[attr-defined]

    yield from visit(ast.parse(path.read_text()), "")


def test_the_tables_name_every_module_once():
    tops = {name.split(".")[1] for name in modules_of(PACKAGE) if "." in name}
    assert tops == TOP_LEVEL
    assert len(TOP_LEVEL) == len(WHOLE) + len(COMPILERS) + sum("." not in package for package in PARTS)
    for package, names in PARTS.items():
        folder = PACKAGE.joinpath(*package.split("."))
        assert (folder / "__init__.py").is_file()
        extensions = {path.stem for path in folder.glob("*.pyx")}
        for name in names - extensions:
            assert (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file(), (package, name)
    assert all(is_of_runtime(name) != is_of_compiler(name) for name in modules())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tilecore", True),
        ("tilecore.jit", True),
        ("tilecore.jit.kernel", True),
        ("tilecore.jit.library", False),
        ("tilecore.runtime._launcher", True),
        ("tilecore.backends", True),
        ("tilecore.backends.cpu", True),
        ("tilecore.backends.cpu.elf", True),
        ("tilecore.backends.cpu.llvm", False),
        ("tilecore.backends.cpu.llvm.module", False),
        ("tilecore.lowering.loops.elf", False),
        ("tilecore.codegen.include", False),
    ],
)
def test_which_distribution_has_a_module(name, expected):
    assert is_of_runtime(name) == expected
    assert is_of_compiler(name) != expected or name == "tilecore"


def test_what_is_no_module_of_ours_is_in_neither():
    assert not is_of_runtime("tilecore.acme")
    assert not is_of_compiler("tilecore.acme")


def test_modules_of_the_runtime_import_none_of_the_compiler():
    """With themselves never; in functions where something is compiled."""
    known = modules()
    wrong, used = [], set()
    for module, path in known.items():
        if not is_of_runtime(module):
            continue
        for imported, function in imports(path, known):
            if imported.partition(".")[0] != "tilecore" or not is_of_compiler(imported):
                continue
            allowed = COMPILE.get(module, "").split()
            if function and (allowed == ["*"] or function in allowed):
                used.add(module)
            else:
                wrong.append(f"{module} imports {imported}" + (f" in {function}" if function else ""))
    assert not wrong, "\n".join(wrong)
    assert used == COMPILE.keys(), "these import nothing of the compiler: take them out of COMPILE"


def test_the_extensions_import_none_of_the_compiler():
    found = 0
    for path in (*PACKAGE.rglob("*.pyx"), *PACKAGE.rglob("*.pxi")):
        for name in re.findall(r"^\s*(?:from|c?import) (tilecore[\w.]*)", path.read_text(), re.MULTILINE):
            found += 1
            assert is_of_runtime(name), (path.name, name)
    assert found > 5


@pytest.mark.parametrize("project", sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml")))
def test_backends_find_targets_and_launch_without_the_compiler(project):
    """What the hooks for the target and the adapters import, and what that imports in turn."""
    (package,) = (path.parent for path in project.glob("tile_*/plugin.py"))
    known = {**modules(), **modules_of(package)}
    plugin = known[f"{package.name}.plugin"]
    hooks = ("tilecore_target", "tilecore_adapters", "")
    todo = [imported for imported, function in imports(plugin, known) if function in hooks]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        if name.startswith("tilecore"):
            assert is_of_runtime(name), f"{project.name} needs {name}"
            continue
        todo += [imported for imported, function in imports(known[name], known) if not function]
    assert len(seen) > 10


def test_a_half_installed_compiler_is_told_from_none(monkeypatch):
    """A checkout that is linked behind files of tilecore-runtime, or files that pip removed."""
    monkeypatch.setattr(installation, "compiler_is_installed", lambda: False)
    versions = {"absent": "alone, which loads and launches kernels", "0.9": "tilecore 0.9 is installed, but"}
    for version, words in versions.items():
        monkeypatch.setattr("tilecore.compilation_cache.versions.installed_version", lambda name, v=version: v)
        with pytest.raises(tilecore.errors.CompilerMissingError) as caught:
            module_finder.require_compiler("tilecore.lowering")
        assert words in caught.value.found
        assert "pip install" in caught.value.hint
