"""``tilecore explain FILE[:NAME]``: how a kernel was compiled, and where the elements of its buffers lie."""

from __future__ import annotations

import ast
import sys
from argparse import Namespace
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tilecore.commands.text import dump
from tilecore.errors import ArgumentError

if TYPE_CHECKING:
    from tilecore.runtime.kernel import JITKernel


def run(arguments: Namespace) -> int:
    """Print the report of the kernel, or JSON: its data; with --layout the layout of one buffer."""
    if arguments.svg and not arguments.layout:
        raise ArgumentError("--svg draws the layout of a buffer", expected="--layout BUFFER beside it")
    kernel = compiled(arguments.kernel, arguments.set, arguments.target)
    if arguments.layout:
        picture = kernel.layout(arguments.layout)
        if arguments.svg:
            print(picture.save(arguments.svg))
        elif sys.stdout.isatty():
            from rich.console import Console

            Console().print(picture)
        else:
            print(picture)
    elif arguments.json:
        explained = kernel.explain()
        dump({**explained.data, "functions": explained.functions})
    else:
        print(kernel.explain())
    return 0


def compiled(words: str, settings: list[str], target: str | None) -> JITKernel:
    """The kernel that ``FILE[:NAME]`` names, compiled. settings: NAME=VALUE of its arguments. Raises ArgumentError."""
    path, name = _parts(words)
    module = _module(path)
    kernels = [known for known, value in vars(module).items() if _is_kernel(value)]
    if name is None and len(kernels) == 1:
        name = kernels[0]
    found = getattr(module, name, None) if name is not None else None
    if name is None or not callable(found):
        raise ArgumentError(
            f"{path} has no kernel {name!r}" if name else f"{path} has {len(kernels)} kernels of its own",
            expected=", ".join(f"{path}:{known}" for known in kernels) or f"{path}:NAME of a function that returns one",
        )
    return _compile(found, name, _values(settings), target)


def _parts(words: str) -> tuple[Path, str | None]:
    path, colon, name = words.rpartition(":")
    return (Path(path), name) if colon and path and not Path(words).exists() else (Path(words), None)


def _values(settings: list[str]) -> dict[str, Any]:
    """Python literals where they are some, else text."""
    made = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ArgumentError(f"--set {setting}", expected="--set NAME=VALUE")
        try:
            made[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            made[name] = text
    return made


def _module(path: Path) -> ModuleType:
    """A Python file, run as a module of its name."""
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


def _is_kernel(value: Any) -> bool:
    from tilecore.frontend.function import PrimFunc
    from tilecore.jit.impl import JITImpl

    return isinstance(value, (PrimFunc, JITImpl))


def _compile(found: Any, name: str, values: dict[str, Any], target: str | None) -> JITKernel:
    import tilecore
    from tilecore.jit.impl import JITImpl

    if isinstance(found, JITImpl) and target is not None:
        found = JITImpl(found.func, {**found.settings, "target": target})
    try:
        if isinstance(found, JITImpl):
            return found.compile(**values)
        made = found if _is_kernel(found) else found(**values)
    except TypeError as error:
        raise ArgumentError(f"{name} was not made: {error}", hint="--set NAME=VALUE gives its arguments") from None
    if isinstance(made, JITImpl):
        return _compile(made, name, {}, target)
    return tilecore.compile(made, target=target)
