"""``tilecore explain FILE[:NAME]``: reports how a kernel was compiled and how its buffers are laid out; with
``--targets`` how several targets compile all kernels of the file."""

from __future__ import annotations

import ast
import sys
from argparse import Namespace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tilecore.commands.destinations import checked_file
from tilecore.commands.streams import prints_beside
from tilecore.commands.text import dump
from tilecore.errors import ArgumentError, TilecoreError
from tilecore.target_report.files import failure_of, module_of, path_and_name

if TYPE_CHECKING:
    from tilecore.jit.kernel import JITKernel


def run(arguments: Namespace) -> int:
    """Print the kernel's report (with --json as data), or with --layout the layout of one buffer."""
    if arguments.targets:
        return _print_target_report(arguments)
    if arguments.call:
        raise ArgumentError(
            "--call works only together with --targets",
            expected="--targets all beside --call, or --set NAME=VALUE without --targets",
        )
    if arguments.svg and not arguments.layout:
        raise ArgumentError("--svg works only together with --layout", expected="--layout BUFFER beside --svg")
    if arguments.svg:
        checked_file(arguments.svg, "--svg")
    with prints_beside(arguments.json):
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


def _print_target_report(arguments: Namespace) -> int:
    """Print how several targets compile all kernels of a file. Returns 1 unless every target compiles every kernel."""
    from rich.console import Console

    from tilecore.target_report.data import report_as_data
    from tilecore.target_report.kernels import kernels_of
    from tilecore.target_report.run import report_on_targets
    from tilecore.target_report.tables import print_report
    from tilecore.target_report.targets import targets_of

    for option in ("set", "target", "layout", "svg"):
        if getattr(arguments, option):
            raise ArgumentError(
                f"--{option} does not work together with --targets", expected=f"--targets or --{option}"
            )
    path, name = path_and_name(arguments.kernel)
    targets = targets_of(arguments.targets)
    with prints_beside(arguments.json):
        kernels = kernels_of(module_of(path), name, arguments.call)
    if not kernels:
        raise ArgumentError(f"{path} has no kernels", expected="functions under @T.prim_func or @tilecore.jit")
    progress = Console(stderr=True)
    with prints_beside(arguments.json), progress.status("starting") as status:
        report = report_on_targets(
            kernels, targets, str(path), lambda kernel, target: status.update(f"{kernel}: {target}")
        )
    if arguments.json:
        dump(report_as_data(report))
    else:  # output into a file is not cut to a terminal's width
        print_report(report, Console(width=None if sys.stdout.isatty() else 160, highlight=False))
    return 0 if report.compiles else 1


def compiled(file_and_name: str, settings: list[str], target: str | None) -> JITKernel:
    """The kernel that ``FILE[:NAME]`` names, compiled. settings: NAME=VALUE of its arguments. Raises ArgumentError."""
    path, name = path_and_name(file_and_name)
    module = module_of(path)
    kernels = [key for key, value in vars(module).items() if _is_kernel(value)]
    if name is None and len(kernels) == 1:
        name = kernels[0]
    source = getattr(module, name, None) if name is not None else None
    if name is None or not callable(source):
        has_calls = hasattr(module, "EXPLAIN")
        raise ArgumentError(
            f"{path} has no kernel {name!r}" if name else f"{path} has {_count(len(kernels))} under a decorator",
            expected=", ".join(f"{path}:{key}" for key in kernels) or f"{path}:NAME of a function that returns one",
            hint=f"the file's EXPLAIN lists calls: run tilecore explain {path} --targets all" if has_calls else None,
        )
    return _compile(source, name, _values(settings), target)


def _count(kernels: int) -> str:
    return f"{kernels} kernels" if kernels else "no kernel"


def _values(settings: list[str]) -> dict[str, Any]:
    """The values by name: Python literals where the text is one, else the text."""
    values = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ArgumentError("--set takes a name and a value", found=f"--set {setting}", expected="--set NAME=VALUE")
        try:
            values[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            values[name] = text
    return values


def _is_kernel(value: Any) -> bool:
    from tilecore.frontend.function import PrimFunc
    from tilecore.jit.impl import JITImpl

    return isinstance(value, (PrimFunc, JITImpl))


def _compile(source: Any, name: str, values: dict[str, Any], target: str | None) -> JITKernel:
    """Compile a kernel, a function under ``tilecore.jit``, or a function that returns either of them."""
    import tilecore
    from tilecore.jit.eager import is_eager
    from tilecore.jit.impl import JITImpl

    if isinstance(source, FunctionType) and is_eager(source):
        source = JITImpl(source, {})
    if isinstance(source, JITImpl) and target is not None:
        source = JITImpl(source.func, {**source.settings, "target": target})
    try:
        if isinstance(source, JITImpl):
            return source.compile(**values)
        kernel = source if _is_kernel(source) else source(**values)
    except ArgumentError as error:
        error.hint = error.hint or "--set NAME=VALUE gives its arguments, and T.const sizes by their names"
        raise
    except TypeError as error:
        raise ArgumentError(f"{name} cannot be built: {error}", hint="--set NAME=VALUE gives its arguments") from None
    except (TilecoreError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise failure_of(f"{name} cannot be built", error) from error
    if isinstance(kernel, JITImpl):
        return _compile(kernel, name, {}, target)
    return tilecore.compile(kernel, target=target)
