"""Notes on a program's host code: packages that are not installed, and tensors on the device of another target."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tilecore.plugins.target_errors import package_of_extra
from tilecore.porting.report import Finding
from tilecore.porting.scopes import path_of_module
from tilecore.porting.targets import ChosenTarget
from tilecore.porting.uses import Program, dotted

_NOT_HERE = "the package {} is neither installed nor beside the program"


def missing_packages(program: Program, file: Path) -> Iterator[Finding]:
    """The packages that the program imports, cannot do without, and that are neither installed nor beside the file."""
    for imported in program.imports:
        package = imported.module.partition(".")[0]
        if imported.is_optional or path_of_module(package) is not None or _is_installed(package):
            continue
        if not any((folder / package).is_dir() or (folder / f"{package}.py").is_file() for folder in _around(file)):
            yield Finding(imported.line, imported.column, package, _NOT_HERE.format(package))


def _around(file: Path) -> list[Path]:
    """The folders in which the file is, but for the root of the file system."""
    return list(file.resolve().parents)[:-1]


@cache
def _is_installed(package: str) -> bool:
    if package in sys.stdlib_module_names:
        return True
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # ValueError: of a module without a spec, which is there
        return package in sys.modules


def other_devices(program: Program, target: ChosenTarget) -> Iterator[Finding]:
    """Where the program names a device of torch that is not the target's, by a text, a method or a module of torch."""
    for node, name, written in _devices(program.tree):
        if name == target.torch_device or not (name in target.torch_devices or package_of_extra(name)):
            continue
        column = program.places.column(node.lineno, node.col_offset)
        yield Finding(node.lineno, column, written, *_words(name, written, target))


def _words(name: str, written: str, target: ChosenTarget) -> tuple[str, str]:
    if written.startswith(f"torch.{name}"):
        return f"torch.{name} works on torch's device {name!r}", f"on target {target.kind} leave it out"
    own = target.torch_device
    return f"tensors are put on torch's device {name!r}", f'on target {target.kind} write device="{own}"'


def _devices(tree: ast.AST) -> Iterator[tuple[ast.expr, str, str]]:
    """(node, device, how it is written) of what may name a device of torch."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "device" for target in node.targets):
            yield from _of_text(node.value, "device = {}")
        elif isinstance(node, ast.arguments):
            listed = [*node.posonlyargs, *node.args]
            for argument, value in zip(listed[len(listed) - len(node.defaults) :], node.defaults, strict=True):
                if argument.arg == "device":
                    yield from _of_text(value, "device={}")
            for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
                if argument.arg == "device" and default is not None:
                    yield from _of_text(default, "device={}")
        elif isinstance(node, ast.Attribute):
            words = dotted(node)
            if len(words) == 3 and words[0] == "torch" and words[2] != "is_available":
                yield node, words[1], ".".join(words)


def _of_call(call: ast.Call) -> Iterator[tuple[ast.expr, str, str]]:
    for keyword in call.keywords:
        if keyword.arg == "device":
            yield from _of_text(keyword.value, "device={}")
    if not isinstance(call.func, ast.Attribute):
        return
    method = call.func.attr
    if dotted(call.func) == ("torch", "device") or method == "to":
        for value in call.args[:1]:
            yield from _of_text(value, f"{'torch.device' if method == 'device' else '.to'}({{}})")
    elif not call.args and not call.keywords:
        yield call, method, f".{method}()"


def _of_text(value: ast.expr, form: str) -> Iterator[tuple[ast.expr, str, str]]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value, value.value.partition(":")[0], form.format(f'"{value.value}"')
