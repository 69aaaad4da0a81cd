"""Looks up names in the installed TVM, which is the stock one: TileLang brings a TVM of its own with other names."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

# Modules of TileLang's TVM and of older ones that the stock TVM has under another name.
MOVED = {"tir": "tirx", "arith": "sym"}
# Modules of older ones that are not in TVM any more, with what to write.
_GONE = {"tl": "TileLang was a part of TVM once: write tilecore.language for tvm.tl.language, tilecore for tvm.tl"}
# Parts of TVM with another purpose than kernels: the same name there means something else.
_OTHER_PARTS = frozenset(("backend", "contrib", "relax", "rpc", "script", "testing", "topi"))
_OTHERWISE = "TileLang brings a TVM of its own, and tilecore uses the one of PyPI, where it is not, or has another name"


def missing(path: tuple[str, ...]) -> tuple[str, str] | None:
    """(what is missing, what to write instead) of a name of TVM, ("tvm", "tirx", "Var"); None where it is there.

    Attributes of objects that are neither modules nor classes are not looked up.
    """
    value, depth = _last_value(path)
    if depth == len(path) or not isinstance(value, (ModuleType, type)):
        return None
    name = ".".join(path[: depth + 1])
    return f"the installed TVM ({_version()}) has no {name}", _instead(path, depth, value)


def _tvm() -> ModuleType:
    from tilecore.ir.nodes import tvm

    return tvm


@cache
def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"apache-tvm {version('apache-tvm')}"
    except PackageNotFoundError:
        return f"version {_tvm().__version__}"


def _last_value(path: tuple[str, ...]) -> tuple[Any, int]:
    """The value of as many words of the path as lead somewhere, and their number."""
    value: Any = _tvm()
    for depth, word in enumerate(path[1:], 1):
        if not isinstance(value, (ModuleType, type)):
            return value, depth
        try:
            value = getattr(value, word)
        except Exception:
            try:
                value = import_module(f"{value.__name__}.{word}")
            except Exception:  # also one that its import raises: the program would get it, too
                return value, depth
    return value, len(path)


def _instead(path: tuple[str, ...], depth: int, value: Any) -> str:
    """What to write for the path, of which ``depth`` words are there; value: what these are."""
    if depth == 1 and path[1] in _GONE:
        return _GONE[path[1]]
    moved = MOVED.get(path[1]) if depth == 1 else None
    if moved is not None and _last_value(("tvm", moved, *path[2:]))[1] == len(path):
        return f"write tvm.{moved} for tvm.{path[1]}: from tvm import {moved}"
    elsewhere = _elsewhere(path[-1])
    if elsewhere:
        return f"write {'.'.join(elsewhere)}: from {'.'.join(elsewhere[:-1])} import {elsewhere[-1]}"
    names = [name for name in dir(value) if not name.startswith("_")] if depth == len(path) - 1 else []
    close = difflib.get_close_matches(path[-1], names, 1, cutoff=0.8)
    return f"did you mean {'.'.join((*path[:depth], *close))}?" if close else _OTHERWISE


def _elsewhere(name: str) -> tuple[str, ...]:
    """The path of a class or function of this name in TVM, one of its modules, or the package of its objects."""
    from tilecore.ir.nodes import tvm_ffi

    tvm = _tvm()
    modules: dict[tuple[str, ...], ModuleType] = {("tvm",): tvm}
    for word, value in sorted(vars(tvm).items()):
        if isinstance(value, ModuleType) and value.__name__ == f"tvm.{word}" and word not in _OTHER_PARTS:
            modules["tvm", word] = value
    modules["tvm_ffi",] = tvm_ffi
    for path, module in modules.items():
        value = vars(module).get(name)
        if callable(value) and not name.startswith("_"):
            return (*path, name)
    return ()
