"""Runs the code of a file that declares kernels: the file as a module, and its function ``tilecore_kernels()``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

from tilecore.errors import ArgumentError, Location, TilecoreError
from tilecore.target_report.files import failure_of, module_of, path_and_name

HOOK = "tilecore_kernels"
EXAMPLE = f"def {HOOK}(): yield matmul, (1024, 1024, 1024)"
_WHOLE_TRACEBACK = "TILECORE_DEBUG=1 prints the whole traceback"


def module_named(text: str) -> tuple[ModuleType, str | None]:
    """The module of ``FILE[:NAME]`` or ``PACKAGE.MODULE[:NAME]``, and the name. Raises ArgumentError."""
    path, name = path_and_name(text)
    if path.suffix == ".py" or path.exists():
        return module_of(path), name
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        try:
            found = util.find_spec(str(path))
        except (ImportError, ValueError):
            found = None
        if found is not None:
            return import_module(str(path)), name
    except (TilecoreError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise failure_of(f"the module {path} cannot be imported", error, _WHOLE_TRACEBACK) from error
    raise ArgumentError(f"there is no Python file or module {path}", expected="kernels.py, or package.kernels")


def declared_items(hook: Any, module: ModuleType) -> Iterator[tuple[Any, Location | None]]:
    """What the function ``tilecore_kernels`` of a module yields, or what is in a list of this name, each with the line
    of the function that gives it, if there is one. Raises ArgumentError with the line where the function raises an
    error (tilecore's own pass through)."""
    try:
        items = hook() if callable(hook) else hook
        if isinstance(items, Iterable) and not isinstance(items, (str, bytes)):
            for item in items:
                yield item, _line_of_item(items, hook)
            return
    except (TilecoreError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        raise _failure_of_hook(hook, error, module) from error
    raise ArgumentError(
        f"{HOOK} of {module.__file__} gives no kernels", found=repr(items)[:80], expected=f"a generator: {EXAMPLE}"
    )


def _line_of_item(items: Iterable[Any], hook: Any) -> Location | None:
    """The line at which a generator waits, or one that it yields from; of another function its first line; None of a
    list."""
    while inspect.isgenerator(items) and inspect.isgenerator(items.gi_yieldfrom):
        items = items.gi_yieldfrom
    if not inspect.isgenerator(items) or items.gi_frame is None:
        code = getattr(hook, "__code__", None)
        return None if code is None else Location(code.co_filename, code.co_firstlineno)
    return Location(items.gi_code.co_filename, items.gi_frame.f_lineno)


def _failure_of_hook(hook: Any, error: BaseException, module: ModuleType) -> ArgumentError:
    """What to raise where the function of a module raised ``error``, or cannot be called without arguments."""
    file = str(module.__file__)
    failure = failure_of(f"{HOOK}() of {file} failed", error, place=Path(file).resolve())
    code, trace = getattr(hook, "__code__", None), error.__traceback__
    if code is not None and trace is not None and trace.tb_next is None:  # no line of it ran
        failure.location = Location(code.co_filename, code.co_firstlineno)
    failure.expected = "a function without parameters that yields kernels"
    failure.hint = _WHOLE_TRACEBACK
    return failure
