"""``tilecore explain FILE[:NAME]``: how a kernel was compiled, and where the elements of its buffers lie; with
``--targets`` what several targets make of all kernels of the file."""

from __future__ import annotations

import ast
import sys
from argparse import Namespace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tilecore.commands.text import dump
from tilecore.errors import ArgumentError
from tilecore.survey.files import module_of, path_and_name

if TYPE_CHECKING:
    from tilecore.jit.kernel import JITKernel


def run(arguments: Namespace) -> int:
    """Print the report of the kernel, or JSON: its data; with --layout the layout of one buffer."""
    if arguments.targets:
        return _survey(arguments)
    if arguments.call:
        raise ArgumentError(
            "--call names kernels of a survey", expected="--targets all beside it; else --set NAME=VALUE"
        )
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


def _survey(arguments: Namespace) -> int:
    """All kernels of a file on several targets; exit code 1 unless every target takes every kernel."""
    from rich.console import Console

    from tilecore.survey.data import data_of
    from tilecore.survey.kernels import kernels_of
    from tilecore.survey.run import survey
    from tilecore.survey.tables import print_survey
    from tilecore.survey.targets import targets_of

    for option in ("set", "target", "layout", "svg"):
        if getattr(arguments, option):
            raise ArgumentError(f"--{option} is for one kernel on one target", expected="--targets without it")
    path, name = path_and_name(arguments.kernel)
    targets = targets_of(arguments.targets)
    kernels = kernels_of(module_of(path), name, arguments.call)
    if not kernels:
        raise ArgumentError(f"{path} has no kernels", expected="functions under @T.prim_func or @tilecore.jit")
    progress = Console(stderr=True)
    with progress.status("starting") as status:
        made = survey(kernels, targets, str(path), lambda kernel, target: status.update(f"{kernel}: {target}"))
    if arguments.json:
        dump(data_of(made))
    else:  # what is piped into a file is not cut to a terminal's width
        print_survey(made, Console(width=None if sys.stdout.isatty() else 160, highlight=False))
    return 0 if made.taken else 1


def compiled(words: str, settings: list[str], target: str | None) -> JITKernel:
    """The kernel that ``FILE[:NAME]`` names, compiled. settings: NAME=VALUE of its arguments. Raises ArgumentError."""
    path, name = path_and_name(words)
    module = module_of(path)
    kernels = [known for known, value in vars(module).items() if _is_kernel(value)]
    if name is None and len(kernels) == 1:
        name = kernels[0]
    found = getattr(module, name, None) if name is not None else None
    if name is None or not callable(found):
        listed = hasattr(module, "EXPLAIN")
        raise ArgumentError(
            f"{path} has no kernel {name!r}" if name else f"{path} has {_count(len(kernels))} under a decorator",
            expected=", ".join(f"{path}:{known}" for known in kernels) or f"{path}:NAME of a function that returns one",
            hint=f"its EXPLAIN lists calls: tilecore explain {path} --targets all" if listed else None,
        )
    return _compile(found, name, _values(settings), target)


def _count(kernels: int) -> str:
    return f"{kernels} kernels" if kernels else "no kernel"


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


def _is_kernel(value: Any) -> bool:
    from tilecore.frontend.function import PrimFunc
    from tilecore.jit.impl import JITImpl

    return isinstance(value, (PrimFunc, JITImpl))


def _compile(found: Any, name: str, values: dict[str, Any], target: str | None) -> JITKernel:
    import tilecore
    from tilecore.jit.eager import is_eager
    from tilecore.jit.impl import JITImpl

    if isinstance(found, FunctionType) and is_eager(found):
        found = JITImpl(found, {})
    if isinstance(found, JITImpl) and target is not None:
        found = JITImpl(found.func, {**found.settings, "target": target})
    try:
        if isinstance(found, JITImpl):
            return found.compile(**values)
        made = found if _is_kernel(found) else found(**values)
    except ArgumentError as error:
        error.hint = error.hint or "--set NAME=VALUE gives its arguments, and T.const sizes by their names"
        raise
    except TypeError as error:
        raise ArgumentError(f"{name} was not made: {error}", hint="--set NAME=VALUE gives its arguments") from None
    if isinstance(made, JITImpl):
        return _compile(made, name, {}, target)
    return tilecore.compile(made, target=target)
